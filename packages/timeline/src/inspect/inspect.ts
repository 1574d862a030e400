import { GlobalMappingGraph } from "@slicescheduler/gmg";
import { type Decision, Scheduler, type SchedulingPolicy } from "@slicescheduler/scheduler";
import type { MasterCore } from "slicescheduler";
import { checkWhole, TimelineError } from "../errors.ts";
import type { EventLog } from "../log/header.ts";
import { replayEventLog } from "../log/replay.ts";
import { inspectGraph, inspectInstance, type Look, latestNs } from "./inspect-graph.ts";
import type { InspectedInstance, Inspection } from "./inspection.ts";

export interface InspectOptions {
  /** Explain this instance as well. */
  readonly instance?: number;
  /** Operators that wait for a place are listed up to so many. A whole number from 0. Default 100. */
  readonly waitingMax?: number;
}

export interface InspectSnapshotOptions extends InspectOptions {
  /** What time it is. Default: the latest time in the snapshot. */
  readonly nowNs?: number;
}

export interface InspectEventLogOptions extends InspectOptions {
  /** After everything that happened at this time. Default: after the last event. */
  readonly atNs?: number;
  /** Explain the decision of this round, whenever it was made. */
  readonly decision?: number;
  /** See `EventLogReplayOptions.policies`. */
  readonly policies?: readonly SchedulingPolicy[];
}

/**
 * What a saved graph (`GlobalMappingGraph.snapshot`) holds: what runs, what waits and for what, who has the memory. A snapshot has no decisions, no tenants
 * and no budgets: reasons are those that a scheduler with default options would have. Throws GRAPH_STATE_INVALID for what is no snapshot; UNKNOWN_INSTANCE;
 * INVALID_OPTION.
 */
export function inspectSnapshot(snapshot: unknown, options: InspectSnapshotOptions = {}): Inspection {
  const graph = GlobalMappingGraph.restore(snapshot);
  const scheduler = new Scheduler(graph);
  const nowNs = options.nowNs ?? latestNs(graph);
  const look: Look = {
    graph,
    nowNs,
    waitingMax: waitingMaxOf(options),
    reasonOf: (operator) => scheduler.waitingReason(operator, nowNs),
    isHeldBack: () => false,
    tenantOf: () => null,
    decisionsAbout: () => [],
  };
  return { ...inspectGraph(look), instance: instanceOf(look, options.instance), decision: null };
}

/** What a master holds now. Changes nothing. Throws UNKNOWN_INSTANCE, INVALID_OPTION. */
export function inspectMaster(core: MasterCore, nowNs: number, options: InspectOptions = {}): Inspection {
  const look = lookAt(core, nowNs, waitingMaxOf(options), new Map(), null);
  return { ...inspectGraph(look), instance: instanceOf(look, options.instance), decision: null };
}

/**
 * What a master held at a moment of its event log, by replaying it. All decisions are known, however many the master keeps. Throws as
 * `replayEventLog` does; UNKNOWN_INSTANCE, UNKNOWN_DECISION, INVALID_OPTION.
 */
export function inspectEventLog(log: EventLog, options: InspectEventLogOptions = {}): Inspection {
  const { atNs = Number.POSITIVE_INFINITY, decision: round, policies = [] } = options;
  const waitingMax = waitingMaxOf(options);
  const tenants = new Map<number, string>();
  const about: Decision[] = [];
  let decision: Decision | null = null;
  let rounds = 0;
  const { core, nowNs } = replayEventLog(log, {
    untilNs: atNs,
    policies,
    onReaction: ({ notices }, { event }) => {
      if (event.type === "requestOpened") tenants.set(event.request, event.tenant);
      for (const { name, value } of notices) {
        if (name !== "decision") continue;
        rounds++;
        if (value.round === round) decision = value;
        if (value.instance === options.instance) about.push(value);
      }
    },
  });
  if (round !== undefined && decision === null) {
    const message = `there is no decision ${round} up to ${nowNs} ns; ${rounds} were made`;
    throw new TimelineError("UNKNOWN_DECISION", message);
  }
  const look = lookAt(core, nowNs, waitingMax, tenants, about);
  return { ...inspectGraph(look), instance: instanceOf(look, options.instance), decision };
}

/** @param about Decisions about the instance that is asked for, null to take those that the master keeps. */
function lookAt(
  core: MasterCore,
  nowNs: number,
  waitingMax: number,
  tenants: ReadonlyMap<number, string>,
  about: readonly Decision[] | null,
): Look {
  const { graph, scheduler } = core;
  return {
    graph,
    nowNs,
    waitingMax,
    reasonOf: (operator) => scheduler.waitingReason(operator, nowNs),
    isHeldBack: (operator) => scheduler.isHeldBack(operator),
    tenantOf: (request) => tenants.get(request) ?? null,
    decisionsAbout: (instance) => about ?? scheduler.decisionsAbout(instance),
  };
}

function instanceOf(look: Look, id: number | undefined): InspectedInstance | null {
  if (id === undefined) return null;
  const instance = inspectInstance(look, id);
  if (instance !== undefined) return instance;
  const message = `nothing is known of instance ${id}: it was never submitted, or has left the graph without a decision that is kept`;
  throw new TimelineError("UNKNOWN_INSTANCE", message);
}

function waitingMaxOf({ waitingMax = 100 }: InspectOptions): number {
  checkWhole("waitingMax", waitingMax, 0);
  return waitingMax;
}
