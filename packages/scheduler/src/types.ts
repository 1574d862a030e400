import type { CompiledPartition, InstanceId, OperatorNode, Shortage } from "@slicescheduler/gmg";
import type { QuotaReached } from "./tenants.ts";

/** A partition that a batch could be laid on, its memory reserved or reservable. */
export interface Candidate {
  readonly partition: CompiledPartition;
  /** Bytes of results that would have to move to other accelerators. */
  readonly movedBytes: number;
}

/** What a policy sees of one decision, and the simulator to try candidates with. */
export interface Round {
  readonly nowNs: number;
  /** Connected operators of one instance, each after its predecessors. */
  readonly batch: readonly OperatorNode[];
  /** At least one, in the template's order. */
  readonly candidates: readonly Candidate[];
  /**
   * Plays the cluster forward with the batch on the candidate: the predicted average completion time of the batch's
   * operators, in ns of the run's time. `null` once that is certain to exceed `abandonAboveNs`.
   */
  simulate(candidate: Candidate, abandonAboveNs?: number): number | null;
  /** Far cheaper than to simulate it: what that gives is never less. Left out where nothing is known beforehand. */
  leastNs?(candidate: Candidate): number;
}

export interface Choice {
  readonly candidate: Candidate;
  /** Predicted average completion per candidate of the round; null where it was abandoned or not simulated. */
  readonly scoresNs: readonly (number | null)[];
}

/** How a placement is chosen among memory-safe candidates. Must be deterministic. */
export interface SchedulingPolicy {
  readonly name: string;
  choose(round: Round): Choice;
}

/** A shortage with its accelerator by name. */
export interface NamedShortage extends Omit<Shortage, "accelerator" | "cause"> {
  readonly accelerator: string;
  /** `"predicted"`, in that mode: so many bytes would be over when it is simulated. */
  readonly cause: Shortage["cause"] | "predicted";
}

/** Where and when a simulated candidate would pass a capacity. */
export interface PredictedOutOfMemory {
  readonly accelerator: string;
  readonly atNs: number;
  /** Of the cluster, or null where a receive buffer would not fit. */
  readonly operator: string | null;
  readonly bytesOver: number;
}

/** One candidate of a decision, as an explanation. */
export interface CandidateReport {
  readonly partition: string;
  /** Predicted average completion of the batch's operators; null where it was not simulated to its end. */
  readonly scoreNs: number | null;
  /** The score cannot be less: why it need not be simulated, where another one's is not more. Null where nothing was known beforehand. */
  readonly leastNs: number | null;
  readonly movedBytes: number;
  /** Why it was out of the question. */
  readonly shortage: NamedShortage | null;
  /** In predicted mode, where it would have run out of memory. */
  readonly outOfMemory: PredictedOutOfMemory | null;
}

/** One scheduling decision (paper §3.4, Algorithm 1), as plain data. */
export interface Decision {
  readonly round: number;
  readonly atNs: number;
  readonly instance: InstanceId;
  /** Indices of the batch's operators in their template. */
  readonly operators: readonly number[];
  readonly partition: string;
  readonly candidates: readonly CandidateReport[];
}

/** A decision with the nodes to carry it out on. */
export interface Placement {
  readonly decision: Decision;
  readonly batch: readonly OperatorNode[];
  readonly partition: CompiledPartition;
}

/** Of the issue budget of an accelerator. */
export interface BudgetUse {
  /** Of its class and more urgent ones, issued and not done. */
  readonly issuedOperators: number;
  readonly moreUrgentOperators: number;
  readonly budget: number;
}

/** Why an operator is not issued yet. */
export type WaitingReason =
  | { readonly why: "producers"; readonly unscheduledInputs: number }
  /** Where it could be laid there are as many issued as may be, so many of them more urgent; the accelerator with the fewest. */
  | ({ readonly why: "budget"; readonly accelerator: string } & BudgetUse)
  /** On the partition that lacks the least, the accelerator that lacks the most, and who holds memory there. */
  | ({ readonly why: "memory"; readonly heldBy: readonly number[] } & NamedShortage)
  /** Its tenant has as much as it may. */
  | ({ readonly why: "quota" } & QuotaReached)
  /** An instance whose results its own reads has not begun. */
  | { readonly why: "instance"; readonly behind: InstanceId }
  /** Somebody has waited too long for memory to be passed by there. */
  | { readonly why: "patience"; readonly behind: InstanceId }
  /** A transfer that it would share is being taken back. */
  | { readonly why: "transfer" }
  /** It could be laid only where an accelerator is suspect: these, by name. */
  | { readonly why: "suspect"; readonly accelerators: readonly string[] }
  | { readonly why: "next" };
