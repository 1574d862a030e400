import type { RequestNode } from "@slicescheduler/gmg";

/** How long a request may wait, or last. */
export interface TimeLimits {
  /** From its submission to the start of its first operator; Infinity for no limit. */
  readonly queueTimeoutNs: number;
  /** Whether what is not done at its deadline fails. */
  readonly failAtDeadline: boolean;
}

export interface Expiry {
  readonly atNs: number;
  readonly kind: "queueTimeout" | "deadline";
  readonly request: RequestNode;
}

interface Watched extends TimeLimits {
  hasStarted: boolean;
  /** When its queue time-out is due; what was added for another time no longer counts. */
  queueDueNs: number;
  readonly pending: Set<Expiry["kind"]>;
}

/** When requests run out of time. What has nothing to lose any more wakes nobody. */
export class Expiries {
  readonly #watched = new WeakMap<RequestNode, Watched>();
  /** The earliest last. */
  readonly #pending: Expiry[] = [];

  /** Goes on where another one is. `twins` are the requests of its graph, each with its copy. */
  continueFrom(other: Expiries, twins: ReadonlyMap<RequestNode, RequestNode>): void {
    for (const [request, twin] of twins) {
      const watched = other.#watched.get(request);
      if (watched !== undefined) this.#watched.set(twin, { ...watched, pending: new Set(watched.pending) });
    }
    for (const { atNs, kind, request } of other.#pending) {
      const twin = twins.get(request);
      if (twin !== undefined) this.#pending.push({ atNs, kind, request: twin });
    }
  }

  opened(request: RequestNode, limits: TimeLimits): void {
    if (limits.queueTimeoutNs === Number.POSITIVE_INFINITY && !limits.failAtDeadline) return;
    this.#watched.set(request, { ...limits, hasStarted: false, queueDueNs: Number.NaN, pending: new Set() });
  }

  /** An instance of it was submitted. Costs a binary search, and moving those that are due earlier. */
  submitted(request: RequestNode, nowNs: number): void {
    const watched = this.#watched.get(request);
    if (watched === undefined) return;
    if (watched.failAtDeadline) this.#add(watched, { atNs: request.deadlineNs, kind: "deadline", request });
    if (watched.hasStarted) return;
    // Nobody else of it waits any more: the time begins anew.
    if (liveInstances(request) === 1) watched.pending.delete("queueTimeout");
    const atNs = nowNs + watched.queueTimeoutNs;
    if (!watched.pending.has("queueTimeout")) watched.queueDueNs = atNs;
    this.#add(watched, { atNs, kind: "queueTimeout", request });
  }

  started(request: RequestNode): void {
    const watched = this.#watched.get(request);
    if (watched !== undefined) watched.hasStarted = true;
  }

  failsAtDeadline(request: RequestNode): boolean {
    return this.#watched.get(request)?.failAtDeadline ?? false;
  }

  /** When the next one is due; Infinity when none is. Amortised O(instances of the requests that have ended). */
  get nextNs(): number {
    for (let next = this.#pending.at(-1); next !== undefined; next = this.#pending.at(-1)) {
      if (this.#matters(next)) return next.atNs;
      this.#takeNext();
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Takes out what is due now, the earliest first. */
  due(nowNs: number): Expiry[] {
    const due: Expiry[] = [];
    while (this.nextNs <= nowNs) due.push(this.#takeNext());
    return due;
  }

  #takeNext(): Expiry {
    const expiry = this.#pending.pop() as Expiry;
    const watched = this.#watched.get(expiry.request);
    if (expiry.kind === "deadline" || expiry.atNs === watched?.queueDueNs) watched?.pending.delete(expiry.kind);
    return expiry;
  }

  #matters({ atNs, kind, request }: Expiry): boolean {
    const watched = this.#watched.get(request);
    if (kind === "queueTimeout" && (watched?.hasStarted === true || watched?.queueDueNs !== atNs)) return false;
    return liveInstances(request) > 0;
  }

  /** At most one of a kind and request. */
  #add({ pending }: Watched, expiry: Expiry): void {
    if (expiry.atNs === Number.POSITIVE_INFINITY || pending.has(expiry.kind)) return;
    pending.add(expiry.kind);
    let low = 0;
    let high = this.#pending.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pending[middle] as Expiry).atNs >= expiry.atNs) low = middle + 1;
      else high = middle;
    }
    this.#pending.splice(low, 0, expiry);
  }
}

function liveInstances({ instances }: RequestNode): number {
  let live = 0;
  for (const { state } of instances) if (state === "live") live += 1;
  return live;
}
