/** The profile of a trace file, and profiles as files. */
import { basename } from "node:path";
import { z } from "zod";
import { InvalidOptionError, TraceError, type TraceFault, TraceFaultsError } from "../errors.ts";
import { readTraceText } from "../traces/file.ts";
import { openTrace, type TraceReading } from "../traces/read-trace.ts";
import { traceTokensMax } from "../traces/types.ts";
import { measureArrivals, measureLengths, rankCorrelation, windowSecondsDefault } from "./measure.ts";
import { requestsMax, type WorkloadProfile } from "./types.ts";

export interface ProfileOptions extends TraceReading {
  /** Default the file's name without its endings. */
  readonly name?: string;
  /** Whose trace it is, and under which licence. Default "not stated". */
  readonly attribution?: string;
  /** Length of the windows in which the rate is taken as steady, 1 to 86,400; not more than the trace has. Default 50. */
  readonly windowSeconds?: number;
}

/**
 * Measures the profile of a trace file of any format: rates, gaps, lengths and their rank correlation.
 * Memory: 24 bytes per row while it is read, about 60 while it is measured, at most 10 million rows.
 * Errors: as `openTrace`; TRACE_TOO_LARGE; TRACE_EMPTY when all rows have one arrival time.
 */
export async function profileTraceFile(file: string, options: ProfileOptions = {}): Promise<WorkloadProfile> {
  const { windowSeconds = windowSecondsDefault, attribution = "not stated" } = options;
  if (!(windowSeconds >= 1 && windowSeconds <= 86_400))
    throw new InvalidOptionError("windowSeconds", windowSeconds, "from 1 to 86400");
  const name = options.name ?? basename(file).replace(/(\.(csv|jsonl|gz))+$/, "");
  const [arrivalsNs, inputTokens, outputTokens] = [new Column(), new Column(), new Column()];
  for await (const row of openTrace(file, options)) {
    if (arrivalsNs.length === requestsMax)
      throw new TraceError(
        "TRACE_TOO_LARGE",
        file,
        null,
        `has more than ${requestsMax} rows; at most these are measured`,
      );
    arrivalsNs.push(row.arrivalNs);
    inputTokens.push(row.inputTokens);
    outputTokens.push(row.outputTokens);
  }
  const spanSeconds = (arrivalsNs.values().at(-1) ?? 0) / 1e9;
  if (spanSeconds === 0)
    throw new TraceError("TRACE_EMPTY", file, null, "has rows of one instant only; a rate needs two");
  const [inputs, outputs] = [inputTokens.values(), outputTokens.values()];
  const correlation = Number(rankCorrelation(inputs, outputs).toFixed(4));
  return {
    version: 1,
    name,
    attribution,
    // A window that was observed in part would have too low a rate.
    arrivals: measureArrivals(arrivalsNs.values(), Math.min(windowSeconds, spanSeconds)),
    lengths: { ...measureLengths(inputs, outputs), rankCorrelation: correlation },
  };
}

/** A column of numbers that grows. */
class Column {
  length = 0;
  #values = new Float64Array(1024);

  push(value: number): void {
    if (this.length === this.#values.length) {
      const grown = new Float64Array(2 * this.length);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.length++] = value;
  }

  values(): Float64Array {
    return this.#values.subarray(0, this.length);
  }
}

/** Numbers in a list, checked by hand: of a long list that is wrong only the first wrong item is a fault. */
function numbers(min: number, max: number, countMin: number, countMax: number, ascending: boolean) {
  return z.array(z.unknown()).transform((items, context): number[] => {
    const found: number[] = [];
    const wrong = (path: number[], message: string): never[] => {
      context.issues.push({ code: "custom", path, message, input: items });
      return [];
    };
    if (items.length < countMin || items.length > countMax)
      return wrong([], `${items.length} items; it must be ${countMin} to ${countMax}`);
    for (const [index, item] of items.entries()) {
      if (typeof item !== "number" || !(item >= min && item <= max))
        return wrong([index], `not a number from ${min} to ${max}`);
      if (ascending && item < (found.at(-1) ?? min))
        return wrong([index], "less than the one before; quantiles ascend");
      found.push(item);
    }
    return found;
  });
}

const quantilesMax = 100_001;
const tokenQuantiles = numbers(1, traceTokensMax, 2, quantilesMax, true);
const profileSchema = z.strictObject({
  version: z.literal(1),
  name: z.string().min(1).max(200),
  attribution: z.string().max(2000),
  arrivals: z.strictObject({
    windowSeconds: z.number().min(1e-9).max(86_400),
    requestsPerSecond: numbers(0, 1e7, 1, 10_000_000, false),
    gapQuantiles: numbers(0, 1e12, 2, quantilesMax, true).refine(
      (gaps) => gaps.length === 0 || (gaps.at(-1) ?? 0) > 0,
      {
        message: "all gaps are 0; requests need some time between them",
      },
    ),
  }),
  lengths: z.strictObject({
    rows: z.int().min(1).max(requestsMax),
    inputTokenQuantiles: tokenQuantiles,
    outputTokenQuantiles: tokenQuantiles,
    rankCorrelation: z.number().min(-1).max(1).optional(),
  }),
});

/**
 * Reads a profile as `JSON.stringify` wrote it. @param file only named in errors.
 * Errors: TRACE_FAULTY with every fault's path.
 */
export function parseWorkloadProfile(text: string, file: string): WorkloadProfile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    const reason = `is not JSON: ${(cause as Error).message.replace(/\s+/g, " ").slice(0, 120)}`;
    throw new TraceFaultsError(file, [malformed(reason)], false);
  }
  const parsed = profileSchema.safeParse(json);
  if (!parsed.success) {
    const faults = parsed.error.issues.slice(0, faultsShownMax).map(({ path, message }) => {
      const where = path.length === 0 ? "the profile" : path.map(String).join(".").slice(0, 120);
      return malformed(`${where}: ${message.replace(/\s+/g, " ").slice(0, 200)}`);
    });
    throw new TraceFaultsError(file, faults, parsed.error.issues.length > faults.length);
  }
  const { rankCorrelation: correlation, ...lengths } = parsed.data.lengths;
  // An optional field that is there and undefined would not be the profile that was written.
  return {
    ...parsed.data,
    lengths: { ...lengths, ...(correlation === undefined ? {} : { rankCorrelation: correlation }) },
  };
}

/** Reads a profile file. Errors: as `parseWorkloadProfile`, and those of a file that cannot be read. */
export function readWorkloadProfile(file: string): WorkloadProfile {
  return parseWorkloadProfile(readTraceText(file, profileBytesMax), file);
}

const faultsShownMax = 20;
const profileBytesMax = 64 * 1024 * 1024;

/** What the reason has of the file is shown without control characters. */
function malformed(reason: string): TraceFault {
  const plain = reason.replace(/\p{Cc}/gu, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return { code: "TRACE_MALFORMED_ROW", line: null, reason: plain };
}
