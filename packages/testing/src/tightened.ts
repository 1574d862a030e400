import {
  type Cluster,
  type ClusterSpec,
  compileCluster,
  compileTemplate,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/gmg";
import type { Workload, WorkloadInstance } from "./workloads.ts";

/**
 * The cluster with so little memory that its requests compete for it: each accelerator has baseline, margin, weights, and
 * of what its neediest request may come to hold there so many thousandths.
 */
export function tightened(
  spec: ClusterSpec,
  templates: readonly TemplateSpec[],
  workload: Workload,
  thousandths: number,
): ClusterSpec {
  const cluster = compileCluster({ ...spec, accelerators: spec.accelerators.map((it) => ({ ...it, hbmBytes: 1e12 })) });
  const compiled = new Map(templates.map((template) => [template.name, compileTemplate(template, cluster)]));
  const weights = weightBytes(cluster, compiled);
  const needs = neediest(cluster, compiled, workload);
  return {
    ...spec,
    accelerators: spec.accelerators.map((accelerator, a) => {
      const { marginBytes = 0, granularityBytes = 1 } = accelerator;
      const fixedBytes = (cluster.accelerators[a]?.baselineBytes ?? 0) + (weights[a] ?? 0);
      // An accelerator that nobody needs keeps one granule.
      const freeBytes = Math.max(granularityBytes, Math.floor((thousandths / 1000) * (needs[a] ?? 0)));
      return { ...accelerator, hbmBytes: fixedBytes + marginBytes + freeBytes };
    }),
  };
}

function weightBytes(cluster: Cluster, templates: ReadonlyMap<string, Template>): number[] {
  const weights = cluster.accelerators.map(() => new Map<string, number>());
  for (const { partitions } of templates.values()) {
    for (const partition of partitions) {
      for (const { accelerator, name, bytes } of partition.weights) weights[accelerator]?.set(name, bytes);
    }
  }
  return weights.map((named, a) => [...named.values()].reduce((sum, bytes) => sum + cluster.roundBytes(a, bytes), 0));
}

/** Per accelerator, the largest sum over a request's instances, on its least needy partition. */
function neediest(cluster: Cluster, templates: ReadonlyMap<string, Template>, workload: Workload): number[] {
  const requests = new Map<unknown, WorkloadInstance[]>();
  for (const [index, instance] of workload.instances.entries()) {
    const key = instance.request ?? `of instance ${rootOf(workload, index)}`;
    requests.set(key, [...(requests.get(key) ?? []), instance]);
  }
  const largest = cluster.accelerators.map(() => 0);
  for (const instances of requests.values()) {
    const onPartitions = (templates.get(instances[0]?.template ?? "")?.partitions ?? []).map(({ name }) =>
      needOn(cluster, templates, instances, name),
    );
    const total = (need: readonly number[]) => need.reduce((sum, bytes) => sum + bytes, 0);
    const [least] = onPartitions.sort((a, b) => total(a) - total(b));
    for (const [a, bytes] of (least ?? []).entries()) largest[a] = Math.max(largest[a] ?? 0, bytes);
  }
  return largest;
}

/** The first of the instances that it goes on from. */
function rootOf(workload: Workload, index: number): number {
  const [source] = Object.values(workload.instances[index]?.inputs ?? {});
  return source === undefined ? index : rootOf(workload, source.instance);
}

/** Everything that the instances produce, an output that continues an input by what it adds, and the largest workspace. */
function needOn(
  cluster: Cluster,
  templates: ReadonlyMap<string, Template>,
  instances: readonly WorkloadInstance[],
  partitionName: string,
): number[] {
  const bytes = cluster.accelerators.map(() => 0);
  const workspace = cluster.accelerators.map(() => 0);
  for (const { template: name, symbols } of instances) {
    const template = templates.get(name);
    const partition = template?.partitions.find((candidate) => candidate.name === partitionName);
    if (template === undefined || partition === undefined) continue;
    const binding = template.bind(symbols);
    for (const { index, outputs, inputs } of template.operators) {
      const a = partition.acceleratorOf[index] as number;
      for (const [o, { aliases }] of outputs.entries()) {
        const continued = aliases < 0 ? undefined : inputs[aliases];
        const before =
          continued === undefined
            ? 0
            : continued.slot < 0
              ? binding.outputBytes(continued.operator, continued.output)
              : binding.inputBytes(continued.slot);
        const added = Math.max(0, binding.outputBytes(index, o) - before);
        bytes[a] = (bytes[a] ?? 0) + cluster.roundBytes(a, added);
      }
      const own = cluster.roundBytes(a, binding.workspaceBytes(index));
      workspace[a] = Math.max(workspace[a] ?? 0, own);
    }
  }
  return bytes.map((sum, a) => sum + (workspace[a] ?? 0));
}
