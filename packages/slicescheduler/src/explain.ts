import type { InstanceState, OperatorState } from "@slicescheduler/gmg";
import type { Decision, WaitingReason } from "@slicescheduler/scheduler";
import type { MasterCore } from "./core.ts";

export interface OperatorExplanation {
  readonly operator: string;
  readonly state: OperatorState;
  readonly accelerator: string | null;
  /** Why it is not issued; null once it is. */
  readonly waiting: WaitingReason | null;
  readonly issuedNs: number | null;
  readonly startedNs: number | null;
  readonly doneNs: number | null;
}

export interface Explanation {
  readonly instance: number;
  /** `"gone"` when it has ended and left the graph. */
  readonly state: InstanceState | "gone";
  readonly request: number | null;
  readonly partition: string | null;
  readonly operators: readonly OperatorExplanation[];
  /** Each with its candidates: their predicted completion, or the memory they lacked. */
  readonly decisions: readonly Decision[];
}

/** Plain data for people and programs; linear in the instance and the decisions kept. */
export function explainInstance(core: MasterCore, id: number, nowNs: number): Explanation | undefined {
  const { graph, scheduler } = core;
  const decisions = scheduler.decisionsAbout(id);
  const instance = graph.instance(id);
  if (instance === undefined) {
    if (decisions.length === 0) return undefined;
    return {
      instance: id,
      state: "gone",
      request: null,
      partition: decisions[0]?.partition ?? null,
      operators: [],
      decisions,
    };
  }
  return {
    instance: id,
    state: instance.state,
    request: instance.request.id,
    partition: instance.partition?.name ?? null,
    operators: instance.operators.map((operator) => ({
      operator: instance.template.operators[operator.index]?.name ?? "",
      state: operator.state,
      accelerator: graph.cluster.accelerators[operator.accelerator]?.name ?? null,
      waiting: operator.state === "unscheduled" ? scheduler.waitingReason(operator, nowNs) : null,
      issuedNs: timeOrNull(operator.issuedNs),
      startedNs: timeOrNull(operator.startedNs),
      doneNs: timeOrNull(operator.doneNs),
    })),
    decisions,
  };
}

function timeOrNull(ns: number): number | null {
  return ns < 0 ? null : ns;
}
