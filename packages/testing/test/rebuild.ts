import type { OperatorNode, TensorNode } from "@slicescheduler/gmg";
import { type SimOperator, type SimTensor, Simulator } from "@slicescheduler/simulator";
import type { MiniMaster } from "./mini-master.ts";

export interface Rebuilt {
  readonly nowNs: number;
  readonly simulator: Simulator;
  /** By issue number, what the executor has not ended. */
  readonly operators: ReadonlyMap<number, SimOperator>;
  /** Numbers of the transfers that have not ended, in the order in which the simulator numbers them. */
  readonly transfers: readonly number[];
}

/**
 * What the executor has at this moment, told to a simulator in full: everything in memory, what runs and since when, what is
 * ready or an intent since when, what is on its way. All from the graph, but for the times of intents.
 */
export function rebuild(
  master: MiniMaster,
  nowNs: number,
  arbitration: { agingNs?: number; reserveNs?: number },
): Rebuilt {
  const { cluster, graph, topology } = master;
  const simulator = new Simulator({
    topology,
    transferNs: (source, destination, bytes) => cluster.transferNs(source, destination, bytes),
    ...arbitration,
  });
  simulator.begin(
    nowNs,
    cluster.accelerators.map(({ index, capacityBytes, granularityBytes }) => ({
      capacityBytes,
      granularityBytes,
      fixedBytes: graph.ledger.fixedBytes(index),
    })),
  );
  const tensors = addPresent(master, simulator);
  const operators = new Map<number, SimOperator>();
  const transfers = new Set<number>();
  for (const operator of graph.issuedOperators()) {
    operators.set(operator.issueNumber, addIssued(master, simulator, tensors, operator, nowNs));
    for (const tensor of operator.inputs) {
      const transfer = tensor.transfers.find(({ destination }) => destination === operator.accelerator);
      if (transfer !== undefined) transfers.add(transfer.number);
    }
  }
  for (const number of transfers) addTransfer(master, simulator, tensors, number, nowNs);
  return { nowNs, simulator, operators, transfers: [...transfers] };
}

/**
 * Tensors that have been produced, in order, so that what a tensor continues comes before it. One that has gone from where it
 * was continued is declared there too, needed by nobody: it may be what the buffer got its size from.
 */
function addPresent({ tensors, graph }: MiniMaster, simulator: Simulator): Map<TensorNode, SimTensor> {
  const added = new Map<TensorNode, SimTensor>();
  const places = new Map<TensorNode, Set<number>>();
  for (const [tensor, aliases] of tensors) {
    const { producer, id, bytes, copies } = tensor;
    const home = producer.accelerator;
    if (producer.state !== "done") continue;
    const isHeld = (accelerator: number) => copies.some((copy) => copy.accelerator === accelerator && copy.held);
    let continued: SimTensor | -1 = -1;
    if (aliases !== null) {
      continued = added.get(aliases) as SimTensor;
      const there = places.get(aliases) as Set<number>;
      if (!there.has(home)) simulator.addCopy(continued, home, false);
      there.add(home);
    }
    const handle = simulator.addTensor(home, bytes, isHeld(home), continued);
    added.set(tensor, handle);
    const at = new Set([home]);
    for (const { accelerator } of copies) {
      if (accelerator === home || !graph.ledger.isPresent(id, accelerator)) continue;
      simulator.addCopy(handle, accelerator, isHeld(accelerator));
      at.add(accelerator);
    }
    places.set(tensor, at);
  }
  return added;
}

function addIssued(
  master: MiniMaster,
  simulator: Simulator,
  tensors: Map<TensorNode, SimTensor>,
  operator: OperatorNode,
  nowNs: number,
): SimOperator {
  const { accelerator, issueNumber, instance, index } = operator;
  const durationNs = master.exactNs(operator);
  const workspaceBytes = instance.binding.workspaceBytes(index);
  const added = simulator.addOperator(accelerator, durationNs, instance.request.rank, issueNumber, workspaceBytes);
  for (const tensor of operator.inputs)
    simulator.addInput(added, tensors.get(tensor) as SimTensor, tensor.producer.accelerator);
  for (const tensor of operator.outputs) {
    const continued = tensor.aliases === null ? -1 : (tensors.get(tensor.aliases) as SimTensor);
    const held = tensor.copies.some((copy) => copy.accelerator === accelerator && copy.held);
    tensors.set(tensor, simulator.addOutput(added, tensor.bytes, held, continued));
  }
  if (operator.startedNs >= 0) simulator.setRunning(added, operator.startedNs + durationNs - nowNs);
  else if (operator.missingInputs === 0) simulator.setReadySince(added, operator.readyNs);
  return added;
}

function addTransfer(
  { graph, cluster, transfers }: MiniMaster,
  simulator: Simulator,
  tensors: ReadonlyMap<TensorNode, SimTensor>,
  number: number,
  nowNs: number,
): void {
  const transfer = graph.transfer(number);
  if (transfer === undefined) return;
  const { tensor, source, destination, state, sendingNs } = transfer;
  const handle = tensors.get(tensor) as SimTensor;
  const held = tensor.copies.some((copy) => copy.accelerator === destination && copy.held);
  simulator.setHeld(handle, destination, held);
  if (state === "planned") return;
  simulator.setIntentSince(handle, destination, transfers.get(number)?.raisedNs ?? nowNs);
  if (state === "intended") return;
  const endNs = sendingNs + cluster.transferNs(source, destination, tensor.bytes);
  simulator.setTransferring(handle, source, destination, endNs - nowNs);
}
