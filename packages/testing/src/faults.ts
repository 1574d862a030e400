import type { VirtualFaults } from "@slicescheduler/executor";
import fc from "fast-check";

/** Rare and frequent failures of operators as they start and of transfers, or none of one of them. */
export function faults(): fc.Arbitrary<VirtualFaults> {
  const every = fc.option(fc.integer({ min: 2, max: 15 }), { freq: 3 });
  return fc.record({ operatorEvery: every, transferEvery: every }).map(({ operatorEvery, transferEvery }) => ({
    ...(operatorEvery === null ? {} : { operator: { every: operatorEvery, afterShare: 0 } }),
    ...(transferEvery === null ? {} : { transfer: { every: transferEvery } }),
  }));
}
