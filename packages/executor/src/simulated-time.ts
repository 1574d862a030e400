import { ExecutorError } from "./errors.ts";
import { DEAD_MIN, EventHeap, type HeapEntry } from "./event-heap.ts";
import type { EventOrder, EventTime, SimulatedTimer } from "./event-time.ts";

/** Kinds of events of one instant, in the order in which they are processed; docs/execution-model.md, "Events". */
export const EVENT_KIND = {
  /** An operator ends; its number is the issue number. */
  operator: 0,
  /** A transfer ends; its number is the transfer number. */
  transfer: 1,
  /** An accelerator of the virtual executor is lost or returns. */
  outage: 2,
  /** Whatever the application wants to do then, for example the arrival of a request in a replay. */
  application: 3,
  /** Callbacks of `callAt`, after all else. */
  clock: Number.MAX_SAFE_INTEGER,
} as const;

interface Timer extends SimulatedTimer, HeapEntry {
  callback: (() => void) | null;
}

export interface SimulatedTimeOptions {
  /**
   * Advance by itself, one event per turn of the event loop, while events wait and nobody calls `run`; so `await` works in
   * a plain script, and the process ends when nothing is left to happen. Default false.
   */
  readonly autoAdvance?: boolean;
}

/**
 * A clock that stands still until its next event is processed. Events run one at a time, by time, kind, number and then the
 * order of their `at` calls; the same calls give the same run. Times are whole nanoseconds from 0 to 2^53 − 1.
 */
export class SimulatedTime implements EventTime {
  readonly simulated = true;
  readonly #heap = new EventHeap<Timer>();
  readonly #autoAdvance: boolean;
  #nowNs = 0;
  #sequence = 0;
  #pending = 0;
  #running: boolean = false;
  #armed: boolean = false;

  constructor(options: SimulatedTimeOptions = {}) {
    this.#autoAdvance = options.autoAdvance ?? false;
  }

  nowNs(): number {
    return this.#nowNs;
  }

  /** Events that wait. */
  get pending(): number {
    return this.#pending;
  }

  /**
   * Calls back at a time from now on; an event of the present instant still runs after the one that is being processed.
   * Throws TIME_IN_PAST; INVALID_OPTION when a number is not whole. Cost O(log pending).
   */
  at(atNs: number, order: EventOrder, callback: () => void): SimulatedTimer {
    const { kind, number } = order;
    if (!(Number.isSafeInteger(atNs) && Number.isSafeInteger(kind) && Number.isSafeInteger(number))) {
      throw new ExecutorError(
        "INVALID_OPTION",
        `time ${atNs} ns, kind ${kind} and number ${number} must be whole numbers below 2^53`,
      );
    }
    if (atNs < this.#nowNs)
      throw new ExecutorError("TIME_IN_PAST", `asked for ${atNs} ns, it is ${this.#nowNs} ns already`);
    const timer: Timer = { atNs, kind, number, sequence: this.#sequence++, callback };
    this.#heap.push(timer);
    this.#pending++;
    this.#arm();
    return timer;
  }

  /** After everything else that happens at that time. */
  callAt(atNs: number, callback: () => void): () => void {
    const order = { kind: EVENT_KIND.clock, number: 0 };
    const timer = this.at(Math.max(Math.ceil(atNs), this.#nowNs), order, callback);
    return () => this.cancel(timer);
  }

  /** Takes an event back. Returns false when it ran or was cancelled already. */
  cancel(timer: SimulatedTimer): boolean {
    // Only `at` makes timers.
    const own = timer as Timer;
    if (own.callback === null) return false;
    own.callback = null;
    this.#pending--;
    if (this.#heap.size > 2 * this.#pending + DEAD_MIN) this.#heap.keep(({ callback }) => callback !== null);
    return true;
  }

  /**
   * Processes events up to and including `untilNs`, and the events they cause, and leaves the clock there; without
   * `untilNs`, until none is left. Returns how many. What a callback throws comes out here: its event is over, and `run` can
   * be called again. Throws REENTRANT from within a callback; TIME_IN_PAST.
   */
  run(untilNs?: number): number {
    if (untilNs !== undefined && !(untilNs >= this.#nowNs && untilNs <= Number.MAX_SAFE_INTEGER))
      throw new ExecutorError("TIME_IN_PAST", `asked to run until ${untilNs} ns, it is ${this.#nowNs} ns already`);
    let events = 0;
    while (this.#step(untilNs ?? Number.MAX_SAFE_INTEGER)) events++;
    if (untilNs !== undefined) this.#nowNs = Math.floor(untilNs);
    return events;
  }

  /** Processes the next event, if it is not after `untilNs`. Returns false when there is none. Throws as `run` does. */
  step(untilNs: number = Number.MAX_SAFE_INTEGER): boolean {
    return this.#step(untilNs);
  }

  #step(untilNs: number): boolean {
    if (this.#running)
      throw new ExecutorError(
        "REENTRANT",
        "run was called from within a callback of the same clock; return from it first",
      );
    for (;;) {
      const timer = this.#heap.peek();
      if (timer === undefined || timer.atNs > untilNs) return false;
      this.#heap.pop();
      const { callback } = timer;
      if (callback === null) continue;
      timer.callback = null;
      this.#pending--;
      this.#nowNs = timer.atNs;
      this.#running = true;
      try {
        callback();
      } finally {
        this.#running = false;
      }
      return true;
    }
  }

  /** One event per turn, so that promises settled by one event are answered before the next. */
  #arm(): void {
    if (!this.#autoAdvance || this.#armed || this.#pending === 0) return;
    this.#armed = true;
    setImmediate(() => {
      this.#armed = false;
      try {
        this.step();
      } finally {
        this.#arm();
      }
    });
  }
}
