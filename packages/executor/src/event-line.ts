import type { ExecutorEvent } from "./types.ts";

/**
 * What one cause still has to do: events not yet delivered, and accelerators that may have something to start. Events come
 * first; when none is left the accelerator of the lowest index starts, which may add events, and so on until both are empty.
 */
export class EventLine {
  readonly #deliver: (event: ExecutorEvent) => void;
  readonly #start: (accelerator: number, nowNs: number) => void;
  readonly #events: ExecutorEvent[] = [];
  /** Ascending, each once. */
  readonly #awake: number[] = [];
  #settling: boolean = false;
  #closed: boolean = false;

  constructor(deliver: (event: ExecutorEvent) => void, start: (accelerator: number, nowNs: number) => void) {
    this.#deliver = deliver;
    this.#start = start;
  }

  push(event: ExecutorEvent): void {
    this.#events.push(event);
  }

  wake(accelerator: number): void {
    let at = this.#awake.length;
    while (at > 0 && (this.#awake[at - 1] ?? -1) > accelerator) at--;
    if (this.#awake[at - 1] !== accelerator) this.#awake.splice(at, 0, accelerator);
  }

  /** From within a delivery this does nothing: the delivery under way goes on with what was added. */
  settle(nowNs: number): void {
    if (this.#settling) return;
    this.#settling = true;
    try {
      while (!this.#closed) {
        this.#deliverAll();
        const accelerator = this.#awake.shift();
        if (accelerator === undefined) return;
        if (!this.#closed) this.#start(accelerator, nowNs);
      }
    } finally {
      this.#settling = false;
    }
  }

  close(): void {
    this.#closed = true;
  }

  /** An event leaves the line even when the master throws on it, so that it never gets one twice. */
  #deliverAll(): void {
    let delivered = 0;
    try {
      for (let event = this.#events[0]; event !== undefined && !this.#closed; event = this.#events[delivered]) {
        delivered++;
        this.#deliver(event);
      }
    } finally {
      this.#events.splice(0, delivered);
    }
  }
}
