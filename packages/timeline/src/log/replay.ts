import { EstimatorBank } from "@slicescheduler/estimators";
import type { Clock, Executor, ExecutorManifest } from "@slicescheduler/executor";
import { type Decision, firstFit, type SchedulingPolicy, simulationGuided } from "@slicescheduler/scheduler";
import { type CoreOptions, MasterCore, type Reaction, SliceScheduler } from "slicescheduler";
import { EventLogError } from "../errors.ts";
import { type RecorderLimits, RunRecorder } from "../record/recorder.ts";
import type { RunRecord } from "../run-record.ts";
import type { EventLog, EventLogEntry, EventLogHeader } from "./header.ts";

export interface EventLogReplayOptions {
  /** Replay what happened up to and including this time. Default: all. */
  readonly untilNs?: number;
  /** Replay so many events at most. Default: all. */
  readonly eventsMax?: number;
  /** Policies beside those of `@slicescheduler/scheduler`, which the header may name. */
  readonly policies?: readonly SchedulingPolicy[];
  /** Gets what the master answered to each event, which is what it answered when it ran. */
  readonly onReaction?: (reaction: Reaction, entry: EventLogEntry, core: MasterCore) => void;
}

export interface ReplayedLog {
  /** The master as it was; it may be asked, and handled further. */
  readonly core: MasterCore;
  /** Time of the last event, 0 where there was none. */
  readonly nowNs: number;
  readonly events: number;
}

/**
 * Rebuilds the master as it was at a moment of the log: every decision, place and duration that it had learned. Costs what the decisions cost
 * when they were made. Throws EVENT_LOG_UNREPLAYABLE where cluster or options are refused, or an event is, or a policy is missing; `cause` says why.
 * EVENT_LOG_DIVERGED where the log has decisions (`EventLogWriter.attach`) and the replay makes others.
 */
export function replayEventLog(log: EventLog, options: EventLogReplayOptions = {}): ReplayedLog {
  const { untilNs = Number.POSITIVE_INFINITY, eventsMax = Number.POSITIVE_INFINITY, onReaction } = options;
  const core = coreOf(log.header, options.policies ?? []);
  const decisions = new HeldDecisions(log);
  let nowNs = 0;
  let events = 0;
  for (const entry of log.entries) {
    if (entry.nowNs > untilNs || events >= eventsMax) break;
    decisions.checkBefore(events);
    const reaction = handled(core, entry, events + decisions.linesBefore);
    nowNs = entry.nowNs;
    events++;
    decisions.note(reaction);
    onReaction?.(reaction, entry, core);
  }
  decisions.checkBefore(events);
  return { core, nowNs, events };
}

/** Decisions of the replay until the log was found to have the same ones. */
class HeldDecisions {
  readonly #checks: EventLog["checks"];
  readonly #made = new Map<number, Decision>();
  #checked = 0;

  constructor({ checks }: EventLog) {
    this.#checks = checks;
  }

  /** The header, and the checks so far; lines count from 1. */
  get linesBefore(): number {
    return this.#checked + 2;
  }

  note({ notices }: Reaction): void {
    if (this.#checked === this.#checks.length) return;
    for (const { name, value } of notices) if (name === "decision") this.#made.set(value.round, value);
  }

  /** Throws EVENT_LOG_DIVERGED. */
  checkBefore(events: number): void {
    for (let next = this.#checks[this.#checked]; next !== undefined; next = this.#checks[this.#checked]) {
      const { round, instance, partition, entriesBefore } = next;
      if (entriesBefore > events) return;
      const made = this.#made.get(round);
      if (made?.instance !== instance || made.partition !== partition) {
        const found = made === undefined ? "was not made" : `laid instance ${made.instance} on ${made.partition}`;
        const reason = `decision ${round} of the run laid instance ${instance} on ${partition}, and that of the replay ${found}; was the log written with the scheduler's options, by this release?`;
        throw new EventLogError(
          "EVENT_LOG_DIVERGED",
          { line: entriesBefore + this.linesBefore, path: "check" },
          reason,
        );
      }
      this.#made.delete(round);
      this.#checked++;
    }
  }
}

/** The timeline of the run that a log tells of, by replaying it. Throws as `replayEventLog` does; INVALID_OPTION. */
export function recordEventLog(
  log: EventLog,
  options: Pick<EventLogReplayOptions, "untilNs" | "eventsMax" | "policies"> & RecorderLimits = {},
): RunRecord {
  const { cluster, priorities, label } = log.header;
  let recorder: RunRecorder | null = null;
  const { core } = replayEventLog(log, {
    ...options,
    onReaction: ({ notices }, { event, nowNs }, { graph }) => {
      if (recorder === null) {
        recorder = new RunRecorder({ cluster, priorities, label, ...options });
        recorder.readHbm({ usedHbmBytes: (accelerator) => graph.ledger.usedBytes(accelerator) });
      }
      recorder.onEvent(event, nowNs);
      for (const notice of notices) recorder.notice(notice);
    },
  });
  recorder ??= new RunRecorder({ cluster: core.graph.cluster.spec, priorities, label, ...options });
  return (recorder as RunRecorder).finish();
}

function handled(core: MasterCore, { event, nowNs }: EventLogEntry, line: number): Reaction {
  try {
    return core.handle(event, nowNs);
  } catch (error) {
    throw new EventLogError("EVENT_LOG_UNREPLAYABLE", { line, path: "event" }, refusal(`the ${event.type}`, error), {
      cause: error,
    });
  }
}

function coreOf(header: EventLogHeader, policies: readonly SchedulingPolicy[]): MasterCore {
  const { cluster, priorities, memorySafety, arbitration, health, manifest } = header;
  try {
    const scheduling = schedulingOf(header, policies);
    const options: CoreOptions = { cluster, memorySafety, arbitration, health, scheduling };
    checkAsScheduler({ ...options, priorities });
    return new MasterCore(manifest === null ? options : { ...options, manifest });
  } catch (error) {
    if (error instanceof EventLogError) throw error;
    throw new EventLogError("EVENT_LOG_UNREPLAYABLE", { line: 1, path: "" }, refusal("the header", error), {
      cause: error,
    });
  }
}

function schedulingOf(
  { scheduling, policy, estimators }: EventLogHeader,
  policies: readonly SchedulingPolicy[],
): NonNullable<CoreOptions["scheduling"]> {
  const known = [...policies, simulationGuided, firstFit];
  const chosen = policy === null ? undefined : known.find(({ name }) => name === policy);
  if (policy !== null && chosen === undefined) {
    const names = known.map(({ name }) => name).join(", ");
    const reason = `the run had the policy ${JSON.stringify(policy)}, and there are ${names}; give it as one of policies`;
    throw new EventLogError("EVENT_LOG_UNREPLAYABLE", { line: 1, path: "policy" }, reason);
  }
  return {
    ...scheduling,
    ...(chosen === undefined ? {} : { policy: chosen }),
    ...(estimators === null ? {} : { estimators: EstimatorBank.load(estimators) }),
  };
}

/** A master core takes its options as they are; a scheduler looks at them. Throws INVALID_OPTIONS, CLUSTER_INVALID. */
function checkAsScheduler(options: CoreOptions & { readonly priorities: readonly string[] }): void {
  new SliceScheduler({ ...options, executor: new NoExecutor() }).close();
}

class NoExecutor implements Executor {
  readonly manifest: ExecutorManifest = { name: "none", simulatedTime: true };
  readonly clock: Clock = { nowNs: () => 0, callAt: () => () => {} };
  open(): void {}
  execute(): void {}
  close(): void {}
}

function refusal(what: string, error: unknown): string {
  return `${what} was refused: ${error instanceof Error ? error.message : String(error)}`;
}
