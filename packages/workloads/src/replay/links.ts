/** Whether the accelerators that a policy lays one model instance over can exchange what its passes hand on. */
import { type ClusterSpec, compileCluster, type PartitionSpec } from "@slicescheduler/gmg";
import { LinksMissingError } from "../errors.ts";
import { type PassSpecs, passSpecs } from "./passes.ts";
import type { ReplayPolicy } from "./policy.ts";

/**
 * Throws LINKS_MISSING, with the accelerators that a link has to join.
 * @param specs of the policy on the cluster.
 */
export function assertPolicyLinked(
  cluster: ClusterSpec,
  policy: ReplayPolicy,
  specs: readonly PassSpecs[] = passSpecs(cluster, policy),
): void {
  const compiled = compileCluster(cluster);
  const indexOf = new Map(cluster.accelerators.map(({ name }, index) => [name, index]));
  const isJoined = (from: string, to: string): boolean =>
    compiled.route(indexOf.get(from) ?? -1, indexOf.get(to) ?? -1) !== undefined;
  const pairs = specs.flatMap(({ prefill }) => prefill.partitions.flatMap(handovers));
  const missing = pairs.filter(([from, to]) => !isJoined(from, to));
  if (missing.length > 0) throw new LinksMissingError(policy.name, missing);
}

/** From each stage to the next, and from the last to the first, which reads the token. */
function handovers({ accelerators, layout }: PartitionSpec): [string, string][] {
  const places = layout.map((position) => accelerators[position] ?? "");
  return places.map((place, stage): [string, string] => [places.at(stage - 1) ?? "", place]);
}
