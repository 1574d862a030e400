import type { AcceleratorIndex, GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";
import type { IssueBudget } from "./budget.ts";
import { isBlocked, type MemoryPatience } from "./patience.ts";
import { leastShortage, named, predictedShortage } from "./shortages.ts";
import type { WaitingReason } from "./types.ts";

/** Why an unscheduled operator is not issued. Linear in the frontier at worst. */
export function waitingReason(
  graph: GlobalMappingGraph,
  budget: IssueBudget,
  patience: MemoryPatience,
  operator: OperatorNode,
  nowNs: number,
): WaitingReason {
  if (operator.unscheduledInputs > 0) return { why: "producers", unscheduledInputs: operator.unscheduledInputs };
  const before = graph.mustFollow(operator);
  if (before !== null) return { why: "instance", behind: before.id };
  const options = graph.placementOptions(operator);
  if (options.length === 0) return { why: "transfer" };
  const least = leastShortage(options);
  if (least !== null) {
    return { why: "memory", ...named(graph, least), heldBy: graph.claims.holdersOn(least.accelerator) };
  }
  const predicted = patience.predictedShortage(operator);
  if (predicted !== null) {
    const heldBy = graph.claims.holdersOn(predicted.accelerator);
    return { why: "memory", ...predictedShortage(graph, predicted), heldBy };
  }
  const issuedOperators = issuedUpTo(graph, operator.rank);
  const { operatorsMax } = budget;
  if (issuedOperators >= operatorsMax) return { why: "budget", issuedOperators, budget: operatorsMax };
  const blocked = new Set<AcceleratorIndex>();
  for (const other of graph.unscheduledFrontier) {
    if (other === operator || operator.instance.request.partition !== null) break;
    for (const accelerator of patience.blockedBy(other, nowNs)) blocked.add(accelerator);
    if (options.every((option) => isBlocked(option.partition, blocked)))
      return { why: "patience", behind: other.instance.id };
  }
  return { why: "next" };
}

/** Operators that executors have, of a class and all more urgent ones. */
export function issuedUpTo(graph: GlobalMappingGraph, rank: number): number {
  let issued = 0;
  for (let r = 0; r <= rank; r++) issued += graph.issuedOfRank(r);
  return issued;
}
