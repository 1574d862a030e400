import { isInDoubt, type OperatorNode } from "@slicescheduler/gmg";

/**
 * The batch of a decision: the given frontier operator and, following successors breadth first, operators of its instance
 * whose producers are all issued, done or in the batch (paper §3.4). Linear in the batch and its references.
 */
export function collectBatch(first: OperatorNode, operatorsMax: number): OperatorNode[] {
  const { operators, template } = first.instance;
  const batch: OperatorNode[] = [first];
  const inBatch = new Set<OperatorNode>(batch);
  for (let i = 0; i < batch.length && batch.length < operatorsMax; i++) {
    const { index } = batch[i] as OperatorNode;
    for (const successorIndex of template.operators[index]?.successors ?? []) {
      const successor = operators[successorIndex] as OperatorNode;
      if (inBatch.has(successor) || !isNext(successor, inBatch)) continue;
      inBatch.add(successor);
      batch.push(successor);
      if (batch.length === operatorsMax) break;
    }
  }
  return batch;
}

function isNext(operator: OperatorNode, inBatch: ReadonlySet<OperatorNode>): boolean {
  if (operator.state !== "unscheduled") return false;
  for (const tensor of operator.inputs) {
    if (tensor.producer.state === "unscheduled" && !inBatch.has(tensor.producer)) return false;
  }
  return !isInDoubt(operator);
}
