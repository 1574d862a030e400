import type { ExecutorManifest } from "@slicescheduler/executor";
import type { Decision } from "@slicescheduler/scheduler";
import type { MasterEvent, SliceSchedulerOptions } from "slicescheduler";
import { type DecisionCheck, type EventLogHeader, LOG_FORMAT, LOG_VERSION } from "./header.ts";
import { finiteJsonLine, jsonLine } from "./json-line.ts";

/** The options of the scheduler whose events are written; those that change no answer may be left in. */
export interface EventLogOptions
  extends Pick<
    SliceSchedulerOptions,
    "cluster" | "priorities" | "scheduling" | "memorySafety" | "arbitration" | "health"
  > {
  /** The executor's. Without it a replay takes the executor to have no probes. */
  readonly manifest?: ExecutorManifest;
  /** Free text. Default empty. */
  readonly label?: string;
}

/** A `SliceScheduler` is one. */
export interface DecidingScheduler {
  on(event: "decision", listener: (decision: Decision) => void): unknown;
}

/**
 * Writes a run as JSON lines: a header, then each event with its time, from which `replayEventLog` rebuilds the master at any moment. Create it
 * before the scheduler, since it saves what the estimators know at the start, and give its `onEvent` to the scheduler. An event takes about 100 bytes.
 */
export class EventLogWriter {
  /** For `SliceSchedulerOptions.onEvent`. */
  readonly onEvent: (event: MasterEvent, nowNs: number) => void;
  /** What the first line says. */
  readonly header: EventLogHeader;
  readonly #write: (line: string) => void;

  /** @param write Gets each line with its line break; the first one, the header, at once. */
  constructor(options: EventLogOptions, write: (line: string) => void) {
    this.header = headerOf(options);
    this.#write = write;
    write(jsonLine(this.header));
    this.onEvent = (event, nowNs) => write(lineOf(event, nowNs));
  }

  /**
   * Writes down the decisions of the scheduler as well, about 70 bytes each: a replay that decides otherwise, since this writer was given other options
   * than the scheduler or another release replays it, then fails with EVENT_LOG_DIVERGED instead of going astray.
   */
  attach(scheduler: DecidingScheduler): void {
    scheduler.on("decision", ({ round, instance, partition }) => {
      const check: DecisionCheck = { round, instance, partition };
      this.#write(finiteJsonLine({ check }));
    });
  }
}

function lineOf(event: MasterEvent, nowNs: number): string {
  const entry = { nowNs, event };
  return mayBeInfinite(event) ? jsonLine(entry) : finiteJsonLine(entry);
}

/** The fields in which executors and applications may hand over any number. */
function mayBeInfinite(event: MasterEvent): boolean {
  if ("observedNs" in event) return !Number.isFinite(event.observedNs);
  return "deadlineNs" in event && event.deadlineNs !== null && !Number.isFinite(event.deadlineNs);
}

function headerOf(options: EventLogOptions): EventLogHeader {
  const { policy, estimators, ...scheduling } = options.scheduling ?? {};
  return {
    format: LOG_FORMAT,
    version: LOG_VERSION,
    label: options.label ?? "",
    cluster: options.cluster,
    priorities: options.priorities ?? ["online", "offline"],
    memorySafety: options.memorySafety ?? "guaranteed",
    scheduling,
    policy: policy?.name ?? null,
    estimators: estimators?.save() ?? null,
    arbitration: options.arbitration ?? {},
    health: options.health ?? {},
    manifest: options.manifest ?? null,
  };
}
