import { type Cluster, roundUpBytes } from "./cluster.ts";
import type { CompiledPartition } from "./template.ts";
import type { Wiring } from "./template-wiring.ts";
import type { AcceleratorIndex, PartitionSpec, TemplateSpec } from "./types.ts";
import { at, describe, type Faults } from "./validation.ts";

/** Checks every partition against the cluster, and that equal weights have equal sizes. Linear per partition. */
export function compilePartitions(
  faults: Faults,
  spec: TemplateSpec,
  cluster: Cluster,
  wiring: Wiring,
): CompiledPartition[] {
  checkWeightSizes(faults, spec);
  const taken = new Map<string, number>();
  return spec.partitions.flatMap((partition, index) => {
    const path = `partitions[${index}]`;
    const before = taken.get(partition.name);
    if (before === undefined) taken.set(partition.name, index);
    else if (partition.name !== "") {
      faults.add(`${path}.name`, `${describe(partition.name)} is taken by partitions[${before}]`);
    }
    const accelerators = findAccelerators(faults, partition, cluster, path);
    const acceleratorOf = layOut(faults, partition, accelerators, spec.operators.length, path);
    if (acceleratorOf === null) return [];
    checkRoutes(faults, spec, cluster, wiring, acceleratorOf, `${path}.layout`);
    const weights = gatherWeights(spec, acceleratorOf);
    checkWeightsFit(faults, cluster, weights, path);
    const used = [...new Set(acceleratorOf)];
    return [{ name: partition.name, index, accelerators, used, acceleratorOf, weights }];
  });
}

function checkWeightSizes(faults: Faults, spec: TemplateSpec): void {
  const first = new Map<string, { bytes: number; path: string }>();
  spec.operators.forEach(({ weights }, i) => {
    if (weights === undefined) return;
    for (const [name, bytes] of Object.entries(weights)) {
      const path = at(`operators[${i}].weights`, name);
      const before = first.get(name);
      if (before === undefined) first.set(name, { bytes, path });
      else if (before.bytes !== bytes) {
        faults.add(
          path,
          `has ${bytes} bytes, but ${before.bytes} bytes at ${before.path}; equal names mean equal weights`,
        );
      }
    }
  });
}

/** −1 for those the cluster does not have. */
function findAccelerators(
  faults: Faults,
  partition: PartitionSpec,
  cluster: Cluster,
  path: string,
): AcceleratorIndex[] {
  const indices = new Map(cluster.accelerators.map(({ name, index }) => [name, index]));
  const seen = new Set<string>();
  return partition.accelerators.map((name, i) => {
    const index = indices.get(name);
    const entryPath = `${path}.accelerators[${i}]`;
    if (index === undefined && name !== "") {
      const similar = faults.suggest(name, indices);
      faults.add(entryPath, `the cluster has no accelerator ${describe(name)}${similar}`);
    }
    if (seen.has(name)) faults.add(entryPath, `${describe(name)} stands in the partition twice`);
    seen.add(name);
    return index ?? -1;
  });
}

/** The accelerator of each operator; null where the layout is not sound enough to be checked further. */
function layOut(
  faults: Faults,
  { layout }: PartitionSpec,
  accelerators: readonly AcceleratorIndex[],
  operators: number,
  path: string,
): AcceleratorIndex[] | null {
  if (layout.length !== operators) {
    faults.add(`${path}.layout`, `has ${layout.length} positions for ${operators} operators`);
  }
  let sound = layout.length === operators && !accelerators.includes(-1);
  const acceleratorOf = layout.map((position, i) => {
    const accelerator = accelerators[position];
    if (accelerator !== undefined) return accelerator;
    faults.add(`${path}.layout[${i}]`, `is ${position}, the partition has ${accelerators.length} accelerators, from 0`);
    sound = false;
    return -1;
  });
  return sound ? acceleratorOf : null;
}

/** Each pair of accelerators is looked at once, with the first operators that need it. */
function checkRoutes(
  faults: Faults,
  spec: TemplateSpec,
  cluster: Cluster,
  wiring: Wiring,
  acceleratorOf: readonly AcceleratorIndex[],
  path: string,
): void {
  const looked = new Set<number>();
  wiring.predecessors.forEach((predecessors, consumer) => {
    const destination = acceleratorOf[consumer] ?? -1;
    for (const producer of predecessors) {
      const source = acceleratorOf[producer] ?? -1;
      const pair = source * cluster.accelerators.length + destination;
      if (looked.has(pair)) continue;
      looked.add(pair);
      if (cluster.route(source, destination) !== undefined) continue;
      const [from, to] = [cluster.accelerators[source], cluster.accelerators[destination]];
      faults.add(
        path,
        `operator ${describe(spec.operators[consumer]?.name)} on ${describe(to?.name)} reads from ${describe(spec.operators[producer]?.name)} on ${describe(from?.name)}, and no link connects them; declare one, or a defaultLink`,
      );
    }
  });
}

function gatherWeights(spec: TemplateSpec, acceleratorOf: readonly AcceleratorIndex[]): CompiledPartition["weights"] {
  const byAccelerator = new Map<AcceleratorIndex, Map<string, number>>();
  spec.operators.forEach(({ weights }, operator) => {
    if (weights === undefined) return;
    const accelerator = acceleratorOf[operator] ?? -1;
    for (const [name, bytes] of Object.entries(weights)) {
      const there = byAccelerator.get(accelerator) ?? new Map<string, number>();
      byAccelerator.set(accelerator, there.set(name, bytes));
    }
  });
  return [...byAccelerator]
    .sort(([a], [b]) => a - b)
    .flatMap(([accelerator, there]) => Array.from(there, ([name, bytes]) => ({ accelerator, name, bytes })));
}

function checkWeightsFit(faults: Faults, cluster: Cluster, weights: CompiledPartition["weights"], path: string): void {
  const weightBytes = new Map<AcceleratorIndex, number>();
  for (const { accelerator, bytes } of weights) {
    const granularityBytes = cluster.accelerators[accelerator]?.granularityBytes ?? 1;
    weightBytes.set(accelerator, (weightBytes.get(accelerator) ?? 0) + roundUpBytes(bytes, granularityBytes));
  }
  for (const [index, bytes] of weightBytes) {
    const accelerator = cluster.accelerators[index];
    if (accelerator === undefined) continue;
    const { name, capacityBytes, baselineBytes } = accelerator;
    const overBytes = bytes + baselineBytes - capacityBytes;
    if (overBytes <= 0) continue;
    faults.add(
      path,
      `the weights laid on ${describe(name)} take ${bytes} bytes and its baseline ${baselineBytes} bytes, its capacity is ${capacityBytes} bytes: ${overBytes} bytes over; spread the template over more accelerators`,
    );
  }
}
