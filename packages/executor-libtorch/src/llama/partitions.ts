import type { PartitionSpec } from "@slicescheduler/templates";
import { checkPartitioned } from "./check.ts";

/**
 * Pipelines over consecutive accelerators, with operators spread evenly in order: for each size as many disjoint ones as there are accelerators
 * for, named after them, such as `a0+a1`.
 * @param operators How many a pass has: the layers ÷ the layers per operator.
 * @param sizes Accelerators per pipeline, from 1 to the number of operators; those larger than that, or than there are accelerators, are left out.
 * Errors: INVALID_OPTION for what is no whole number from 1.
 */
export function llamaPartitions(
  accelerators: readonly string[],
  operators: number,
  sizes: readonly number[] = [1, 2, 4],
): PartitionSpec[] {
  checkPartitioned(accelerators, operators, sizes);
  const fitting = sizes.filter((size) => size <= Math.min(operators, accelerators.length));
  return fitting.flatMap((size) => {
    const layout = Array.from({ length: operators }, (_, i) => Math.floor((i * size) / operators));
    return Array.from({ length: Math.floor(accelerators.length / size) }, (_, group) => {
      const members = accelerators.slice(group * size, (group + 1) * size);
      return { name: members.join("+"), accelerators: members, layout };
    });
  });
}
