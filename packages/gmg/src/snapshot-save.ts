/** A graph's state → its snapshot. Linear in the graph. */
import { copyOn, type GraphState } from "./graph-state.ts";
import type { BufferNode, InstanceNode, OperatorNode, TensorNode } from "./nodes.ts";
import {
  type BufferRow,
  type CopyRow,
  type GraphSnapshot,
  type HistoryRow,
  type InstanceRow,
  type OperatorsSnapshot,
  type OriginRow,
  type RequestRow,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type TensorsSnapshot,
  type TransferRow,
} from "./snapshot.ts";
import { EffectsPendingError } from "./snapshot-errors.ts";
import { isPending, SnapshotLayout, tensorsOf } from "./snapshot-layout.ts";
import { instanceLetter, operatorLetter, TRANSFER_LETTERS } from "./snapshot-letters.ts";
import { ByteVectors, PartitionLists, packLedger, symbolRow, toColumns, toFlag, toRuns } from "./snapshot-tables.ts";

interface Saving {
  readonly state: GraphState;
  readonly layout: SnapshotLayout;
  readonly lists: PartitionLists;
  readonly vectors: ByteVectors;
}

/** Throws EFFECTS_PENDING. */
export function saveGraph(state: GraphState, lastRequest: number, lastInstance: number): GraphSnapshot {
  if (Object.values(state.effects).some((list: readonly unknown[]) => list.length > 0))
    throw new EffectsPendingError(state.effects);
  const saving = { state, layout: new SnapshotLayout(state), lists: new PartitionLists(), vectors: new ByteVectors() };
  const { layout, lists, vectors } = saving;
  const placed = [...state.claims.placed()];
  const buffers = buffersOf(layout);
  const requests = toColumns(REQUEST_FIELDS, requestRows(saving));
  const origins = toColumns(ORIGIN_FIELDS, originRows(saving));
  const instances = toColumns(INSTANCE_FIELDS, instanceRows(saving, buffers));
  return {
    format: SNAPSHOT_FORMAT,
    version: SNAPSHOT_VERSION,
    memorySafety: state.claims.memorySafety,
    counters: {
      lastRequest,
      lastInstance,
      nextTensor: state.nextTensor,
      nextIssue: state.nextIssue,
      nextTransfer: state.nextTransfer,
      claimsEpoch: state.claims.epoch,
    },
    cluster: state.cluster.spec,
    availability: [...state.availability],
    templates: layout.templates.map(({ spec }) => spec),
    weights: [...state.weightBytes],
    partitionLists: lists.list,
    byteVectors: vectors.list,
    requests,
    grants: {
      growing: placed.filter(({ growing }) => growing).map(({ id }) => id),
      setAside: placed.filter(({ growing }) => !growing).map(({ id }) => id),
    },
    relocating: Array.from(state.relocating, ({ id }) => id),
    origins,
    instances,
    departed: layout.departed,
    urgencies: saveUrgencies(layout),
    operators: saveOperators(saving),
    tensors: saveTensors(saving, buffers),
    buffers: toColumns<BufferRow>(["bytes", "endedBytes"], [...buffers.keys()]),
    transfers: toColumns(TRANSFER_FIELDS, transferRows(saving)),
    ledger: packLedger(state.ledger.save()),
  };
}

const REQUEST_FIELDS = [
  "id",
  "label",
  "rank",
  "deadlineNs",
  "openedNs",
  "limits",
  "concurrentInstances",
  "chains",
  "allowedPartitions",
  "partition",
  "endsWithInstances",
  "growing",
  "moment",
  "closed",
  "preemptions",
  "reserved",
  "used",
  "workspace",
] as const;

function requestRows({ layout, lists, vectors }: Saving): RequestRow[] {
  return layout.requests.map((request) => ({
    id: request.id,
    label: request.label,
    rank: request.rank,
    deadlineNs: orNull(request.deadlineNs),
    openedNs: request.openedNs,
    limits:
      request.limits?.map(({ template, symbols, assumed }) => [
        layout.templateAt(template),
        ...symbolRow(template, symbols).map((value, i) =>
          assumed.includes(template.symbols[i] as string) ? null : value,
        ),
      ]) ?? null,
    concurrentInstances: request.concurrentInstances,
    chains: request.chains,
    allowedPartitions: lists.of(request.allowedPartitions),
    partition: request.partition,
    endsWithInstances: toFlag(request.endsWithInstances),
    growing: toFlag(request.growing),
    moment: request.moment,
    closed: toFlag(request.closed),
    preemptions: request.preemptions,
    reserved: vectors.of(request.reservedBytes),
    used: vectors.of(request.usedBytes),
    workspace: vectors.of(request.workspaceBytes),
  }));
}

const ORIGIN_FIELDS = ["id", "template", "label", "symbols", "restriction", "inputs"] as const;

function originRows({ layout, lists }: Saving): OriginRow[] {
  return layout.origins.map(({ id, template, label, symbols, restriction, inputs }) => ({
    id,
    template: layout.templateAt(template),
    label,
    symbols: symbolRow(template, symbols),
    restriction: lists.of(restriction),
    inputs:
      inputs?.flatMap((input) =>
        input === null ? [-1, -1, -1] : [layout.originAt(input.origin), input.operator, input.output],
      ) ?? null,
  }));
}

const INSTANCE_FIELDS = [
  "origin",
  "request",
  "state",
  "failure",
  "partition",
  "allowedPartitions",
  "insertedNs",
  "doneNs",
  "firstTensor",
  "need",
  "needWorkspace",
  "granted",
  "claimed",
  "inputs",
  "shares",
] as const;

function instanceRows({ layout, lists, vectors }: Saving, buffers: ReadonlyMap<BufferNode, number>): InstanceRow[] {
  return layout.instances.map((instance) => ({
    origin: layout.originAt(instance.origin),
    request: layout.requestAt(instance.request),
    state: instanceLetter(instance),
    failure: instance.failure,
    partition: instance.partition?.index ?? -1,
    allowedPartitions: lists.of(instance.allowedPartitions),
    insertedNs: instance.insertedNs,
    doneNs: instance.doneNs,
    firstTensor: firstTensorOf(instance),
    need: vectors.of(instance.need?.bytes ?? null),
    needWorkspace: vectors.of(instance.need?.workspaceBytes ?? null),
    granted: vectors.of(instance.needBytes),
    claimed: vectors.of(instance.claimedBytes),
    inputs: instance.inputs.map((tensor) => tensor?.id ?? -1),
    shares: [...instance.buffers].flatMap((buffer) => [
      buffers.get(buffer) as number,
      buffer.shares.get(instance) as number,
    ]),
  }));
}

function saveUrgencies({ instances }: SnapshotLayout): GraphSnapshot["urgencies"] {
  return instances.flatMap(({ rank, deadlineNs, order, request }, at) =>
    rank === request.rank && deadlineNs === request.deadlineNs && order === 0
      ? []
      : [[at, rank, orNull(deadlineNs), order] as const],
  );
}

function orNull(deadlineNs: number): number | null {
  return deadlineNs === Number.POSITIVE_INFINITY ? null : deadlineNs;
}

/** Any number serves an instance without tensors. */
function firstTensorOf(instance: InstanceNode): number {
  for (const { id } of tensorsOf(instance)) return id;
  return 0;
}

const HISTORY_FIELDS = ["accelerator", "issueNumber", "issuedNs", "readyNs", "startedNs", "doneNs"] as const;

function saveOperators({ state, layout }: Saving): OperatorsSnapshot {
  const operators = [...layout.operators()];
  const inExecutor = operators.filter((operator) => state.issued.get(operator.issueNumber) === operator);
  const issued = operators.filter(({ issueNumber }) => issueNumber >= 0);
  const isHeld = new Set(inExecutor);
  return {
    states: operators.map((operator) => operatorLetter(operator, isHeld.has(operator))).join(""),
    issued: toRuns(issued.map((operator) => layout.operatorAt(operator))),
    history: toColumns<HistoryRow>(HISTORY_FIELDS, issued),
    missingInputs: inExecutor.map(({ missingInputs }) => missingInputs),
    lostReads: inExecutor.flatMap((operator) => {
      const lost = lostReads(operator);
      return lost.length === 0 ? [] : [[layout.operatorAt(operator), ...lost]];
    }),
    promoted: operators.flatMap(({ ownRank, instance }, at) =>
      ownRank === instance.rank ? [] : [[at, ownRank] as const],
    ),
  };
}

function lostReads({ inputs, reads, accelerator }: OperatorNode): number[] {
  return [...inputs.keys()].filter((i) => reads[i] !== copyOn(inputs[i] as TensorNode, accelerator));
}

/** In the order in which copies stand first in them. */
function buffersOf(layout: SnapshotLayout): Map<BufferNode, number> {
  const buffers = new Map<BufferNode, number>();
  for (const { copies } of layout.tensors()) {
    for (const { buffer } of copies) if (!buffers.has(buffer)) buffers.set(buffer, buffers.size);
  }
  return buffers;
}

function saveTensors({ state, layout }: Saving, buffers: ReadonlyMap<BufferNode, number>): TensorsSnapshot {
  const tensors = [...layout.tensors()];
  const usual = new Map<TensorNode, OperatorNode[]>();
  for (const operator of pendingInOrder(state, layout.instances)) {
    for (const tensor of operator.inputs) {
      const consumers = usual.get(tensor);
      if (consumers === undefined) usual.set(tensor, [operator]);
      else consumers.push(operator);
    }
  }
  return {
    known: toRuns(state.tensors.keys()),
    retained: toRuns(tensors.filter(({ retained }) => retained).map(({ id }) => id)),
    continued: toRuns(tensors.filter(({ continued }) => continued).map(({ id }) => id)),
    reordered: tensors.flatMap((tensor) => {
      const consumers = [...tensor.consumers];
      const expected = usual.get(tensor) ?? [];
      if (consumers.length === expected.length && consumers.every((each, i) => each === expected[i])) return [];
      return [[tensor.id, ...consumers.map((each) => layout.operatorAt(each))]];
    }),
    copies: toColumns<CopyRow>(
      ["tensor", "accelerator", "buffer"],
      tensors.flatMap(({ id, copies }) =>
        copies.map(({ accelerator, buffer }) => ({ tensor: id, accelerator, buffer: buffers.get(buffer) as number })),
      ),
    ),
  };
}

/** In the order in which consumers are usually noted: instance by instance, each in the order of its template. */
export function* pendingInOrder(state: GraphState, instances: Iterable<InstanceNode>): IterableIterator<OperatorNode> {
  for (const { template, operators } of instances) {
    for (const index of template.order) {
      const operator = operators[index] as OperatorNode;
      if (isPending(state, operator)) yield operator;
    }
  }
}

const TRANSFER_FIELDS = [
  "number",
  "tensor",
  "source",
  "destination",
  "rank",
  "state",
  "intendedNs",
  "sendingNs",
  "waiting",
] as const;

function transferRows({ state, layout }: Saving): TransferRow[] {
  return Array.from(state.transfers.values(), (transfer) => ({
    number: transfer.number,
    tensor: transfer.tensor.id,
    source: transfer.source,
    destination: transfer.destination,
    rank: transfer.rank,
    state: TRANSFER_LETTERS[transfer.state],
    intendedNs: transfer.intendedNs,
    sendingNs: transfer.sendingNs,
    waiting: transfer.waiting.map((operator) => layout.operatorAt(operator)),
  }));
}
