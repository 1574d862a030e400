import { GmgError, IllegalMoveError, type InstanceNode, InvariantBrokenError } from "@slicescheduler/gmg";
import { type Decision, SchedulerError, type WaitingReason } from "@slicescheduler/scheduler";
import type { MasterCore } from "./core.ts";
import { InvalidOptionsError, SliceSchedulerError } from "./errors.ts";
import type { ApplicationEvent } from "./events.ts";
import { Shadow, type ShadowEnd } from "./what-if-shadow.ts";

export interface PlanOptions {
  /** How far ahead is looked, a whole number from 1. Default: until everything that is there now has ended. */
  readonly horizonNs?: number;
}

/** What is predicted of one instance. Times are of the executor's clock. */
export interface PredictedInstance {
  readonly instance: number;
  readonly request: number;
  readonly label: string;
  readonly template: string;
  /** Where it is, or will be, laid, the last time if several; null when that is not decided as far as was looked. */
  readonly partition: string | null;
  /** When its first operator starts, or has started; of those that are run again for lost results, the last time. */
  readonly startNs: number | null;
  /** `"open"`: it has not ended as far as was looked. */
  readonly outcome: ShadowEnd["outcome"] | "open";
  readonly endNs: number | null;
  /** Why it fails. */
  readonly error: Error | null;
  /** What the operators of an open one wait for that could be issued otherwise. */
  readonly waiting: readonly { readonly operator: string; readonly reason: WaitingReason }[];
}

/** What the scheduler will do if nothing more is asked of it and everything takes as long as is predicted now. */
export interface Plan {
  readonly atNs: number;
  /** How far was played. */
  readonly untilNs: number;
  /**
   * `"settled"`: everything has ended. `"horizon"`: as far as was asked for. `"standstill"`: what is open waits for the application, for
   * example for memory that a request holds which nothing more was submitted to. `"refused"`: the submission of a what-if was.
   */
  readonly stopped: "settled" | "horizon" | "standstill" | "refused";
  /** In their order; each counts those before it. */
  readonly decisions: readonly Decision[];
  /** All that are in the graph and have not ended, by rising number. */
  readonly instances: readonly PredictedInstance[];
}

/** An instance that ends at another time, or in another way, than without the submission. */
export interface AffectedInstance {
  readonly without: PredictedInstance;
  readonly with: PredictedInstance;
  /** Positive when it ends later; null when it does not end in both. */
  readonly delayNs: number | null;
}

/** What `submit` throws; each has a stable `code`. */
export type Refusal = GmgError | SchedulerError | SliceSchedulerError;

export interface WhatIf {
  /** Why it would be refused, as `submit` would throw it; then nothing else is told. */
  readonly refused: Refusal | null;
  /** The submitted ones, in order. */
  readonly submitted: readonly PredictedInstance[];
  /** By rising number. */
  readonly affected: readonly AffectedInstance[];
  /** With the submission. */
  readonly plan: Plan;
}

/**
 * Plays a copy of the master on, apart from it. Throws INVALID_OPTIONS. Costs one saved and restored snapshot, linear in what is live, and the
 * rounds that are played.
 */
export function planAhead(core: MasterCore, nowNs: number, options: PlanOptions = {}): Plan {
  return foresee(core, nowNs, options, nothing).plan;
}

/**
 * What would happen if the application asked for this now, against what happens otherwise. Twice the cost of `planAhead`.
 * Throws INVALID_OPTIONS. A refusal is an answer, whether `ask` throws it or the master.
 */
export function whatIf(
  core: MasterCore,
  nowNs: number,
  ask: () => readonly ApplicationEvent[],
  options: PlanOptions = {},
): WhatIf {
  const { plan, refused } = foresee(core, nowNs, options, ask);
  if (refused !== null) return { refused, submitted: [], affected: [], plan };
  const before = new Map(planAhead(core, nowNs, options).instances.map((predicted) => [predicted.instance, predicted]));
  const submitted: PredictedInstance[] = [];
  const affected: AffectedInstance[] = [];
  for (const predicted of plan.instances) {
    const without = before.get(predicted.instance);
    if (without === undefined) submitted.push(predicted);
    else if (without.endNs !== predicted.endNs || without.outcome !== predicted.outcome) {
      const delayNs = without.endNs === null || predicted.endNs === null ? null : predicted.endNs - without.endNs;
      affected.push({ without, with: predicted, delayNs });
    }
  }
  return { refused, submitted, affected, plan };
}

const nothing = (): readonly ApplicationEvent[] => [];

function foresee(
  live: MasterCore,
  nowNs: number,
  { horizonNs = Number.MAX_SAFE_INTEGER }: PlanOptions,
  ask: () => readonly ApplicationEvent[],
): { plan: Plan; refused: Refusal | null } {
  if (!(Number.isSafeInteger(horizonNs) && horizonNs > 0))
    throw new InvalidOptionsError([`horizonNs: ${horizonNs} is not a whole number above 0`]);
  const untilNs = Math.min(nowNs + horizonNs, Number.MAX_SAFE_INTEGER);
  const shadow = new Shadow(live, nowNs);
  try {
    const subjects = Array.from(shadow.present.values(), subjectOf);
    const refused = askAll(shadow, ask, subjects);
    const stopped =
      refused === null
        ? shadow.play(
            subjects.map(({ instance }) => instance),
            untilNs,
          )
        : "refused";
    const plan: Plan = {
      atNs: nowNs,
      untilNs: stopped === "horizon" ? untilNs : shadow.nowNs,
      stopped,
      decisions: shadow.decisions,
      instances: refused === null ? subjects.map((subject) => predictedOf(shadow, subject)) : [],
    };
    return { plan, refused };
  } finally {
    shadow.close();
  }
}

/** What is told of an instance whatever becomes of it. */
interface Subject {
  readonly instance: number;
  readonly request: number;
  readonly label: string;
  readonly template: string;
}

function subjectOf({ id, request, label, template }: InstanceNode): Subject {
  return { instance: id, request: request.id, label, template: template.name };
}

/** Adds what is submitted to the subjects. Returns the first refusal, which ends it. */
function askAll(shadow: Shadow, ask: () => readonly ApplicationEvent[], subjects: Subject[]): Refusal | null {
  try {
    for (const event of ask()) {
      shadow.ask(event);
      if (event.type === "instanceSubmitted") subjects.push(event);
    }
    return null;
  } catch (error) {
    if (isRefusal(error)) return error;
    throw error;
  }
}

function isRefusal(error: unknown): error is Refusal {
  if (error instanceof InvariantBrokenError || error instanceof IllegalMoveError) return false;
  return error instanceof GmgError || error instanceof SchedulerError || error instanceof SliceSchedulerError;
}

function predictedOf(shadow: Shadow, { instance, request, label, template }: Subject): PredictedInstance {
  const present = shadow.present.get(instance) ?? shadow.core.graph.instance(instance);
  const end = shadow.ends.get(instance);
  return {
    instance,
    request,
    label,
    template,
    partition: present?.partition?.name ?? shadow.partitions.get(instance) ?? null,
    startNs: startOf(present) ?? shadow.starts.get(instance) ?? null,
    outcome: end?.outcome ?? "open",
    endNs: end?.endNs ?? null,
    error: end?.error ?? null,
    waiting: end === undefined && present !== undefined ? waitingOf(shadow, present) : [],
  };
}

function waitingOf(shadow: Shadow, { operators, template }: InstanceNode): PredictedInstance["waiting"] {
  const { graph, scheduler } = shadow.core;
  return operators
    .filter((operator) => graph.unscheduledFrontier.has(operator))
    .map((operator) => ({
      operator: template.operators[operator.index]?.name ?? "",
      reason: scheduler.waitingReason(operator, shadow.nowNs),
    }));
}

/** By the graph, which also knows what started before. */
function startOf(instance: InstanceNode | undefined): number | undefined {
  let first: number | undefined;
  for (const { startedNs } of instance?.operators ?? [])
    if (startedNs >= 0 && startedNs < (first ?? Number.POSITIVE_INFINITY)) first = startedNs;
  return first;
}
