import type { Clock } from "./types.ts";

/** What orders events of one instant. */
export interface EventOrder {
  /** See `EVENT_KIND`; larger kinds come later. */
  readonly kind: number;
  /** Orders events of one kind; equal ones run in the order of their `at` calls. */
  readonly number: number;
}

/** A callback that waits for its time; hand it to `cancel`. */
export interface SimulatedTimer {
  readonly atNs: number;
}

/** A clock on which a virtual executor lets things happen: `SimulatedTime`, or `RealTime`. */
export interface EventTime extends Clock {
  /** True when time advances only as events are processed. */
  readonly simulated: boolean;
  /** Calls back once, at that time, never synchronously; events that are due at once run by time, kind, number, order of calls. */
  at(atNs: number, order: EventOrder, callback: () => void): SimulatedTimer;
  /** Takes an event back. Returns false when it ran or was cancelled already. */
  cancel(timer: SimulatedTimer): boolean;
}
