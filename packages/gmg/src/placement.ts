/** Where an operator may be laid now. */
import { type AcceleratorIndex, partitionNamed } from "@slicescheduler/templates";
import { missingFrom, usesAvoided } from "./feasible.ts";
import { type GraphState, isInDoubt, type PlacementOption } from "./graph-state.ts";
import type { InstanceNode, OperatorNode } from "./nodes.ts";
import { sharedPartitions } from "./partitions.ts";
import { isBehindQuarantine } from "./quarantine.ts";

/** One that is to begin before, since the instance reads its results; null when there is none. */
export function mustFollow(instance: InstanceNode): InstanceNode | null {
  if (instance.partition !== null) return null;
  for (const tensor of instance.inputs) {
    const producer = tensor?.producer.instance;
    if (producer !== undefined && producer.state === "live" && producer.partition === null) return producer;
  }
  return null;
}

/** The partition of its request once that is placed, else those that have room, are there, and are not avoided. */
export function placementOptions(state: GraphState, operator: OperatorNode): PlacementOption[] {
  const { instance } = operator;
  const { request, template } = instance;
  if (request.relocating || isInDoubt(operator) || mustFollow(instance) !== null) return [];
  if (request.partition !== null) {
    const partition = partitionNamed(template, request.partition);
    if (partition === undefined || isBehindQuarantine(operator, partition)) return [];
    return [{ partition, shortage: instance.partition === null ? state.claims.lackToBegin(instance) : null }];
  }
  const options: PlacementOption[] = [];
  const names = new Set(sharedPartitions(request));
  // As a rule all are there: one look for hundreds of partitions.
  const areAllUp = state.availability.every((each) => each === "up");
  for (const partition of template.partitions) {
    if (!names.has(partition.name)) continue;
    if (!areAllUp && missingFrom(state, request, partition.name).length > 0) continue;
    if (usesAvoided(state, request, partition.name)) continue;
    const claim = state.claims.claimOn(request, partition.name);
    if (claim !== undefined)
      options.push({ partition, shortage: state.claims.lackToPlace(instance, partition.name, claim) });
  }
  return options;
}

/** Avoided accelerators that keep an operator whose request is not placed from every partition that is there; none where another is left. */
export function avoidedFor(state: GraphState, { instance }: OperatorNode): AcceleratorIndex[] {
  const { request, template } = instance;
  const avoided = new Set<AcceleratorIndex>();
  if (state.avoided.size === 0 || request.partition !== null) return [];
  for (const name of sharedPartitions(request)) {
    if (missingFrom(state, request, name).length > 0) continue;
    if (!usesAvoided(state, request, name)) return [];
    for (const accelerator of partitionNamed(template, name)?.used ?? [])
      if (state.avoided.has(accelerator)) avoided.add(accelerator);
  }
  return [...avoided].sort((a, b) => a - b);
}
