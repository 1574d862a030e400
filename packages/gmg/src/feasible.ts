/** Whether a request could be placed, were the accelerators that are there empty but for baseline and weights. */
import type { Shortage } from "@slicescheduler/memory";
import { type AcceleratorIndex, partitionNamed, type Template } from "@slicescheduler/templates";
import { SubmissionError } from "./graph-errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { InstanceNode, RequestNode } from "./nodes.ts";
import { sharedPartitions } from "./partitions.ts";

/** Why a request can be laid on none of its partitions. */
type Obstacle =
  | { readonly kind: "memory"; readonly lack: Shortage }
  /** It would fit were accelerators of these names there; on one that is there, if any, memory is lacking. */
  | { readonly kind: "down"; readonly missing: readonly string[]; readonly lack: Shortage | null }
  | { readonly kind: "noPartition" };

/**
 * Throws NEVER_FITS with numbers, ACCELERATOR_UNAVAILABLE when it would fit were other accelerators there, or
 * UNKNOWN_PARTITION when its templates have none in common. What it holds, of an earlier place, stays.
 * @param further Counted as one of its instances, which it is not yet. Default: none.
 */
export function requireFeasible(state: GraphState, request: RequestNode, further: InstanceNode | null = null): void {
  if (further === null) {
    requireNoObstacle(state, request);
    return;
  }
  request.instances.add(further);
  try {
    requireNoObstacle(state, request);
  } finally {
    request.instances.delete(further);
  }
}

function requireNoObstacle(state: GraphState, request: RequestNode): void {
  const obstacle = obstacleTo(state, request, request.usedBytes);
  if (obstacle === null) return;
  const { id } = request;
  const where = `on ${partitionNames(request).join(", ") || "no partition"}`;
  if (obstacle.kind === "noPartition") {
    const reason = `request ${id} cannot be laid ${where}: its templates and restrictions share no partition`;
    throw new SubmissionError("UNKNOWN_PARTITION", reason, { request: id });
  }
  if (obstacle.kind === "down") throw unavailable(id, where, obstacle.missing);
  throw neverFits(state, `request ${id}`, where, obstacle.lack, { request: id });
}

/**
 * Takes an instance into a request that is placed already; without limits, its claim grows. Throws ACCELERATOR_UNAVAILABLE, NEVER_FITS or
 * CLAIM_TOO_LARGE_NOW, changing nothing.
 */
export function joinPlaced(state: GraphState, instance: InstanceNode, partitionName: string): void {
  requireThere(state, instance, partitionName);
  requireRoom(state, instance);
  if (instance.request.limits === null) growClaim(state, instance);
}

/** Of an instance whose request is placed already. Throws NEVER_FITS. */
function requireRoom(state: GraphState, instance: InstanceNode): void {
  const lack = state.claims.lackWhenAlone(instance);
  if (lack === null) return;
  const where = `on ${instance.request.partition}, where its request lies`;
  throw neverFits(state, `instance ${instance.id}`, where, lack, { instance: instance.id });
}

/** Of a request without limits that is placed already. Throws CLAIM_TOO_LARGE_NOW. */
function growClaim({ claims, cluster }: GraphState, instance: InstanceNode): void {
  const lack = claims.growFor(instance);
  if (lack === null) return;
  const { id } = instance.request;
  throw new SubmissionError(
    "CLAIM_TOO_LARGE_NOW",
    `request ${id} declared no limits and is already running, and another ${lack.neededBytes} bytes on accelerator ` +
      `${JSON.stringify(cluster.accelerators[lack.accelerator]?.name)} cannot be guaranteed (${lack.availableBytes} available); open the request ` +
      "with limits, or submit all of its instances before the first one starts",
    { request: id, ...lack },
  );
}

function neverFits(
  state: GraphState,
  who: string,
  where: string,
  lack: Shortage,
  ids: Readonly<Record<string, number>>,
): SubmissionError {
  const { name } = state.cluster.accelerators[lack.accelerator] ?? { name: "?" };
  return new SubmissionError(
    "NEVER_FITS",
    `${who} can never be laid ${where}: it may need ${lack.neededBytes} bytes on accelerator ${JSON.stringify(name)}, ` +
      `which has ${lack.availableBytes} beside its weights; split it, or allow a wider partition`,
    { ...ids, ...lack },
  );
}

/** Of an instance whose request is placed already. Throws ACCELERATOR_UNAVAILABLE when part of the partition is not there. */
function requireThere(state: GraphState, { template, request }: InstanceNode, partitionName: string): void {
  if (request.relocating) return;
  const accelerators = partitionNamed(template, partitionName)?.used ?? [];
  const missing = accelerators.filter((accelerator) => state.availability[accelerator] === "down");
  if (missing.length > 0) throw unavailable(request.id, `on ${partitionName}`, namesOf(state, missing));
}

/**
 * What keeps an unplaced request from all of its partitions, or null when one of them, all there, could hold it.
 * @param otherBytes taken by something that stays, per accelerator. Default: nothing.
 */
export function obstacleTo(state: GraphState, request: RequestNode, otherBytes?: Float64Array): Obstacle | null {
  let lackThere: Shortage | null = null;
  const missing = new Set<string>();
  for (const name of partitionNames(request)) {
    const claim = state.claims.claimOn(request, name, otherBytes);
    if (claim === undefined) continue;
    const lack = state.claims.lackWhenEmpty(claim, otherBytes);
    const absent = lack === null ? missingFrom(state, request, name) : [];
    if (lack === null && absent.length === 0) return null;
    if (lack !== null) lackThere = lack;
    for (const accelerator of absent) missing.add(accelerator);
  }
  if (missing.size > 0) return { kind: "down", missing: [...missing], lack: lackThere };
  return lackThere === null ? { kind: "noPartition" } : { kind: "memory", lack: lackThere };
}

function partitionNames(request: RequestNode): readonly string[] {
  for (const { state } of request.instances) if (state === "live") return sharedPartitions(request);
  const names = request.limits?.[0]?.template.partitions.map((partition) => partition.name) ?? [];
  return request.allowedPartitions ?? names;
}

/** Names of accelerators that a partition of this name needs for the request and that cannot be placed on. */
export function missingFrom(state: GraphState, request: RequestNode, name: string): string[] {
  const missing = new Set<AcceleratorIndex>();
  for (const template of templatesOf(request)) {
    for (const accelerator of partitionNamed(template, name)?.used ?? []) {
      if (state.availability[accelerator] !== "up") missing.add(accelerator);
    }
  }
  return namesOf(state, [...missing]);
}

/** Whether a partition of this name would use an accelerator that is avoided for now. O(1) while there is none. */
export function usesAvoided(state: GraphState, request: RequestNode, name: string): boolean {
  if (state.avoided.size === 0) return false;
  for (const template of templatesOf(request)) {
    if (partitionNamed(template, name)?.used.some((accelerator) => state.avoided.has(accelerator)) === true)
      return true;
  }
  return false;
}

/** Of what it runs, and of what it declared that it may submit. */
function templatesOf(request: RequestNode): Set<Template> {
  const templates = new Set((request.limits ?? []).map(({ template }) => template));
  for (const { state, template } of request.instances) if (state === "live") templates.add(template);
  return templates;
}

function namesOf(state: GraphState, accelerators: readonly AcceleratorIndex[]): string[] {
  return accelerators.map((accelerator) => state.cluster.accelerators[accelerator]?.name ?? "?");
}

function unavailable(request: number, where: string, missing: readonly string[]): SubmissionError {
  return new SubmissionError(
    "ACCELERATOR_UNAVAILABLE",
    `request ${request} cannot be laid ${where} now: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} lost, absent or ` +
      "being drained; submit it again when they are there, or allow another partition",
    { request, missing },
  );
}
