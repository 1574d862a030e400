/** The nodes of an instance: made in full, linked to what they read, and not yet part of a graph. */
import type { TensorId } from "@slicescheduler/memory";
import type { Binding } from "@slicescheduler/templates";
import type { Origin } from "./lineage.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorNode } from "./nodes.ts";

export interface InstancePlan {
  readonly request: RequestNode;
  readonly origin: Origin;
  readonly binding: Binding;
  /** Per input slot. */
  readonly inputs: readonly (TensorNode | null)[];
  readonly allowedPartitions: readonly string[];
  readonly insertedNs: number;
  readonly rank: number;
  readonly deadlineNs: number;
  readonly order: number;
  /** Its tensors are numbered from here on, in topological order. */
  readonly firstTensor: TensorId;
}

/** All operators unscheduled. Linear in the template. */
export function newInstance(plan: InstancePlan): InstanceNode {
  const { binding, origin } = plan;
  const { template } = origin;
  // At full length from the start: written backwards, a growing array would become a table.
  const operators = new Array<OperatorNode>(template.operators.length);
  const instance: InstanceNode = {
    id: origin.id,
    request: plan.request,
    template,
    binding,
    label: origin.label,
    rank: plan.rank,
    deadlineNs: plan.deadlineNs,
    order: plan.order,
    origin,
    allowedPartitions: plan.allowedPartitions,
    insertedNs: plan.insertedNs,
    operators,
    inputs: plan.inputs,
    state: "live",
    failure: null,
    told: false,
    partition: null,
    unfinishedOperators: template.operators.length,
    need: null,
    needBytes: null,
    claimedBytes: null,
    buffers: new Set(),
    liveTensors: 0,
    doneNs: -1,
  };
  // In topological order, so that producers exist before their readers.
  let tensorId = plan.firstTensor;
  for (const index of template.order) {
    const operator = newOperator(instance, index, tensorId);
    operators[index] = operator;
    tensorId += operator.outputs.length;
    wireOperator(operator);
  }
  return instance;
}

/** Gives an operator its inputs, and its outputs the inputs that they continue, from the template and the instance's inputs. */
export function wireOperator(operator: OperatorNode): void {
  const { instance, outputs } = operator;
  const compiled = instance.template.operators[operator.index];
  if (compiled === undefined) throw new RangeError(`the template has no operator ${operator.index}`);
  const read = compiled.inputs.map(({ slot, operator: producer, output }) =>
    slot >= 0 ? (instance.inputs[slot] ?? null) : (instance.operators[producer]?.outputs[output] as TensorNode),
  );
  operator.inputs = [...new Set(read.filter((tensor) => tensor !== null))];
  compiled.outputs.forEach(({ aliases }, o) => {
    const output = outputs[o];
    if (output !== undefined) output.aliases = aliases < 0 ? null : (read[aliases] ?? null);
  });
}

function newOperator(instance: InstanceNode, index: number, firstTensor: TensorId): OperatorNode {
  const outputs: TensorNode[] = [];
  const operator: OperatorNode = {
    instance,
    index,
    ownRank: instance.rank,
    rank: instance.rank,
    deadlineNs: instance.deadlineNs,
    inputs: [],
    reads: [],
    outputs,
    state: "unscheduled",
    recalled: false,
    unscheduledInputs: 0,
    accelerator: -1,
    issueNumber: -1,
    missingInputs: 0,
    issuedNs: -1,
    readyNs: -1,
    startedNs: -1,
    doneNs: -1,
  };
  const count = instance.template.operators[index]?.outputs.length ?? 0;
  for (let output = 0; output < count; output++) {
    outputs.push({
      id: firstTensor + output,
      producer: operator,
      output,
      bytes: instance.binding.outputBytes(index, output),
      aliases: null,
      continued: false,
      unissuedConsumers: 0,
      retained: false,
      consumers: new Set(),
      copies: [],
      transfers: [],
    });
  }
  return operator;
}
