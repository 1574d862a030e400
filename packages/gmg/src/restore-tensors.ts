/** Tensors with their readers, copies and buffers, and the transfers that move them. */
import { copyOn, type GraphState, nameOf } from "./graph-state.ts";
import type { BufferNode, InstanceNode, OperatorNode, TensorCopy, TensorNode, TransferNode } from "./nodes.ts";
import { contradicts } from "./restore-read.ts";
import type { GraphSnapshot, Runs } from "./snapshot.ts";
import { TRANSFER_STATES } from "./snapshot-letters.ts";
import { pendingInOrder } from "./snapshot-save.ts";
import { fromRuns } from "./snapshot-tables.ts";

export interface RestoredNodes {
  readonly instances: readonly InstanceNode[];
  readonly operators: readonly OperatorNode[];
  readonly tensors: ReadonlyMap<number, TensorNode>;
}

export function restoreTensors(state: GraphState, snapshot: GraphSnapshot, nodes: RestoredNodes): void {
  const { tensors: saved } = snapshot;
  for (const tensor of named(saved.known, nodes, "tensors.known")) {
    if (state.tensors.has(tensor.id)) contradicts("tensors.known", `tensor ${tensor.id} stands twice`);
    state.tensors.set(tensor.id, tensor);
    tensor.producer.instance.liveTensors += 1;
  }
  for (const tensor of named(saved.retained, nodes, "tensors.retained")) tensor.retained = true;
  for (const tensor of named(saved.continued, nodes, "tensors.continued")) tensor.continued = true;
  restoreConsumers(state, saved.reordered, nodes);
  restoreCopies(state, snapshot, nodes);
  restoreTransfers(state, snapshot, nodes);
  restoreReads(state, snapshot, nodes);
}

function named(runs: Runs, { tensors }: RestoredNodes, path: string): TensorNode[] {
  const ids = fromRuns(runs, tensors.size);
  if (ids === null) contradicts(path, `must be at most ${tensors.size} tensors, as runs`);
  return ids.map((id) => tensorOf(id, tensors, path));
}

function tensorOf(id: number, tensors: RestoredNodes["tensors"], path: string): TensorNode {
  return tensors.get(id) ?? contradicts(path, `there is no tensor ${id}`);
}

function operatorOf(number: number, { operators }: RestoredNodes, path: string): OperatorNode {
  return operators[number] ?? contradicts(path, `there is no operator ${number}`);
}

function restoreConsumers(
  state: GraphState,
  reordered: GraphSnapshot["tensors"]["reordered"],
  nodes: RestoredNodes,
): void {
  for (const operator of pendingInOrder(state, nodes.instances)) {
    for (const tensor of operator.inputs) {
      tensor.consumers.add(operator);
      if (operator.state === "unscheduled") tensor.unissuedConsumers += 1;
    }
  }
  for (const [i, [id, ...numbers]] of reordered.entries()) {
    const path = `tensors.reordered[${i}]`;
    const { consumers } = tensorOf(id ?? -1, nodes.tensors, path);
    const order = new Set(numbers.map((number) => operatorOf(number, nodes, path)));
    if (order.size !== consumers.size || [...order].some((operator) => !consumers.has(operator))) {
      contradicts(path, `does not name the ${consumers.size} operators that read tensor ${id} and have not ended`);
    }
    consumers.clear();
    for (const operator of order) consumers.add(operator);
  }
}

function restoreCopies(
  state: GraphState,
  { tensors: { copies }, buffers, instances }: GraphSnapshot,
  nodes: RestoredNodes,
): void {
  const made: BufferNode[] = [];
  for (const [i, id] of copies.tensor.entries()) {
    const path = `tensors.copies.tensor[${i}]`;
    const tensor = tensorOf(id, nodes.tensors, path);
    const accelerator = copies.accelerator[i] as number;
    const at = copies.buffer[i] as number;
    const buffer = made[at] ?? newBuffer(accelerator, buffers.bytes[at], buffers.endedBytes[at]);
    made[at] = buffer;
    const isFree = copyOn(tensor, accelerator) === undefined && state.ledger.has(id, accelerator);
    if (!isFree || buffer.accelerator !== accelerator) {
      contradicts(path, `tensor ${id} cannot have a copy on accelerator ${accelerator} in buffer ${at}`);
    }
    buffer.copies += 1;
    tensor.copies.push({ accelerator, buffer, held: state.ledger.isHeld(id, accelerator) });
  }
  for (const [i, row] of instances.shares.entries()) {
    const instance = nodes.instances[i] as InstanceNode;
    for (let k = 0; k < row.length; k += 2) {
      const buffer = made[row[k] as number];
      if (buffer === undefined) contradicts(`instances.shares[${i}]`, `there is no buffer ${row[k]}`);
      buffer.shares.set(instance, row[k + 1] ?? 0);
      instance.buffers.add(buffer);
    }
  }
}

function restoreTransfers(state: GraphState, { transfers }: GraphSnapshot, nodes: RestoredNodes): void {
  let before = -1;
  for (const [i, number] of transfers.number.entries()) {
    if (number <= before || number >= state.nextTransfer) {
      contradicts(`transfers.number[${i}]`, `${number} must be above ${before} and below ${state.nextTransfer}`);
    }
    before = number;
    const tensor = tensorOf(transfers.tensor[i] as number, nodes.tensors, `transfers.tensor[${i}]`);
    const transfer: TransferNode = {
      number,
      tensor,
      source: transfers.source[i] as number,
      destination: transfers.destination[i] as number,
      rank: transfers.rank[i] as number,
      state: TRANSFER_STATES.get(transfers.state[i] ?? "") ?? "planned",
      intendedNs: transfers.intendedNs[i] as number,
      sendingNs: transfers.sendingNs[i] as number,
      waiting: (transfers.waiting[i] ?? []).map((at) => operatorOf(at, nodes, `transfers.waiting[${i}]`)),
    };
    state.transfers.set(number, transfer);
    tensor.transfers.push(transfer);
  }
}

/** The copies that issued operators read: those on their accelerators, unless they were lost meanwhile. */
function restoreReads(state: GraphState, { operators: { lostReads } }: GraphSnapshot, nodes: RestoredNodes): void {
  const path = "operators.lostReads";
  const lost = new Map<OperatorNode, readonly number[]>();
  for (const [number, ...positions] of lostReads) lost.set(operatorOf(number ?? -1, nodes, path), positions);
  for (const operator of state.issued.values()) {
    const gone = lost.get(operator) ?? [];
    operator.reads = operator.inputs.map((tensor, i): TensorCopy => {
      const { accelerator } = operator;
      if (gone.includes(i)) return { accelerator, buffer: newBuffer(accelerator), held: false };
      return (
        copyOn(tensor, accelerator) ?? contradicts(path, `${nameOf(operator)} lacks a copy of tensor ${tensor.id}`)
      );
    });
  }
}

function newBuffer(accelerator: number, bytes = 0, endedBytes = 0): BufferNode {
  return { accelerator, bytes, copies: 0, shares: new Map(), endedBytes };
}
