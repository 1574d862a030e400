import { ExecutorError } from "./errors.ts";
import { DEAD_MIN, EventHeap, type HeapEntry } from "./event-heap.ts";
import type { EventOrder, EventTime, SimulatedTimer } from "./event-time.ts";
import { EVENT_KIND } from "./simulated-time.ts";

/** What wakes a `RealTime`. */
export interface HostTimers {
  /**
   * Calls back once, never synchronously. One that comes early is asked for again.
   * @param delayMs Whole, from 0 to 2^31 − 1; with 0, in the next turn of the event loop.
   * @returns What takes it back.
   */
  after(delayMs: number, callback: () => void): () => void;
}

export interface RealTimeOptions {
  /** A source that counts milliseconds, fractions included, from anywhere. Default: `performance.now`. */
  readonly nowMs?: () => number;
  /** Default: `setTimeout`, and `setImmediate` for a delay of 0. */
  readonly timers?: HostTimers;
  /** Whether events that wait let the process end. Only for the default timers. Default false. */
  readonly unref?: boolean;
}

interface Timer extends SimulatedTimer, HeapEntry {
  callback: (() => void) | null;
}

/** The longest delay that host timers take; a longer one would be over at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

const NS_PER_MS = 1e6;

/**
 * The time that passes outside, in whole nanoseconds since it was made; it never steps back, whatever its source does. Events run one per
 * turn of the event loop, so that promises settled by one are answered before the next: never before their time, those that are
 * due by time, kind, number and then the order of their `at` calls. An event is late by as much as the host is. In the last millisecond
 * before an event the event loop turns without sleep, because host timers count in milliseconds.
 * What a callback throws comes out of the host's timer; the events behind it still run. Cost O(log pending) per call.
 */
export class RealTime implements EventTime {
  readonly simulated = false;
  readonly #nowMs: () => number;
  readonly #timers: HostTimers;
  readonly #epochMs: number;
  readonly #heap = new EventHeap<Timer>();
  #nowNs = 0;
  #sequence = 0;
  #pending = 0;
  /** For when the host was asked to wake it, and what takes that back; null when it was not asked. */
  #alarm: { readonly atNs: number; readonly forget: () => void } | null = null;
  #running: boolean = false;

  constructor(options: RealTimeOptions = {}) {
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#timers = options.timers ?? hostTimers(options.unref ?? false);
    this.#epochMs = this.#nowMs();
  }

  nowNs(): number {
    const passedNs = Math.floor((this.#nowMs() - this.#epochMs) * NS_PER_MS);
    if (passedNs > this.#nowNs) this.#nowNs = passedNs;
    return this.#nowNs;
  }

  /** Events that wait. */
  get pending(): number {
    return this.#pending;
  }

  /** Calls back once, at that time or as soon after as the host can; a time that has passed is now. Throws INVALID_OPTION for numbers that are not whole. */
  at(atNs: number, order: EventOrder, callback: () => void): SimulatedTimer {
    const { kind, number } = order;
    if (!(Number.isSafeInteger(atNs) && Number.isSafeInteger(kind) && Number.isSafeInteger(number))) {
      throw new ExecutorError(
        "INVALID_OPTION",
        `time ${atNs} ns, kind ${kind} and number ${number} must be whole numbers below 2^53`,
      );
    }
    const timer: Timer = { atNs, kind, number, sequence: this.#sequence++, callback };
    this.#heap.push(timer);
    this.#pending++;
    this.#arm();
    return timer;
  }

  /** After everything else that is due. */
  callAt(atNs: number, callback: () => void): () => void {
    const order = { kind: EVENT_KIND.clock, number: 0 };
    const timer = this.at(Math.max(Math.ceil(atNs), this.nowNs()), order, callback);
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
    this.#arm();
    return true;
  }

  /** Asks the host to wake it for the first event that is left, and for nothing when none is. */
  #arm(): void {
    if (this.#running) return;
    let first = this.#heap.peek();
    for (; first !== undefined && first.callback === null; first = this.#heap.peek()) this.#heap.pop();
    if (this.#alarm?.atNs === first?.atNs) return;
    this.#alarm?.forget();
    this.#alarm = null;
    if (first === undefined) return;
    const delayMs = Math.min(Math.max(Math.floor((first.atNs - this.nowNs()) / NS_PER_MS), 0), DELAY_MS_MAX);
    const forget = this.#timers.after(delayMs, () => this.#woken());
    this.#alarm = { atNs: first.atNs, forget };
  }

  #woken(): void {
    this.#alarm = null;
    const first = this.#heap.peek();
    const callback = first !== undefined && first.atNs <= this.nowNs() ? first.callback : null;
    if (first !== undefined && callback !== null) {
      this.#heap.pop();
      first.callback = null;
      this.#pending--;
      this.#running = true;
    }
    try {
      callback?.();
    } finally {
      this.#running = false;
      this.#arm();
    }
  }
}

function hostTimers(unref: boolean): HostTimers {
  return {
    after(delayMs, callback) {
      if (delayMs === 0) {
        const immediate = setImmediate(callback);
        if (unref) immediate.unref();
        return () => clearImmediate(immediate);
      }
      const timeout = setTimeout(callback, delayMs);
      if (unref) timeout.unref();
      return () => clearTimeout(timeout);
    },
  };
}
