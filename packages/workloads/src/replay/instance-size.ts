/** How many accelerators one model instance takes, and whether a policy's instances fit the cluster at all. */
import type { ClusterSpec } from "@slicescheduler/gmg";
import { InvalidOptionError, ModelDoesNotFitError } from "../errors.ts";
import { llama3_8b } from "../llama/shape.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";
import { assertModelFits, largestRequestBytes } from "./fit.ts";
import { assertPolicyLinked } from "./links.ts";
import { layersPerOperatorOf, type PassSpecs, partitionNames, passSpecs, templatesOf } from "./passes.ts";
import { type PolicyTerms, type ReplayPolicy, replayPolicy } from "./policy.ts";

/** The sizes there can be: the model has four operators of eight layers. */
export const instanceSizes: readonly number[] = [1, 2, 4];

export interface OfferedRequests {
  readonly online: Workload;
  readonly offline: readonly WorkloadRequest[];
}

/**
 * Throws MODEL_DOES_NOT_FIT when an accelerator cannot hold the weights that the policy lays on it and the largest request.
 * @param specs of the policy on the cluster.
 */
export function assertPolicyFits(
  cluster: ClusterSpec,
  policy: ReplayPolicy,
  { online, offline }: OfferedRequests,
  specs: readonly PassSpecs[] = passSpecs(cluster, policy),
): void {
  const bytes = specs.map(({ layersPerOperator, prefill }) => {
    const uses = (group: ReplayPolicy["offline"]) => group !== null && layersPerOperatorOf(group) === layersPerOperator;
    const requests = [...(uses(policy.online) ? online.tenants.flat() : []), ...(uses(policy.offline) ? offline : [])];
    const fewest = Math.min(...prefill.partitions.map((partition) => new Set(partition.layout).size));
    return largestRequestBytes(llama3_8b, layersPerOperator, prefill.operators.length / fewest, requests);
  });
  const demand = { model: llama3_8b.name, requestBytes: Math.max(...bytes) };
  assertModelFits(cluster, specs.flatMap(templatesOf), demand);
}

/**
 * Looks at all that a policy needs of the cluster, before anything runs.
 * Errors: UNKNOWN_POLICY, INVALID_OPTION, MODEL_DOES_NOT_FIT, LINKS_MISSING.
 */
export function assertPolicyRuns(
  cluster: ClusterSpec,
  name: string,
  instanceAccelerators: number,
  offered: OfferedRequests,
): void {
  const policy = replayPolicy(name, termsOf(cluster, offered, instanceAccelerators));
  assertPolicyFits(cluster, policy, offered);
  assertPolicyLinked(cluster, policy);
}

function termsOf(cluster: ClusterSpec, { online }: OfferedRequests, instanceAccelerators: number): PolicyTerms {
  return { partitions: partitionNames(cluster), tenants: online.tenants.length, instanceAccelerators };
}

/**
 * The fewest accelerators per instance under which every named policy fits the cluster, weights and largest request.
 * Errors: MODEL_DOES_NOT_FIT, with the numbers of the largest instance tried; UNKNOWN_POLICY, INVALID_OPTION.
 */
export function fittingInstanceAccelerators(
  cluster: ClusterSpec,
  policies: readonly string[],
  offered: OfferedRequests,
): number {
  const sizes = instanceSizes.filter((size) => size <= cluster.accelerators.length);
  let last: ModelDoesNotFitError | undefined;
  for (const instanceAccelerators of sizes) {
    const terms = termsOf(cluster, offered, instanceAccelerators);
    try {
      for (const name of policies) assertPolicyFits(cluster, replayPolicy(name, terms), offered);
      return instanceAccelerators;
    } catch (error) {
      if (!(error instanceof ModelDoesNotFitError)) throw error;
      last = error;
    }
  }
  if (last === undefined) throw new InvalidOptionError("cluster", "one without accelerators", "one with some");
  const most = sizes.at(-1) ?? 1;
  const advice = "take accelerators with more HBM, or more of them, or a workload with shorter requests";
  throw new ModelDoesNotFitError(`${last.message}, with ${most} accelerator(s) per instance; ${advice}`, {
    cause: last,
  });
}
