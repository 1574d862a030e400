/** ServeGen clients: rates of 600 s windows (CSV) and length distributions of 6 h windows (JSON around Python text). */
import { z } from "zod";
import { TraceError } from "../errors.ts";
import { parseCsv } from "./csv.ts";
import { readTraceText, shown } from "./file.ts";
import { issueText } from "./mooncake.ts";
import { traceTokensMax } from "./types.ts";

/** How requests arrive in one window. */
export interface ServeGenWindow {
  /** Seconds since the midnight that starts day 0. */
  readonly startSeconds: number;
  readonly requestsPerSecond: number;
  /** Coefficient of variation of the inter-arrival times. */
  readonly interArrivalCv: number;
  /** The fitted distribution of inter-arrival times; null in a silent window. */
  readonly distribution: "Gamma" | "Weibull" | null;
  readonly shape: number;
  readonly scaleSeconds: number;
}

/** Probability of each token count, ascending by tokens; they add up to 1. */
export type LengthDistribution = readonly { readonly tokens: number; readonly probability: number }[];

export interface ServeGenLengths {
  readonly startSeconds: number;
  readonly inputTokens: LengthDistribution;
  readonly outputTokens: LengthDistribution;
}

const windowSchema = z
  .tuple([
    z.coerce.number().int().min(0),
    z.coerce.number().min(0),
    z.coerce.number().min(0),
    z.enum(["Gamma", "Weibull", ""]),
    z.coerce.number().min(0),
    z.coerce.number().min(0),
  ])
  .refine((w) => (w[3] === "" ? w[1] === 0 : w[4] > 0 && w[5] > 0), {
    message: "a window with requests needs a distribution with positive shape and scale, a silent one none",
  });

/** Reads a `*-trace.csv`; errors as `parseServeGenWindows` and those of a file that cannot be read. */
export function readServeGenWindows(file: string): ServeGenWindow[] {
  return parseServeGenWindows(readTraceText(file), file);
}

/**
 * Parses the windows of one client; there is no header line.
 * Errors: TRACE_EMPTY, TRACE_MALFORMED_ROW, TRACE_OUT_OF_ORDER.
 */
export function parseServeGenWindows(text: string, file: string): ServeGenWindow[] {
  const windows: ServeGenWindow[] = [];
  for (const { fields, line } of parseCsv(text, file)) {
    const blank = fields.findIndex((field, i) => i !== 3 && field.trim() === "");
    if (blank >= 0) throw new TraceError("TRACE_MALFORMED_ROW", file, line, `field ${blank} is blank`);
    const parsed = windowSchema.safeParse(fields);
    if (!parsed.success) throw new TraceError("TRACE_MALFORMED_ROW", file, line, issueText(parsed.error));
    const [startSeconds, requestsPerSecond, interArrivalCv, name, shape, scaleSeconds] = parsed.data;
    const previous = windows.at(-1);
    if (previous !== undefined && startSeconds <= previous.startSeconds) {
      const reason = `window start ${startSeconds} does not come after ${previous.startSeconds}`;
      throw new TraceError("TRACE_OUT_OF_ORDER", file, line, reason);
    }
    const distribution = name === "" ? null : name;
    windows.push({ startSeconds, requestsPerSecond, interArrivalCv, distribution, shape, scaleSeconds });
  }
  if (windows.length === 0) throw new TraceError("TRACE_EMPTY", file, null, "has no rows");
  return windows;
}

const datasetSchema = z.record(
  z.string().regex(/^\d+$/, "a window's key is its start in whole seconds"),
  z.object({ input_tokens: z.string(), output_tokens: z.string() }),
);

/** Reads a `*-dataset.json`; errors as `parseServeGenLengths` and those of a file that cannot be read. */
export function readServeGenLengths(file: string): ServeGenLengths[] {
  return parseServeGenLengths(readTraceText(file), file);
}

/**
 * Parses the length distributions of one client, ascending by window; the Python text inside is read by a grammar of
 * its own, never evaluated. A window whose two distributions are both empty (a silent one) is left out.
 * Errors: TRACE_EMPTY, TRACE_MALFORMED_ROW (the window is named in the reason).
 */
export function parseServeGenLengths(text: string, file: string): ServeGenLengths[] {
  const bad = (reason: string, cause?: unknown): TraceError =>
    new TraceError("TRACE_MALFORMED_ROW", file, null, reason, { cause });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw bad("not JSON", cause);
  }
  const parsed = datasetSchema.safeParse(json);
  if (!parsed.success) throw bad(issueText(parsed.error));
  const lengths: ServeGenLengths[] = [];
  for (const [key, value] of Object.entries(parsed.data)) {
    const side = (name: "input_tokens" | "output_tokens"): LengthDistribution => {
      const found = parsePythonDistribution(value[name]);
      if (typeof found === "string") throw bad(`window ${key}, ${name}: ${found}`);
      return found;
    };
    const inputTokens = side("input_tokens");
    const outputTokens = side("output_tokens");
    if (inputTokens.length === 0 && outputTokens.length === 0) continue;
    if (inputTokens.length === 0 || outputTokens.length === 0) throw bad(`window ${key}: only one side is empty`);
    lengths.push({ startSeconds: Number(key), inputTokens, outputTokens });
  }
  if (lengths.length === 0) throw new TraceError("TRACE_EMPTY", file, null, "has no window with requests");
  return lengths.sort((a, b) => a.startSeconds - b.startSeconds);
}

const entryPattern = /\s*(\d{1,9})\s*:\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*/y;

/**
 * Reads `{45: 0.0097, 46: 0.0117}`: whole keys, probabilities that add up to 1 within 1e-6, no key twice.
 * Returns the distribution, or in words what is wrong.
 */
export function parsePythonDistribution(text: string): LengthDistribution | string {
  const body = /^\s*\{([^{}]*)\}\s*$/.exec(text)?.[1];
  if (body === undefined) return `not a dict of token counts: ${shown(text)}`;
  if (body.trim() === "") return [];
  const entries: { tokens: number; probability: number }[] = [];
  const seen = new Set<number>();
  let at = 0;
  let total = 0;
  while (at < body.length) {
    entryPattern.lastIndex = at;
    const match = entryPattern.exec(body);
    if (match === null) return `expected "tokens: probability" at ${shown(body.slice(at, at + 20))}`;
    const tokens = Number(match[1]);
    const probability = Number(match[2]);
    if (tokens > traceTokensMax || !(probability <= 1)) return `out of range: ${shown(match[0].trim())}`;
    if (seen.has(tokens)) return `token count ${tokens} twice`;
    seen.add(tokens);
    entries.push({ tokens, probability });
    total += probability;
    at = entryPattern.lastIndex;
    if (at < body.length && body[at++] !== ",") return `expected "," before ${shown(body.slice(at - 1, at + 19))}`;
  }
  if (Math.abs(total - 1) > 1e-6) return `probabilities add up to ${total}, not 1`;
  return entries.sort((a, b) => a.tokens - b.tokens);
}
