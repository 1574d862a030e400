/**
 * Recipes B48 and B: four online traces of 30 minutes out of two public files, one for the arrivals and one for the
 * lengths. Row i of the arrivals goes to tenant j when it lies in j's half hour and its hash u(i) in j's share of [0, 1):
 * a fixed, thin sample without an order of its own.
 */
import { EmptyWorkloadError, InvalidOptionError } from "../errors.ts";
import { fmix32 } from "../random.ts";
import type { TraceRow } from "../traces/types.ts";
import type { Workload, WorkloadRequest } from "./types.ts";

/** Shares under which the recipe matches the paper's published figures. */
export const colocationShare = 0.0325;
export const idleSlicesShare = 0.045;

/** Longest output that B48 keeps. */
const b48OutputTokensMax = 48;
const windowNs = 1800e9;
const offsetsNs: readonly number[] = [0, 550e9, 1100e9, 1650e9];

/**
 * B48: lengths from the rows with at most 48 output tokens.
 * @param arrivals rows whose arrival times are used (Azure conv).
 * @param lengths rows whose token counts are used (Azure code).
 * @param share of the arrivals that each tenant keeps, above 0 and at most 0.25.
 * Errors: INVALID_OPTION, WORKLOAD_EMPTY. Linear in the rows.
 */
export function recipeB48(arrivals: readonly TraceRow[], lengths: readonly TraceRow[], share: number): Workload {
  const short = lengths.filter((row) => row.outputTokens <= b48OutputTokensMax);
  if (short.length === 0) {
    const reason = `none of ${lengths.length} rows has at most ${b48OutputTokensMax} output tokens`;
    throw new EmptyWorkloadError(`recipe B48 has no lengths: ${reason}`);
  }
  return deal(arrivals, short, share);
}

/** B: the same with the lengths of all rows. */
export function recipeB(arrivals: readonly TraceRow[], lengths: readonly TraceRow[], share: number): Workload {
  return deal(arrivals, lengths, share);
}

function deal(arrivals: readonly TraceRow[], lengths: readonly TraceRow[], share: number): Workload {
  if (!(share > 0 && share <= 0.25)) {
    throw new InvalidOptionError("share", share, "above 0 and at most 0.25 (each of four tenants takes that much)");
  }
  // 1942 of 7768 rows and 2204 of 8819: each tenant starts a quarter further on.
  const stride = Math.floor(lengths.length / offsetsNs.length);
  const tenants = offsetsNs.map((offsetNs, tenant) => {
    const kept: WorkloadRequest[] = [];
    arrivals.forEach((row, i) => {
      const u = fmix32(i + 1) / 2 ** 32;
      if (row.arrivalNs < offsetNs || row.arrivalNs >= offsetNs + windowNs) return;
      if (u < tenant * share || u >= (tenant + 1) * share) return;
      const length = lengths[(stride * tenant + kept.length) % lengths.length];
      if (length === undefined) return;
      const { inputTokens, outputTokens } = length;
      kept.push({ tenant, arrivalNs: row.arrivalNs - offsetNs, inputTokens, outputTokens });
    });
    return kept;
  });
  if (tenants.every((requests) => requests.length === 0)) {
    throw new EmptyWorkloadError(
      `the recipe keeps none of ${arrivals.length} arrivals at share ${share}; a longer trace or a larger share is needed`,
    );
  }
  return { windowNs, tenants };
}
