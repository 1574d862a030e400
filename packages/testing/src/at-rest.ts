import type { VirtualExecutor } from "@slicescheduler/executor";
import { type ClusterSpec, compileCluster } from "@slicescheduler/gmg";
import type { SliceScheduler } from "slicescheduler";
import { InvariantViolation } from "./invariant-violation.ts";
import type { Violation } from "./violation.ts";

/**
 * Throws an `InvariantViolation` unless nothing is left of a run: nothing in the graph, nothing in the executor but weights,
 * nothing that contradicts itself.
 */
export function assertAtRest(scheduler: SliceScheduler, executor: VirtualExecutor): void {
  const found = leftOver(scheduler, executor);
  if (found.length > 0) throw new InvariantViolation(found);
  scheduler.validate();
  executor.validate();
}

/** What is left of a run in the graph and in the executor. */
export function leftOver(scheduler: SliceScheduler, executor: VirtualExecutor): Violation[] {
  const found: Violation[] = [];
  const { requests, instances, issuedOperators, standstills } = scheduler.stats();
  const add = (words: string, kind: Violation["kind"] = "broken", amount = 1) => found.push({ kind, words, amount });
  for (const [what, left] of Object.entries({ requests, instances, issuedOperators })) {
    if (left !== 0) add(`the graph has ${left} ${what}`);
  }
  if (standstills !== 0) add(`${standstills} operators stand still`, "standstills");
  const { operators, tensors, transfers } = executor.leftovers();
  for (const { issueNumber, accelerator, state, missingInputs } of operators) {
    add(`issue ${issueNumber} is ${state} on accelerator ${accelerator} and misses ${missingInputs} inputs`);
  }
  for (const { tensor, accelerator, bytes, uses, sends, held, producing } of tensors) {
    const why = `${uses} uses, ${sends} sends${held ? ", held" : ""}${producing ? ", not yet written" : ""}`;
    add(`tensor ${tensor} of ${bytes} bytes is on accelerator ${accelerator} (${why})`);
  }
  for (const { transfer, source, destination, state } of transfers) {
    add(`transfer ${transfer} from ${source} to ${destination} is ${state}`);
  }
  return found;
}

/** Throws an `InvariantViolation` when more was ever in use on an accelerator than it may hold, or an allocation was refused. */
export function assertWithinCapacity(executor: VirtualExecutor, cluster: ClusterSpec): void {
  const found = overCapacity(executor, cluster);
  if (found.length > 0) throw new InvariantViolation(found);
}

/** By the executor's own account. */
export function overCapacity(executor: VirtualExecutor, cluster: ClusterSpec): Violation[] {
  const found: Violation[] = [];
  const { accelerators, overCapacityRefused } = executor.stats();
  for (const { index, name, capacityBytes } of compileCluster(cluster).accelerators) {
    const peakHbmBytes = accelerators[index]?.peakHbmBytes ?? Number.NaN;
    if (peakHbmBytes <= capacityBytes) continue;
    const words = `accelerator ${name} had ${peakHbmBytes} bytes in use of ${capacityBytes}`;
    found.push({ kind: "overCapacity", words, amount: 1 });
  }
  if (overCapacityRefused > 0) {
    const words = `${overCapacityRefused} allocations did not fit`;
    found.push({ kind: "overCapacity", words, amount: overCapacityRefused });
  }
  return found;
}
