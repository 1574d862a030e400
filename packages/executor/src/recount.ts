import type { ResidencyLedger } from "@slicescheduler/memory";
import { ExecutorError } from "./errors.ts";

/** Compares what a ledger counts per copy on an accelerator with a recount, by tensor. Throws INVARIANT_BROKEN. */
export function checkCounts(
  ledger: ResidencyLedger,
  accelerator: number,
  reason: "uses" | "sends",
  recounted: ReadonlyMap<number, number>,
): void {
  let found = 0;
  for (const copy of ledger.copies(accelerator)) {
    const count = recounted.get(copy.tensor) ?? 0;
    if (count > 0) found++;
    if (copy[reason] !== count)
      broken(accelerator, `tensor ${copy.tensor} has ${copy[reason]} ${reason}, recounted ${count}`);
  }
  if (found !== recounted.size)
    broken(accelerator, `${recounted.size - found} tensors have pending ${reason} but no copy`);
}

function broken(accelerator: number, found: string): never {
  throw new ExecutorError("INVARIANT_BROKEN", `accelerator ${accelerator}: ${found}`);
}
