/** Transfers whose end is overdue: who cannot go on without them. */
import { type CompiledPartition, partitionNamed } from "@slicescheduler/templates";
import type { InstanceNode, OperatorNode, TransferNode } from "./nodes.ts";

/**
 * Instances that cannot go on without a quarantined transfer, by rising id. There is one copy of a tensor on an accelerator, so whoever reads
 * it there needs this one, issued or not. A request that has to be laid elsewhere needs the end as well: it cannot make again what may
 * still be read or written. Linear in the tensor's readers, or in the request's instances where that is being laid elsewhere.
 */
export function instancesBehind({ tensor, destination, waiting }: TransferNode): InstanceNode[] {
  const found = new Set<InstanceNode>();
  for (const { instance } of waiting) found.add(instance);
  for (const operator of tensor.consumers) if (acceleratorOf(operator) === destination) found.add(operator.instance);
  const { request } = tensor.producer.instance;
  if (request.relocating) for (const instance of request.instances) found.add(instance);
  return [...found].filter(({ state }) => state === "live").sort((a, b) => a.id - b.id);
}

/** Where an operator is, or will be; −1 while its request is not placed. */
function acceleratorOf({ accelerator, instance, index }: OperatorNode): number {
  if (accelerator >= 0) return accelerator;
  const { partition, request, template } = instance;
  const laid = partition ?? (request.partition === null ? undefined : partitionNamed(template, request.partition));
  return laid?.acceleratorOf[index] ?? -1;
}

/** Whether an operator, laid on a partition, would wait for a transfer that is quarantined. */
export function isBehindQuarantine({ inputs, index }: OperatorNode, { acceleratorOf }: CompiledPartition): boolean {
  const accelerator = acceleratorOf[index];
  for (const { transfers } of inputs) {
    for (const { state, destination } of transfers) {
      if (state === "quarantined" && destination === accelerator) return true;
    }
  }
  return false;
}
