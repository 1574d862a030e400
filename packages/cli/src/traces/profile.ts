/** `profile`: a small picture of a trace that requests can be generated from. */
import { basename } from "node:path";
import { profileTraceFile, type WorkloadProfile } from "@slicescheduler/workloads";
import { resolved } from "../files/load.ts";
import type { Io } from "../io.ts";
import { OptionFaults } from "../option-faults.ts";
import { checkOutputs, writeOutput } from "../output.ts";
import { ProgressPrinter } from "../progress.ts";
import { type RawReading, readingOf, showReading } from "./reading.ts";

export interface ProfileOptions extends RawReading {
  readonly output?: string;
  readonly name?: string;
  readonly attribution?: string;
  readonly windowSeconds?: string;
  readonly json?: boolean;
}

/** The object of `--json` where the profile goes to a file. */
export interface ProfileReport {
  readonly file: string;
  readonly name: string;
  readonly minutes: number;
  readonly requestsPerSecond: { readonly mean: number; readonly max: number };
  readonly inputTokens: { readonly p50: number; readonly max: number };
  readonly outputTokens: { readonly p50: number; readonly max: number };
}

/** Writes the profile to `--output`, or to stdout. Errors: USAGE, also for an output that is the trace; those of the trace readers, FILE_UNWRITABLE. */
export async function runProfile(trace: string, options: ProfileOptions, io: Io): Promise<void> {
  const faults = new OptionFaults();
  const reading = readingOf(options, faults);
  const isWindow = (seconds: number): boolean => seconds > 0 && seconds <= 86_400;
  const wanted = "above 0 and at most 86400";
  const windowSeconds = faults.number("--window-seconds", options.windowSeconds, undefined, wanted, isWindow);
  faults.throwIfAny();
  const { output, name, attribution } = options;
  const path = resolved(trace, io.cwd);
  if (output !== undefined) {
    const target = { option: "--output", shown: output, path: resolved(output, io.cwd) };
    checkOutputs([target], [{ option: "the trace", shown: trace, path }]);
  }
  const progress = new ProgressPrinter(io);
  const measured = profileTraceFile(path, {
    ...reading,
    ...(name === undefined ? {} : { name }),
    ...(attribution === undefined ? {} : { attribution }),
    ...(windowSeconds === undefined ? {} : { windowSeconds }),
    onProgress: showReading(progress, `reading ${basename(trace)}`),
  });
  const profile = await measured.finally(() => progress.clear());
  if (output === undefined) {
    io.out(`${JSON.stringify(profile)}\n`);
    return;
  }
  writeOutput(resolved(output, io.cwd), `${JSON.stringify(profile)}\n`);
  const report = reportOf(output, profile);
  if (options.json === true) io.out(`${JSON.stringify(report)}\n`);
  else io.err(`${words(report)}\n`);
}

function reportOf(file: string, { name, arrivals, lengths }: WorkloadProfile): ProfileReport {
  const rates = arrivals.requestsPerSecond;
  const of = (quantiles: readonly number[]): { p50: number; max: number } => ({
    p50: quantiles[Math.floor((quantiles.length - 1) / 2)] ?? 0,
    max: quantiles.at(-1) ?? 0,
  });
  return {
    file,
    name,
    minutes: (rates.length * arrivals.windowSeconds) / 60,
    requestsPerSecond: {
      mean: rates.reduce((a, b) => a + b, 0) / Math.max(1, rates.length),
      max: rates.reduce((a, b) => Math.max(a, b), 0),
    },
    inputTokens: of(lengths.inputTokenQuantiles),
    outputTokens: of(lengths.outputTokenQuantiles),
  };
}

function words({ file, name, minutes, requestsPerSecond, inputTokens, outputTokens }: ProfileReport): string {
  const { mean, max } = requestsPerSecond;
  return (
    `wrote ${file}: profile ${name} of ${minutes.toFixed(1)} min, ${mean.toFixed(2)} requests/s (at most ${max.toFixed(2)}), ` +
    `input p50 ${inputTokens.p50}, output p50 ${outputTokens.p50} tokens`
  );
}
