/** `convert`: a trace of any format to the canonical one. */
import { basename } from "node:path";
import { type ConversionReport, convertServeGen, convertTraceFile } from "@slicescheduler/workloads";
import { resolved } from "../files/load.ts";
import type { Io } from "../io.ts";
import { OptionFaults } from "../option-faults.ts";
import { checkOutputs } from "../output.ts";
import { ProgressPrinter } from "../progress.ts";
import { type RawReading, readingOf, showReading } from "./reading.ts";

export interface ConvertOptions extends RawReading {
  readonly to?: string;
  readonly output?: string;
  readonly seed?: string;
  readonly share?: string;
  readonly fromHour?: string;
  readonly hours?: string;
  readonly json?: boolean;
}

/** The object of `--json`; names of files as they were given. */
export interface ConvertReport extends ConversionReport {
  readonly from: readonly string[];
  readonly to: string;
}

/** Errors: USAGE, also for a target that is the source; those of the trace readers; FILE_UNWRITABLE, TRACE_UNWRITABLE. */
export async function runConvert(from: readonly string[], options: ConvertOptions, io: Io): Promise<void> {
  const faults = new OptionFaults();
  const isServeGen = options.format === "servegen";
  const reading = readingOf(options, faults, ["servegen"]);
  const { to, output } = options;
  if (output !== undefined && output !== "csv" && output !== "jsonl") faults.wanted("--output", "csv or jsonl", output);
  if (to !== undefined && output === undefined && !/\.(csv|jsonl)(\.gz)?$/.test(to))
    faults.wanted("--to", "a name that ends in .jsonl or .csv (or .gz after it), or --output given", to);
  const seed = faults.whole("--seed", options.seed, 1, [0, Number.MAX_SAFE_INTEGER]);
  const isHour = (hour: number): boolean => hour >= 0 && hour <= 2400;
  const fromHour = faults.number("--from-hour", options.fromHour, 0, "from 0 to 2400", isHour);
  const hours = faults.number(
    "--hours",
    options.hours,
    undefined,
    "above 0 and at most 2400",
    (v) => v > 0 && v <= 2400,
  );
  const share = faults.number("--share", options.share, 1, "above 0 and at most 1", (v) => v > 0 && v <= 1);
  const needed = isServeGen ? 2 : 1;
  if (from.length !== needed) {
    const files = isServeGen ? "two files with --format servegen: …-trace.csv and …-dataset.json" : "one file";
    faults.add(`convert takes ${files}, not ${from.length}`);
  }
  const drawing = [options.seed, options.share, options.fromHour, options.hours];
  if (!isServeGen && drawing.some((option) => option !== undefined))
    faults.add("--seed, --share, --from-hour and --hours are of --format servegen, which draws requests");
  faults.throwIfAny();
  const given = to ?? "";
  const target = {
    to: resolved(given, io.cwd),
    ...(output === undefined ? {} : { output: output as "csv" | "jsonl" }),
  };
  const paths = from.map((file) => resolved(file, io.cwd));
  const [first = "", second = ""] = paths;
  checkOutputs(
    [{ option: "--to", shown: given, path: target.to }],
    from.map((shown, i) => ({ option: isServeGen ? `file ${i + 1}` : "the trace", shown, path: paths[i] ?? "" })),
  );
  const progress = new ProgressPrinter(io);
  const onProgress = showReading(progress, `reading ${basename(first)}`);
  const seconds = hours === undefined ? {} : { seconds: hours * 3600 };
  const converted = isServeGen
    ? convertServeGen({
        windows: first,
        lengths: second,
        seed,
        share,
        fromSeconds: fromHour * 3600,
        ...seconds,
        ...target,
      })
    : convertTraceFile({ from: first, ...reading, ...target, onProgress });
  const report = await converted.finally(() => progress.clear());
  if (options.json === true) io.out(`${JSON.stringify({ from, to: given, ...report } satisfies ConvertReport)}\n`);
  else io.err(`wrote ${given}: ${words(report)}\n`);
}

function words({ rows, dropped, format, lastArrivalNs }: ConversionReport): string {
  const without = dropped === 0 ? "" : `, ${dropped} without tokens left out`;
  return `${rows} requests over ${(lastArrivalNs / 60e9).toFixed(1)} min, read as ${format}${without}`;
}
