/** Whether a request could ever be placed: on accelerators that hold nothing but baseline and weights. */
import type { Shortage } from "./grants.ts";
import { SubmissionError } from "./graph-errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { RequestNode } from "./nodes.ts";
import { sharedPartitions } from "./partitions.ts";

/** Throws NEVER_FITS with numbers, or UNKNOWN_PARTITION when its templates have none in common. */
export function requireFeasible(state: GraphState, request: RequestNode): void {
  const names = partitionNames(request);
  const lack = lackEverywhere(state, request);
  if (lack === null) return;
  const where = `on ${names.join(", ") || "no partition"}`;
  if (lack === "no partition") {
    throw new SubmissionError(
      "UNKNOWN_PARTITION",
      `request ${request.id} cannot be laid ${where}: its templates and restrictions share no partition`,
      { request: request.id },
    );
  }
  const { name } = state.cluster.accelerators[lack.accelerator] ?? { name: "?" };
  throw new SubmissionError(
    "NEVER_FITS",
    `request ${request.id} can never be laid ${where}: it may need ${lack.neededBytes} bytes on accelerator ${JSON.stringify(name)}, ` +
      `which has ${lack.availableBytes} beside its weights; split it, or allow a wider partition`,
    { request: request.id, ...lack },
  );
}

/**
 * What an unplaced request lacks on the last of its partitions, or null when one of them could hold it.
 * @param otherBytes taken by something that stays, per accelerator. Default: nothing.
 */
export function lackEverywhere(
  { claims }: GraphState,
  request: RequestNode,
  otherBytes?: Float64Array,
): Shortage | "no partition" | null {
  let lack: Shortage | "no partition" = "no partition";
  for (const name of partitionNames(request)) {
    const claim = claims.claimOn(request, name);
    if (claim === undefined) continue;
    const shortage = claims.lackWhenEmpty(claim, otherBytes);
    if (shortage === null) return null;
    lack = shortage;
  }
  return lack;
}

function partitionNames(request: RequestNode): readonly string[] {
  for (const { state } of request.instances) if (state === "live") return sharedPartitions(request);
  const names = request.limits?.[0]?.template.partitions.map((partition) => partition.name) ?? [];
  return request.allowedPartitions ?? names;
}
