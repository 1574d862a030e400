import type { ClusterSpec, PartitionSpec } from "@slicescheduler/gmg";
import { InvalidOptionError } from "../errors.ts";

const labels: ReadonlyMap<number, string> = new Map([
  [1, "single"],
  [2, "pair"],
  [4, "quad"],
  [8, "eight"],
]);

/**
 * Pipelines over consecutive accelerators: for each size, as many disjoint groups as the cluster has, named `pair0`,
 * `pair1`, … `quad0`, …; operators are spread evenly in order.
 * @param operators how many the template has, at least each size, a multiple of it not needed.
 * @param sizes accelerators per group, for example `[2, 4]`. Errors: INVALID_OPTION.
 */
export function pipelinePartitions(
  cluster: ClusterSpec,
  operators: number,
  sizes: readonly number[] = [2, 4],
): PartitionSpec[] {
  const names = cluster.accelerators.map((accelerator) => accelerator.name);
  return sizes.flatMap((size) => {
    const most = Math.min(names.length, operators);
    if (!Number.isInteger(size) || size < 1 || size > most) {
      const why = `a whole number from 1 to ${most} (${names.length} accelerators, ${operators} operators)`;
      throw new InvalidOptionError("partition size", size, why);
    }
    const layout = Array.from({ length: operators }, (_, i) => Math.floor((i * size) / operators));
    return Array.from({ length: Math.floor(names.length / size) }, (_, group) => ({
      name: `${labels.get(size) ?? `group${size}-`}${group}`,
      accelerators: names.slice(group * size, (group + 1) * size),
      layout,
    }));
  });
}

/**
 * Pipelines that take one accelerator of each consecutive group, where the cluster has a multiple of the operators: with four
 * operators on eight accelerators `spread0` is the first, third, fifth and seventh, `spread1` the others. Empty elsewhere.
 */
export function spreadPartitions(cluster: ClusterSpec, operators: number): PartitionSpec[] {
  const names = cluster.accelerators.map((accelerator) => accelerator.name);
  const stride = names.length / operators;
  if (!Number.isInteger(stride) || stride < 2) return [];
  return Array.from({ length: stride }, (_, offset) => ({
    name: `spread${offset}`,
    accelerators: names.filter((_name, index) => index % stride === offset),
    layout: Array.from({ length: operators }, (_operator, index) => index),
  }));
}
