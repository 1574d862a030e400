/** The comparison for people: a row per figure, a column per policy. */
import { azure2023Profile, type Percentiles, type PolicyResult, type Range } from "@slicescheduler/workloads";
import type { ClusterSummary, ReplayReport, WorkloadSummary } from "./json.ts";

export interface HostFigures {
  /** Wall time of the replay in seconds. */
  readonly wallSeconds: number;
  /** Wall time of a round, or null when it was not measured. */
  readonly hostNsPerRound: number | null;
}

/** A way to mark text, picocolors or nothing. */
export interface Marks {
  bold(text: string): string;
  dim(text: string): string;
}

type Row = readonly [label: string, ...cells: string[]];

const PLAIN: Marks = { bold: (text) => text, dim: (text) => text };

/** Renders the report; `host` holds this host's figures by policy. */
export function renderReport(
  report: ReplayReport,
  host: ReadonlyMap<string, HostFigures> = new Map(),
  marks: Marks = PLAIN,
): string {
  const names = Object.keys(report.policies);
  const results = Object.values(report.policies);
  const rows: Row[] = [["", ...names], ...figureRows(report, results), ...hostRows(names, host)];
  const lines = [
    ...workloadLines(report),
    "",
    ...columns(rows, marks),
    ...spreadLines(report, marks),
    ...ratioLines(report, marks),
  ];
  return `${lines.join("\n")}\n`;
}

function workloadLines({ workload, seeds }: ReplayReport): string[] {
  const { cluster, profile } = workload;
  const ofSeed = profile === null ? "" : `, seed ${seeds[0]}`;
  const medians = seeds.length > 1 ? `; medians of seeds ${seeds[0]} to ${seeds.at(-1)}` : "";
  const { online, offline } = loadWords(workload);
  const serial = workload.serialServer;
  const lines = [
    `Workload: ${workload.recipe} over ${shortNumber(workload.minutes)} min, ${sourceWords(workload)}${ofSeed}`,
    `  ${online}, ${offline}`,
    `  exact serial servers, one per instance: utilisation ${fixed(serial.utilizationPerAccelerator, 3)}, TTFT p50/p90/p99 ${spread(serial.ttftMs, 0)} ms`,
    `Cluster: ${clusterWords(cluster)}, executor seed ${seeds[0]}${medians}`,
  ];
  if (profile !== null) lines.splice(1, 0, ...attributionLines(profile));
  return lines;
}

function attributionLines({ name, attribution }: NonNullable<WorkloadSummary["profile"]>): string[] {
  if (name === azure2023Profile.name) return [`  no trace given; ${attribution}`];
  return attribution === attributionUnknown ? [] : [`  measured from: ${attribution}`];
}

/** What `profile` writes where nobody says whose trace it is. */
const attributionUnknown = "not stated";

/** Where the requests come from. */
export function sourceWords({ files, profile }: WorkloadSummary): string {
  if (files !== null) return [...new Set([files.arrivals, files.lengths])].join(", ");
  const kind = profile?.name === azure2023Profile.name ? "built-in profile" : "profile";
  return `GENERATED from the ${kind} ${profile?.name}`;
}

/** What both classes of requests are. */
export function loadWords({ online, offline }: WorkloadSummary): { readonly online: string; readonly offline: string } {
  const lengths = `mean ${online.inputTokensMean.toFixed(0)} in, ${online.outputTokensMean.toFixed(1)} out`;
  const steady = `${shortNumber(offline.inputTokens)} in, ${shortNumber(offline.outputTokens)} out`;
  return {
    online: `${online.requests} online requests of ${counted(online.perInstance.length, "instance")} (${lengths})`,
    offline:
      offline.requests === 0
        ? "no offline request"
        : `${shortNumber(offline.requestsPerSecond)} offline request/s (${steady})`,
  };
}

export function clusterWords({
  name,
  accelerators,
  kinds,
  hbmBytes,
  instanceAccelerators,
  durations,
}: ClusterSummary): string {
  const least = Object.keys(kinds).length > 1 ? "at least " : "";
  const memory = `${least}${(hbmBytes / 1e9).toFixed(0)} GB`;
  if (durations === "colocation") {
    const size = instanceAccelerators === 2 ? "" : `, ${instanceAccelerators} per instance`;
    return `${accelerators} virtual accelerators of ${memory}${size}`;
  }
  const counts = Object.entries(kinds).map(([kind, count]) => `${count} ${kind}`);
  return `${name}: ${counts.join(" and ")} of ${memory}, ${instanceAccelerators} per instance, durations by roofline`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function shortNumber(value: number): string {
  return String(Number(value.toFixed(2)));
}

function figureRows({ slo }: ReplayReport, results: readonly PolicyResult[]): Row[] {
  const row = (label: string, cell: (result: PolicyResult) => string): Row => [label, ...results.map(cell)];
  const rows: Row[] = [
    row("requests/s", (r) => fixed(r.requestsPerSecond, 3)),
    row("tokens/s", (r) => fixed(r.tokensPerSecond, 2)),
    row("TTFT p50/p90/p99 ms", (r) => spread(r.ttftMs, 0)),
    row("TPOT p50/p90/p99 ms", (r) => spread(r.tpotMs, 1)),
    row(`SLO attainment${sloWords(slo)}`, (r) => fixed(r.sloAttainment, 3)),
    row("online completed", (r) => `${r.onlineCompleted} of ${r.onlineOffered}`),
    row("offline completed in the window", offlineCell),
    row("drain s", (r) => fixed(r.drain.seconds, 1)),
    row("utilisation, mean", (r) => fixed(r.utilization, 3)),
  ];
  const count = Math.max(0, ...results.map((result) => result.utilizationPerAccelerator.length));
  for (let a = 0; a < count; a++) {
    rows.push(row(`  accelerator ${a}`, (r) => fixed(r.utilizationPerAccelerator[a] ?? 0, 3)));
  }
  rows.push(row("peak HBM GB, highest", (r) => fixed(Math.max(...r.peakHbmBytes) / 1e9, 2)));
  for (let a = 0; a < count; a++) {
    rows.push(row(`  accelerator ${a}`, (r) => fixed((r.peakHbmBytes[a] ?? 0) / 1e9, 2)));
  }
  rows.push(row("operators", (r) => String(r.operators)));
  rows.push(row("rounds", (r) => String(r.rounds)));
  return rows;
}

function sloWords(slo: ReplayReport["slo"]): string {
  return slo === null ? "" : ` (TTFT ≤ ${fixed(slo.ttftMs, 0)} ms, ${slo.source})`;
}

/** In a short window the rates count nothing of what is served soon after. */
function offlineCell({ offlineCompleted, offlineOffered, drain }: PolicyResult): string {
  const inAll = drain.offline === 0 ? "" : ` (${offlineCompleted + drain.offline} of ${offlineOffered} with the drain)`;
  return `${offlineCompleted} of ${offlineOffered}${inAll}`;
}

function hostRows(names: readonly string[], host: ReadonlyMap<string, HostFigures>): Row[] {
  const row = (label: string, cell: (figures: HostFigures) => string): Row => [
    label,
    ...names.map((name) => {
      const figures = host.get(name);
      return figures === undefined ? "–" : cell(figures);
    }),
  ];
  return [
    row("time per round µs (this host)", (h) => (h.hostNsPerRound === null ? "–" : fixed(h.hostNsPerRound / 1e3, 1))),
    row("replayed in s (this host)", (h) => fixed(h.wallSeconds, 1)),
  ];
}

/** How far the seeds lie apart, in the figures that matter most. */
function spreadLines({ spread: spreads }: ReplayReport, marks: Marks): string[] {
  if (spreads === null) return [];
  const range = (of: Range | null, digits: number): string =>
    of === null ? "–" : `${fixed(of.min, digits)} … ${fixed(of.max, digits)}`;
  const lines = Object.entries(spreads).map(
    ([name, of]) =>
      `  ${name}: requests/s ${range(of.requestsPerSecond, 3)}, SLO attainment ${range(of.sloAttainment, 3)}, ` +
      `TTFT p50 ${range(of.ttftP50Ms, 0)} ms, TPOT p50 ${range(of.tpotP50Ms, 1)} ms`,
  );
  return ["", marks.bold("smallest and largest of the seeds"), ...lines];
}

function ratioLines({ ratios, policies }: ReplayReport, marks: Marks): string[] {
  const results = new Map(Object.entries(policies));
  const tpotOf = (name: string): Percentiles | null => results.get(name)?.tpotMs ?? null;
  return Object.entries(ratios).flatMap(([name, ratio]) => [
    "",
    marks.bold(`slicescheduler over ${name}`),
    `  requests/s ${times(ratio.requestsPerSecond)}, tokens/s ${times(ratio.tokensPerSecond)}, ` +
      `SLO attainment ${points(ratio.sloAttainmentDelta)}, utilisation ${points(ratio.utilizationDelta)}`,
    ...costLines(tpotOf("slicescheduler"), tpotOf(name)),
  ]);
}

/** What online requests pay for the offline ones beside them. */
function costLines(ours: Percentiles | null, theirs: Percentiles | null): string[] {
  if (ours === null || theirs === null) return [];
  const change = (which: "p90" | "p99"): string => {
    const ratio = theirs[which] > 0 ? ours[which] / theirs[which] : null;
    return `${which} ${times(ratio)} (${fixed(theirs[which], 1)} → ${fixed(ours[which], 1)} ms)`;
  };
  return [`  at an online TPOT of ${change("p90")}, ${change("p99")}`];
}

function columns(rows: readonly Row[], marks: Marks): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row, index) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    const line = cells.join("  ").trimEnd();
    if (index === 0) return marks.bold(line);
    return (row[0] ?? "").startsWith("  ") ? marks.dim(line) : line;
  });
}

function fixed(value: number | null, digits: number): string {
  return value === null ? "–" : value.toFixed(digits);
}

function spread(values: Percentiles | null, digits: number): string {
  return values === null ? "–" : [values.p50, values.p90, values.p99].map((value) => fixed(value, digits)).join(" / ");
}

function times(ratio: number | null): string {
  return ratio === null ? "–" : `×${fixed(ratio, 2)}`;
}

function points(delta: number | null): string {
  return delta === null ? "–" : `${delta >= 0 ? "+" : "−"}${fixed(Math.abs(delta) * 100, 1)} points`;
}
