import type { VirtualExecutor } from "@slicescheduler/executor";
import { type ClusterSpec, compileCluster } from "@slicescheduler/gmg";
import type { SliceScheduler } from "slicescheduler";
import { InvariantViolation } from "./invariant-violation.ts";

/**
 * Throws an `InvariantViolation` unless nothing is left of a run: nothing in the graph, nothing in the executor but weights,
 * nothing that contradicts itself.
 */
export function assertAtRest(scheduler: SliceScheduler, executor: VirtualExecutor): void {
  const violations: string[] = [];
  const { requests, instances, issuedOperators, standstills } = scheduler.stats();
  for (const [what, left] of Object.entries({ requests, instances, issuedOperators, standstills })) {
    if (left !== 0) violations.push(`the graph has ${left} ${what}`);
  }
  const { operators, tensors, transfers } = executor.leftovers();
  for (const { issueNumber, accelerator, state, missingInputs } of operators) {
    violations.push(
      `issue ${issueNumber} is ${state} on accelerator ${accelerator} and misses ${missingInputs} inputs`,
    );
  }
  for (const { tensor, accelerator, bytes, uses, sends, held, producing } of tensors) {
    const why = `${uses} uses, ${sends} sends${held ? ", held" : ""}${producing ? ", not yet written" : ""}`;
    violations.push(`tensor ${tensor} of ${bytes} bytes is on accelerator ${accelerator} (${why})`);
  }
  for (const { transfer, source, destination, state } of transfers) {
    violations.push(`transfer ${transfer} from ${source} to ${destination} is ${state}`);
  }
  if (violations.length > 0) throw new InvariantViolation(violations);
  scheduler.validate();
  executor.validate();
}

/** Throws an `InvariantViolation` when more was ever in use on an accelerator than it may hold, or an allocation was refused. */
export function assertWithinCapacity(executor: VirtualExecutor, cluster: ClusterSpec): void {
  const violations: string[] = [];
  const { accelerators, overCapacityRefused } = executor.stats();
  for (const { index, name, capacityBytes } of compileCluster(cluster).accelerators) {
    const peakHbmBytes = accelerators[index]?.peakHbmBytes ?? Number.NaN;
    if (peakHbmBytes <= capacityBytes) continue;
    violations.push(`accelerator ${name} had ${peakHbmBytes} bytes in use of ${capacityBytes}`);
  }
  if (overCapacityRefused > 0) violations.push(`${overCapacityRefused} allocations did not fit`);
  if (violations.length > 0) throw new InvariantViolation(violations);
}
