import type { AcceleratorIndex, GlobalMappingGraph, OperatorNode, PlacementOption } from "@slicescheduler/gmg";
import { isBlocked, type MemoryPatience } from "./patience.ts";
import { leastShortage, named, predictedShortage } from "./shortages.ts";
import type { BudgetUse, WaitingReason } from "./types.ts";

/** Why an unscheduled operator is not issued. Linear in the frontier at worst. */
export function waitingReason(
  graph: GlobalMappingGraph,
  patience: MemoryPatience,
  operator: OperatorNode,
  nowNs: number,
  useOf: (accelerator: AcceleratorIndex) => BudgetUse,
): WaitingReason {
  if (operator.unscheduledInputs > 0) return { why: "producers", unscheduledInputs: operator.unscheduledInputs };
  const before = graph.mustFollow(operator);
  if (before !== null) return { why: "instance", behind: before.id };
  const options = graph.placementOptions(operator);
  if (options.length === 0) {
    const accelerators = graph.avoidedFor(operator).map((index) => graph.cluster.accelerators[index]?.name ?? "");
    return accelerators.length > 0 ? { why: "suspect", accelerators } : { why: "transfer" };
  }
  const least = leastShortage(options);
  if (least !== null) {
    return { why: "memory", ...named(graph, least), heldBy: graph.claims.holdersOn(least.accelerator) };
  }
  const predicted = patience.predictedShortage(operator);
  if (predicted !== null) {
    const heldBy = graph.claims.holdersOn(predicted.accelerator);
    return { why: "memory", ...predictedShortage(graph, predicted), heldBy };
  }
  const full = fullBudget(graph, operator, options, useOf);
  if (full !== null) return full;
  const blocked = new Set<AcceleratorIndex>();
  for (const other of graph.unscheduledFrontier) {
    if (other === operator || operator.instance.request.partition !== null) break;
    for (const accelerator of patience.blockedBy(other, nowNs)) blocked.add(accelerator);
    if (options.every((option) => isBlocked(option.partition, blocked)))
      return { why: "patience", behind: other.instance.id };
  }
  return { why: "next" };
}

/** Null where an accelerator that it could be laid on may have more. */
function fullBudget(
  { cluster }: GlobalMappingGraph,
  { index }: OperatorNode,
  options: readonly PlacementOption[],
  useOf: (accelerator: AcceleratorIndex) => BudgetUse,
): WaitingReason | null {
  let least: (BudgetUse & { readonly accelerator: string }) | null = null;
  for (const { partition, shortage } of options) {
    if (shortage !== null) continue;
    const accelerator = partition.acceleratorOf[index] as number;
    const use = useOf(accelerator);
    if (use.issuedOperators < use.budget) return null;
    if (least !== null && use.issuedOperators >= least.issuedOperators) continue;
    least = { accelerator: cluster.accelerators[accelerator]?.name ?? "", ...use };
  }
  return least === null ? null : { why: "budget", ...least };
}
