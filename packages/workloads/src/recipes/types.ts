/** One request of a workload. */
export interface WorkloadRequest {
  /** Index of the model instance (tenant) it belongs to, 0-based. */
  readonly tenant: number;
  /** Nanoseconds since the window's start, whole, below the window's length. */
  readonly arrivalNs: number;
  /** Prompt tokens, at least 1. */
  readonly inputTokens: number;
  /** Output tokens, at least 1; the prefill yields the first. */
  readonly outputTokens: number;
}

/** Requests of several tenants over one window: one list per tenant, ascending by arrival. */
export interface Workload {
  readonly windowNs: number;
  readonly tenants: readonly (readonly WorkloadRequest[])[];
}

/** All requests of a workload by arrival, then tenant, then their order within the tenant. */
export function requestsByArrival(workload: Workload): WorkloadRequest[] {
  return workload.tenants.flat().sort((a, b) => a.arrivalNs - b.arrivalNs || a.tenant - b.tenant);
}

/** The part of a workload that arrives before `windowNs`. */
export function shortened(workload: Workload, windowNs: number): Workload {
  const tenants = workload.tenants.map((requests) => requests.filter((r) => r.arrivalNs < windowNs));
  return { windowNs: Math.min(windowNs, workload.windowNs), tenants };
}
