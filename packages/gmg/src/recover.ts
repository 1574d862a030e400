/** Which results have to be made again, and from what: back along the lineage to results that are still there. */
import { newInstance, wireOperator } from "./build.ts";
import { type GraphState, giveUpCopies } from "./graph-state.ts";
import type { Origin, OutputOrigin } from "./lineage.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorNode } from "./nodes.ts";
import { enterFrontier, makeUnscheduled } from "./recall.ts";
import { countAgain, forgetUrgency, raiseProducers } from "./urgency.ts";

/**
 * Makes unscheduled again, of a request of which nothing is issued, every done operator whose results are wanted and are nowhere. Instances that
 * have left the graph come back for it. Linear in what has to be made again; no recursion.
 * @returns operators whose inputs cannot be made again, since their past is forgotten.
 */
export function reviveLost(state: GraphState, request: RequestNode): OperatorNode[] {
  const hopeless: OperatorNode[] = [];
  const wanted: TensorNode[] = [];
  for (const { operators } of request.instances) {
    for (const { state: reached, inputs, outputs } of operators) {
      if (reached === "unscheduled") wanted.push(...inputs);
      else if (reached === "done") wanted.push(...outputs.filter(({ retained }) => retained));
    }
  }
  for (let tensor = wanted.pop(); tensor !== undefined; tensor = wanted.pop()) {
    const { producer } = tensor;
    if (producer.state !== "done" || tensor.copies.length > 0) continue;
    if (!reviveOperator(state, producer)) hopeless.push(producer);
    else wanted.push(...producer.inputs);
  }
  for (const { operators } of request.instances) for (const operator of operators) enterFrontier(state, operator);
  return hopeless;
}

/** Done → unscheduled, with its inputs as they were. False, changing nothing, when they are forgotten or its instance failed or was cancelled. */
function reviveOperator(state: GraphState, operator: OperatorNode): boolean {
  const { instance, index } = operator;
  const { inputs: compiled } = instance.template.operators[index] as (typeof instance.template.operators)[number];
  const { origin } = instance;
  if (instance.state === "failed" || instance.state === "cancelled") return false;
  if (origin.inputs === null && compiled.some(({ slot }) => slot >= 0)) return false;
  if (instance.inputs.length === 0) instance.inputs = instance.template.slots.map(() => null);
  for (const { slot } of compiled) {
    const input = slot < 0 ? null : (origin.inputs?.[slot] ?? null);
    if (input !== null) instance.inputs = instance.inputs.with(slot, tensorOf(state, instance.request, input));
  }
  if (instance.state === "done") {
    instance.state = "live";
    // What its operators were promoted to was for the run that has ended.
    for (const each of instance.operators) {
      each.ownRank = instance.rank;
      forgetUrgency(each);
    }
  }
  instance.unfinishedOperators += 1;
  wireOperator(operator);
  makeUnscheduled(operator);
  for (const tensor of operator.inputs) {
    tensor.consumers.add(operator);
    tensor.unissuedConsumers += 1;
  }
  for (const tensor of operator.outputs) {
    // Another output of it may be there still.
    giveUpCopies(state, tensor);
    if (tensor.aliases !== null) tensor.aliases.continued = true;
    if (state.tensors.has(tensor.id)) continue;
    state.tensors.set(tensor.id, tensor);
    instance.liveTensors += 1;
  }
  countAgain(state, operator);
  raiseProducers(state, operator);
  return true;
}

function tensorOf(state: GraphState, request: RequestNode, { origin, operator, output }: OutputOrigin): TensorNode {
  const node = origin.node ?? comeBack(state, request, origin);
  return node.operators[operator]?.outputs[output] as TensorNode;
}

/** An instance that has left the graph, as it was then: all done, and none of its results anywhere. */
function comeBack(state: GraphState, request: RequestNode, origin: Origin): InstanceNode {
  const { template, symbols } = origin;
  const instance = newInstance({
    request,
    origin,
    binding: template.bind(symbols),
    inputs: template.slots.map(() => null),
    allowedPartitions: [],
    insertedNs: -1,
    // Its own urgency was that of its outcome, which it has had.
    rank: request.rank,
    deadlineNs: request.deadlineNs,
    order: 0,
    firstTensor: state.nextTensor,
  });
  for (const operator of instance.operators) {
    operator.state = "done";
    operator.inputs = [];
    state.nextTensor += operator.outputs.length;
  }
  instance.state = "done";
  instance.told = true;
  instance.unfinishedOperators = 0;
  origin.node = instance;
  state.instances.set(instance.id, instance);
  request.instances.add(instance);
  return instance;
}
