/** Shortages of memory by name, for explanations. */
import type {
  AcceleratorIndex,
  GlobalMappingGraph,
  OperatorNode,
  PlacementOption,
  Shortage,
} from "@slicescheduler/gmg";
import type { PredictedShortage } from "./reconstruction.ts";
import type { NamedShortage, PredictedOutOfMemory } from "./types.ts";

/** Bytes that are missing. */
export function lackOf({ neededBytes, availableBytes }: Shortage): number {
  return neededBytes - availableBytes;
}

/** What is lacking where the least is; null where nothing is, or there is nowhere to go. */
export function leastShortage(options: readonly PlacementOption[]): Shortage | null {
  let least: Shortage | null = null;
  for (const { shortage } of options) {
    if (shortage === null) return null;
    if (least === null || lackOf(shortage) < lackOf(least)) least = shortage;
  }
  return least;
}

export function named(graph: GlobalMappingGraph, shortage: Shortage): NamedShortage {
  return { ...shortage, accelerator: nameOf(graph, shortage.accelerator) };
}

/** What a simulation ran out of, in the terms of memory in use now. */
export function predictedShortage(
  graph: GlobalMappingGraph,
  { accelerator, bytesOver }: PredictedShortage,
): NamedShortage {
  const { capacityBytes = 0 } = graph.cluster.accelerators[accelerator] ?? {};
  const availableBytes = Math.max(0, capacityBytes - graph.ledger.usedBytes(accelerator));
  const neededBytes = availableBytes + bytesOver;
  return { accelerator: nameOf(graph, accelerator), neededBytes, availableBytes, cause: "predicted" };
}

export function predictedOutOfMemory(
  graph: GlobalMappingGraph,
  { accelerator, atNs, bytesOver, operator }: PredictedShortage,
): PredictedOutOfMemory {
  const name = operator === null ? null : operatorName(operator);
  return { accelerator: nameOf(graph, accelerator), atNs, operator: name, bytesOver };
}

function nameOf({ cluster }: GlobalMappingGraph, accelerator: AcceleratorIndex): string {
  return cluster.accelerators[accelerator]?.name ?? "";
}

function operatorName({ instance, index }: OperatorNode): string {
  return `${instance.template.name}/${instance.template.operators[index]?.name ?? ""} of instance ${instance.id}`;
}
