/**
 * Upper bounds on the bytes that an instance can hold at once on each accelerator, whatever the order and timing: every
 * output it produces there, every copy it receives there, each at its rounded size; an output that continues a tensor on the
 * same accelerator counts what it adds. Workspace is bounded apart, because only one operator runs at a time.
 */
import type { Binding } from "./binding.ts";
import { addInto, maxInto } from "./byte-vectors.ts";
import type { Cluster } from "./cluster.ts";
import type { InstanceNode, TensorNode } from "./nodes.ts";
import type { CompiledOperator, CompiledPartition, OperatorInput, Template } from "./template.ts";
import type { AcceleratorIndex } from "./types.ts";

export interface MemoryNeed {
  /** Per accelerator of the cluster. */
  readonly bytes: Float64Array;
  readonly workspaceBytes: Float64Array;
}

/** Where an external input is before the instance runs, and its size; null when it is not bound. */
type ExternalInput = { readonly accelerator: AcceleratorIndex; readonly bytes: number } | null;

/** What an instance adds on a partition, given where its inputs are or will be. Linear in its references. */
export function instanceNeed(instance: InstanceNode, partition: CompiledPartition, cluster: Cluster): MemoryNeed {
  const inputs = instance.inputs.map((tensor) =>
    tensor === null ? null : { accelerator: homeOf(tensor, partition.name), bytes: tensor.bytes },
  );
  return needOf(instance.binding, partition, cluster, inputs);
}

/**
 * What a request may hold on a partition, from its largest instances: the largest of them with its inputs, and
 * `concurrentInstances − 1` further ones that continue earlier results. Templates that a partition lays differently share
 * no buffer, so their parts add up.
 */
export function limitsNeed(
  limits: readonly Binding[],
  partitionName: string,
  concurrentInstances: number,
  cluster: Cluster,
): MemoryNeed | undefined {
  const count = cluster.accelerators.length;
  const layouts = new Map<string, Float64Array>();
  const steps = new Float64Array(count);
  const lingering = new Float64Array(count);
  const workspaceBytes = new Float64Array(count);
  for (const binding of limits) {
    const partition = partitionNamed(binding.template, partitionName);
    if (partition === undefined) return undefined;
    const arriving = needOf(binding, partition, cluster, freshInputs(binding));
    addInputsEverywhere(arriving.bytes, binding, partition, cluster);
    const key = partition.acceleratorOf.join();
    raise(layouts, key, arriving.bytes);
    maxInto(workspaceBytes, arriving.workspaceBytes);
    maxInto(lingering, copiesOfOutputs(binding, partition, cluster));
    if (binding.template.inputSlots > 0) {
      const step = needOf(binding, partition, cluster, localInputs(binding, partition)).bytes;
      addInputsEverywhere(step, binding, partition, cluster);
      maxInto(steps, step);
    }
  }
  const bytes = new Float64Array(count);
  for (const part of layouts.values()) addInto(bytes, part);
  for (let a = 0; a < count; a++) {
    const further = (concurrentInstances - 1) * (steps[a] as number) + concurrentInstances * (lingering[a] as number);
    bytes[a] = (bytes[a] as number) + further;
  }
  return { bytes, workspaceBytes };
}

/** The accelerator of a tensor's first copy, as it is or as the partition will have it; −1 when it cannot be told. */
export function homeOf(tensor: TensorNode, partitionName: string): AcceleratorIndex {
  const { producer } = tensor;
  if (producer.accelerator >= 0) return producer.accelerator;
  const partition = producer.instance.partition ?? partitionNamed(producer.instance.template, partitionName);
  return partition?.acceleratorOf[producer.index] ?? -1;
}

export function partitionNamed(template: Template, name: string): CompiledPartition | undefined {
  return template.partitions.find((partition) => partition.name === name);
}

function needOf(
  binding: Binding,
  partition: CompiledPartition,
  cluster: Cluster,
  external: readonly ExternalInput[],
): MemoryNeed {
  const { template } = binding;
  const bytes = new Float64Array(cluster.accelerators.length);
  const workspaceBytes = new Float64Array(cluster.accelerators.length);
  const copied = new Set<string>();
  /** Per operator and output: rounded bytes of the buffer it lives in; one that continues a larger tensor adds nothing. */
  const buffers: number[][] = [];
  for (const index of template.order) {
    const operator = template.operators[index] as CompiledOperator;
    const at = partition.acceleratorOf[index] as AcceleratorIndex;
    const isHere = ({ slot, operator: producer }: OperatorInput) =>
      (slot >= 0 ? external[slot]?.accelerator : partition.acceleratorOf[producer]) === at;
    for (const input of operator.inputs) {
      const source = input.slot >= 0 ? (external[input.slot] ?? null) : input;
      if (source === null || isHere(input)) continue;
      const key = `${input.slot},${input.operator},${input.output},${at}`;
      if (copied.has(key)) continue;
      copied.add(key);
      bytes[at] = (bytes[at] as number) + cluster.roundBytes(at, inputBytes(binding, input));
    }
    buffers[index] = operator.outputs.map((output, o) => {
      const continued = output.aliases < 0 ? undefined : operator.inputs[output.aliases];
      const isFresh = continued === undefined || (continued.slot >= 0 && (external[continued.slot] ?? null) === null);
      const before = isFresh ? 0 : bufferBefore(binding, cluster, at, continued, isHere(continued), buffers);
      const own = cluster.roundBytes(at, binding.outputBytes(index, o));
      bytes[at] = (bytes[at] as number) + Math.max(0, own - before);
      return Math.max(own, before);
    });
    const workspace = cluster.roundBytes(at, binding.workspaceBytes(index));
    workspaceBytes[at] = Math.max(workspaceBytes[at] as number, workspace);
  }
  return { bytes, workspaceBytes };
}

function inputBytes(binding: Binding, { slot, operator, output }: OperatorInput): number {
  return slot >= 0 ? binding.inputBytes(slot) : binding.outputBytes(operator, output);
}

/** What the continued tensor takes already: of its buffer where that is known, of its copy where it was received. */
function bufferBefore(
  binding: Binding,
  cluster: Cluster,
  at: AcceleratorIndex,
  input: OperatorInput,
  isHere: boolean,
  buffers: readonly (readonly number[])[],
): number {
  if (input.slot < 0 && isHere) return buffers[input.operator]?.[input.output] ?? 0;
  return cluster.roundBytes(at, inputBytes(binding, input));
}

/** Inputs that come from elsewhere: each is counted as a copy where it is read. */
function freshInputs(binding: Binding): ExternalInput[] {
  return Array.from({ length: binding.template.inputSlots }, (_, slot) => ({
    accelerator: -1,
    bytes: binding.inputBytes(slot),
  }));
}

/** Inputs that are already where their reader runs. */
function localInputs(binding: Binding, partition: CompiledPartition): ExternalInput[] {
  const inputs = freshInputs(binding);
  for (const operator of binding.template.operators) {
    for (const { slot } of operator.inputs) {
      if (slot < 0) continue;
      const accelerator = partition.acceleratorOf[operator.index] as AcceleratorIndex;
      inputs[slot] = { accelerator, bytes: binding.inputBytes(slot) };
    }
  }
  return inputs;
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
