/**
 * What instances need and requests claim, in bytes per accelerator, whatever the order and timing: the chain cover of each
 * template on each partition (docs/chain-cover.md), given where an instance's inputs are.
 */
import {
  type AcceleratorIndex,
  type Binding,
  type Cluster,
  type CompiledPartition,
  partitionNamed,
  type Template,
} from "@slicescheduler/templates";
import { maxInto } from "./byte-vectors.ts";
import { type InstanceBound, InstanceBounds } from "./cover-bound.ts";
import type { Moment } from "./cover-order.ts";

/** Per accelerator of the cluster: bytes that add up over instances, and bytes of which the largest counts beside them. */
export interface MemoryNeed {
  readonly bytes: Float64Array;
  readonly workspaceBytes: Float64Array;
}

/** A template with its sizes, and what it reads. */
export interface BoundInstance {
  readonly template: Template;
  readonly binding: Binding;
  /** One per input slot of the template; null where nothing is bound. */
  readonly inputs: readonly (BoundInput | null)[];
}

/** A result of an operator of another instance. */
export interface BoundInput {
  readonly producer: {
    /** Position in its template. */
    readonly index: number;
    /** Where it was made or will be; −1 when that is not decided. */
    readonly accelerator: AcceleratorIndex;
    /** `partition`: where that lies; null when that is not decided. */
    readonly instance: { readonly template: Template; readonly partition: CompiledPartition | null };
  };
}

/** What an instance adds on a partition, given where its inputs are or will be. Linear in its references. */
export function instanceNeed(
  instance: BoundInstance,
  partition: CompiledPartition,
  cluster: Cluster,
  moment: Moment,
): MemoryNeed {
  const homes = instance.inputs.map((tensor) => (tensor === null ? null : homeOf(tensor, partition.name)));
  return needAt(boundOn(instance.template, partition, cluster), instance.binding, homes, moment);
}

function needAt(
  bound: InstanceBound,
  binding: Binding,
  homes: readonly (AcceleratorIndex | null)[],
  moment: Moment,
): MemoryNeed {
  return moment === "rest" ? bound.restNeed(binding, { homes }) : bound.need(binding, { homes });
}

const boundsOfTemplates = new WeakMap<Template, InstanceBounds>();

/** Covers are found once per template and layout. */
function boundOn(template: Template, partition: CompiledPartition, cluster: Cluster): InstanceBound {
  let bounds = boundsOfTemplates.get(template);
  if (bounds === undefined) {
    bounds = new InstanceBounds(template, cluster);
    boundsOfTemplates.set(template, bounds);
  }
  return bounds.on(partition);
}

/**
 * What a request may hold on a partition, from its largest instances: the largest of them with its inputs, and
 * `concurrentInstances − 1` further ones that continue earlier results. Templates that a partition lays differently share
 * no buffer, so their parts add up.
 */
export function limitsNeed(
  limits: readonly Binding[],
  partitionName: string,
  { concurrentInstances, chains }: { readonly concurrentInstances: number; readonly chains: number },
  cluster: Cluster,
  moment: Moment,
): MemoryNeed | undefined {
  const count = cluster.accelerators.length;
  const layouts = new Map<string, Float64Array>();
  const steps = new Float64Array(count);
  const lingering = new Float64Array(count);
  const workspaceBytes = new Float64Array(count);
  for (const binding of limits) {
    const partition = partitionNamed(binding.template, partitionName);
    if (partition === undefined) return undefined;
    const bound = boundOn(binding.template, partition, cluster);
    const arriving = needAt(
      bound,
      binding,
      binding.template.slots.map(() => -1),
      moment,
    );
    addInputsEverywhere(arriving.bytes, binding, partition, cluster);
    const key = partition.acceleratorOf.join();
    raise(layouts, key, arriving.bytes);
    maxInto(workspaceBytes, arriving.workspaceBytes);
    // What is bound to a slot may be kept and then stays; where nothing is bound, all of it may go with the end of an operator.
    const fresh = needAt(
      bound,
      binding,
      binding.template.slots.map(() => null),
      moment,
    );
    maxInto(workspaceBytes, fresh.workspaceBytes);
    maxInto(lingering, copiesOfOutputs(binding, partition, cluster));
    if (binding.template.inputSlots > 0) {
      const step = needAt(bound, binding, homesOfReaders(binding.template, partition), moment).bytes;
      addInputsEverywhere(step, binding, partition, cluster);
      maxInto(steps, step);
    }
  }
  const bytes = new Float64Array(count);
  for (const part of layouts.values())
    for (let a = 0; a < count; a++) bytes[a] = (bytes[a] as number) + chains * (part[a] as number);
  const instances = Math.max(chains, concurrentInstances);
  for (let a = 0; a < count; a++) {
    const further = (instances - chains) * (steps[a] as number) + instances * (lingering[a] as number);
    bytes[a] = (bytes[a] as number) + further;
  }
  return { bytes, workspaceBytes };
}

/** The accelerator of a tensor's first copy, as it is or as the partition will have it; −1 when it cannot be told. */
export function homeOf({ producer }: BoundInput, partitionName: string): AcceleratorIndex {
  if (producer.accelerator >= 0) return producer.accelerator;
  const partition = producer.instance.partition ?? partitionNamed(producer.instance.template, partitionName);
  return partition?.acceleratorOf[producer.index] ?? -1;
}

/** Per input slot the accelerator of an operator that reads it: where it is when it has been continued from step to step. */
function homesOfReaders(template: Template, partition: CompiledPartition): (AcceleratorIndex | null)[] {
  const homes: (AcceleratorIndex | null)[] = template.slots.map(() => -1);
  for (const { index, inputs } of template.operators) {
    for (const { slot } of inputs) if (slot >= 0) homes[slot] = partition.acceleratorOf[index] as AcceleratorIndex;
  }
  return homes;
}

/** Copies of named outputs that its own operators received: they stay as long as a later instance is to read the output. */
function copiesOfOutputs(binding: Binding, partition: CompiledPartition, cluster: Cluster): Float64Array {
  const bytes = new Float64Array(cluster.accelerators.length);
  const { template } = binding;
  const named = new Set(
    template.outputs.flatMap(({ refs }) => refs.map(({ operator, output }) => `${operator},${output}`)),
  );
  const counted = new Set<string>();
  for (const { index, inputs } of template.operators) {
    const at = partition.acceleratorOf[index] as AcceleratorIndex;
    for (const { slot, operator, output } of inputs) {
      if (slot >= 0 || partition.acceleratorOf[operator] === at || !named.has(`${operator},${output}`)) continue;
      const key = `${operator},${output},${at}`;
      if (counted.has(key)) continue;
      counted.add(key);
      bytes[at] = (bytes[at] as number) + cluster.roundBytes(at, binding.outputBytes(operator, output));
    }
  }
  return bytes;
}

/** Inputs that no output continues stay where they were produced until they are read: anywhere on the partition. */
function addInputsEverywhere(
  bytes: Float64Array,
  binding: Binding,
  partition: CompiledPartition,
  cluster: Cluster,
): void {
  const continued = new Set<number>();
  for (const operator of binding.template.operators) {
    for (const output of operator.outputs) {
      if (output.aliases >= 0) continued.add(operator.inputs[output.aliases]?.slot ?? -1);
    }
  }
  for (let slot = 0; slot < binding.template.inputSlots; slot++) {
    if (continued.has(slot)) continue;
    for (const at of partition.accelerators) {
      bytes[at] = (bytes[at] as number) + cluster.roundBytes(at, binding.inputBytes(slot));
    }
  }
}

function raise(layouts: Map<string, Float64Array>, key: string, bytes: Float64Array): void {
  const known = layouts.get(key);
  if (known === undefined) layouts.set(key, bytes.slice());
  else maxInto(known, bytes);
}
