/** `compare`: results of several runs side by side, each with its distance from the first. */
import type { Percentiles } from "@slicescheduler/workloads";
import picocolors from "picocolors";
import { alignedRows } from "../columns.ts";
import { UsageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { type LoadedResult, loadResult } from "../saved/load-results.ts";
import { type ComparedFigures, figuresOfRecord, figuresOfResult } from "./figures.ts";
import { unlikeNotes } from "./unlike.ts";

export interface CompareOptions {
  readonly policy?: readonly string[];
  readonly json?: boolean;
}

/** The object of `--json`. */
export interface CompareReport {
  readonly columns: readonly ComparedColumn[];
}

export interface ComparedColumn {
  readonly file: string;
  /** Of a replay; the label of a run record. */
  readonly policy: string;
  readonly source: LoadedResult["kind"];
  readonly figures: ComparedFigures;
}

/** Errors: those of `loadResult`, USAGE for policies that no file has. */
export function runCompare(files: readonly string[], options: CompareOptions, io: Io): void {
  const results = files.map((file) => loadResult(file, io.cwd));
  const all = results.flatMap(columnsOf);
  const wanted = options.policy?.flatMap((value) => value.split(",")) ?? [];
  const missing = wanted.filter((policy) => !all.some((column) => column.policy === policy));
  if (missing.length > 0) {
    const there = [...new Set(all.map((column) => column.policy))].join(", ");
    throw new UsageError(missing.map((policy) => `--policy ${policy}: no file has it; there are ${there}`));
  }
  const columns = wanted.length === 0 ? all : all.filter((column) => wanted.includes(column.policy));
  if (options.json === true) io.out(`${JSON.stringify({ columns } satisfies CompareReport)}\n`);
  else io.out(rendered(columns, unlikeNotes(results), io));
}

function columnsOf(result: LoadedResult): ComparedColumn[] {
  const { kind: source, file } = result;
  if (result.kind === "record") {
    const { record } = result;
    return [{ file, policy: record.label === "" ? "run" : record.label, source, figures: figuresOfRecord(record) }];
  }
  const report = result.kind === "saved" ? result.saved.report : result.report;
  return Object.entries(report.policies).map(([policy, one]) => ({
    file,
    policy,
    source,
    figures: figuresOfResult(one),
  }));
}

function rendered(columns: readonly ComparedColumn[], notes: readonly string[], io: Io): string {
  const marks = picocolors.createColors(io.useColor);
  const [first] = columns;
  const row = (
    label: string,
    of: (figures: ComparedFigures) => number | null,
    digits: number,
    distance: Distance = percents,
  ): string[] => [
    label,
    ...columns.map(({ figures }) => {
      const value = of(figures);
      if (value === null) return "–";
      const base = first === undefined || figures === first.figures ? null : of(first.figures);
      return `${value.toFixed(digits)}${(base === null ? "" : distance(value, base)).padStart(distanceWidth)}`;
    }),
  ];
  const spread = (label: string, of: (figures: ComparedFigures) => Percentiles | null): string[][] =>
    (["p50", "p90", "p99"] as const).map((p) => row(`${label} ${p} ms`, (figures) => of(figures)?.[p] ?? null, 1));
  const rows = [
    ["", ...columns.map(({ file }) => file)],
    ["", ...columns.map(({ policy }) => policy)],
    row("requests/s", (f) => f.requestsPerSecond, 3),
    row("tokens/s", (f) => f.tokensPerSecond, 2),
    ...spread("TTFT", (f) => f.ttftMs),
    ...spread("TPOT", (f) => f.tpotMs),
    row("SLO attainment", (f) => f.sloAttainment, 3, points),
    row("utilisation, mean", (f) => f.utilization, 3, points),
    row("online completed", (f) => f.onlineCompleted, 0),
    row("offline completed", (f) => f.offlineCompleted, 0),
    row("peak HBM GB, highest", (f) => f.peakHbmBytes / 1e9, 2),
    row("operators", (f) => f.operators, 0),
  ];
  const [names = "", policies = "", ...figures] = alignedRows(rows);
  const lines = [marks.dim(names), marks.bold(policies), ...figures];
  if (columns.some(({ source }) => source === "record"))
    lines.push(marks.dim("Run records: rates over the whole run, TTFT from submission; they know no SLO."));
  lines.push(...notes);
  return `${lines.join("\n")}\n`;
}

/** How far a figure is from that of the first column. */
type Distance = (value: number, base: number) => string;

const distanceWidth = 11;

function percents(value: number, base: number): string {
  if (base === 0) return value === 0 ? "=" : "new";
  const percent = (value / base - 1) * 100;
  const text = Math.abs(percent) < 1000 ? Math.abs(percent).toFixed(Math.abs(percent) < 100 ? 1 : 0) : ">999";
  return Math.abs(percent) < 0.05 ? "=" : `${percent > 0 ? "+" : "−"}${text} %`;
}

/** Of shares, as in the table of `replay`. */
function points(value: number, base: number): string {
  const delta = (value - base) * 100;
  return Math.abs(delta) < 0.05 ? "=" : `${delta > 0 ? "+" : "−"}${Math.abs(delta).toFixed(1)} pt`;
}
