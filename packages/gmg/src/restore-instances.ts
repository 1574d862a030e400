/** Instances with their operators and tensors, all new, linked to what they were bound to. */
import { newInstance } from "./build.ts";
import type { GraphState } from "./graph-state.ts";
import type { InstanceNode, RequestNode, TensorNode } from "./nodes.ts";
import { contradicts } from "./restore-read.ts";
import type { RestoredOrigin } from "./restore-requests.ts";
import type { GraphSnapshot } from "./snapshot.ts";
import { tensorsOf } from "./snapshot-layout.ts";
import { INSTANCE_LETTERS } from "./snapshot-letters.ts";
import type { ByteVectorReader } from "./snapshot-tables.ts";

export interface InstanceSources {
  readonly requests: readonly RequestNode[];
  readonly origins: readonly RestoredOrigin[];
  readonly vectors: ByteVectorReader;
}

interface SavedUrgency {
  readonly rank: number;
  /** Null for none. */
  readonly deadlineNs: number | null;
  readonly order: number;
}

export interface RestoredInstances {
  /** By position, those that have left the graph at the end. */
  readonly instances: readonly InstanceNode[];
  /** All that they ever have, by number. */
  readonly tensors: ReadonlyMap<number, TensorNode>;
}

export function restoreInstances(
  state: GraphState,
  snapshot: GraphSnapshot,
  sources: InstanceSources,
): RestoredInstances {
  const { origin, firstTensor } = snapshot.instances;
  requireOperators(snapshot, sources);
  const urgencies = new Map(
    snapshot.urgencies.map(([at, rank, deadlineNs, order]) => [at, { rank, deadlineNs, order }]),
  );
  const tensors = new Map<number, TensorNode>();
  const instances = origin.map((at, i) => {
    const instance = restoreInstance(state, snapshot, sources, i, {
      ...(sources.origins[at] as RestoredOrigin),
      urgency: urgencies.get(i),
    });
    for (const tensor of tensorsOf(instance)) {
      if (tensor.id >= state.nextTensor || tensors.has(tensor.id)) {
        contradicts(
          `instances.firstTensor[${i}]`,
          `${firstTensor[i]}: tensor ${tensor.id} stands twice, or was not given yet`,
        );
      }
      tensors.set(tensor.id, tensor);
    }
    return instance;
  });
  for (const [i, instance] of instances.entries()) {
    bindInputs(instance, snapshot.instances.inputs[i] ?? [], tensors, `instances.inputs[${i}]`);
  }
  return { instances, tensors };
}

/** Before any operator takes memory: as many as the snapshot speaks of. */
function requireOperators({ instances, operators }: GraphSnapshot, { origins }: InstanceSources): void {
  let count = 0;
  for (const at of instances.origin) count += origins[at]?.origin.template.operators.length ?? 0;
  if (count === operators.states.length) return;
  contradicts("operators.states", `has ${operators.states.length} operators, and the instances have ${count}`);
}

function restoreInstance(
  state: GraphState,
  { instances, partitionLists, departed }: GraphSnapshot,
  { requests, vectors }: InstanceSources,
  i: number,
  { origin, binding, urgency }: RestoredOrigin & { urgency: SavedUrgency | undefined },
): InstanceNode {
  const { template } = origin;
  const request = requests[instances.request[i] as number] as RequestNode;
  const instance = newInstance({
    request,
    origin,
    binding,
    inputs: template.slots.map(() => null),
    allowedPartitions: [...(partitionLists[instances.allowedPartitions[i] as number] ?? [])],
    insertedNs: instances.insertedNs[i] as number,
    rank: urgency?.rank ?? request.rank,
    deadlineNs: urgency === undefined ? request.deadlineNs : (urgency.deadlineNs ?? Number.POSITIVE_INFINITY),
    order: urgency?.order ?? 0,
    firstTensor: instances.firstTensor[i] as number,
  });
  Object.assign(instance, INSTANCE_LETTERS[instances.state[i] as keyof typeof INSTANCE_LETTERS]);
  instance.failure = instances.failure[i] ?? null;
  instance.doneNs = instances.doneNs[i] as number;
  const partition = instances.partition[i] as number;
  instance.partition = partition < 0 ? null : (template.partitions[partition] ?? null);
  const need = instances.need[i] as number;
  const needWorkspace = instances.needWorkspace[i] as number;
  if (need >= 0 && needWorkspace >= 0) {
    instance.need = { bytes: vectors.at(need), workspaceBytes: vectors.at(needWorkspace) };
  }
  instance.needBytes = vectors.orNull(instances.granted[i] as number);
  instance.claimedBytes = vectors.orNull(instances.claimed[i] as number);
  if (i >= instances.origin.length - departed) return instance;
  if (origin.node !== null) contradicts(`instances.origin[${i}]`, `instance ${origin.id} stands twice`);
  origin.node = instance;
  state.instances.set(instance.id, instance);
  request.instances.add(instance);
  if (instance.needBytes !== null) request.begunInstances += 1;
  return instance;
}

function bindInputs(
  instance: InstanceNode,
  ids: readonly number[],
  tensors: ReadonlyMap<number, TensorNode>,
  path: string,
): void {
  const { inputSlots } = instance.template;
  if (ids.length !== 0 && ids.length !== inputSlots) {
    contradicts(path, `has ${ids.length} entries, the template has ${inputSlots} input slots`);
  }
  instance.inputs = ids.map((id, slot) => {
    const tensor = tensors.get(id) ?? null;
    if (tensor === null ? id >= 0 : !isBoundTo(instance, slot, tensor)) {
      contradicts(
        path,
        `tensor ${id} is not there, or is not what slot ${slot} of instance ${instance.id} was bound to`,
      );
    }
    return tensor;
  });
}

function isBoundTo({ origin, binding, request }: InstanceNode, slot: number, tensor: TensorNode): boolean {
  const { producer, bytes, output } = tensor;
  if (producer.instance.request !== request || bytes !== binding.inputBytes(slot)) return false;
  if (origin.inputs === null) return true;
  const made = origin.inputs[slot] ?? null;
  return made?.origin === producer.instance.origin && made.operator === producer.index && made.output === output;
}
