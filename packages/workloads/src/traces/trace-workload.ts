/** From the requests of a trace to the input of a replay. */
import { EmptyWorkloadError, InvalidOptionError } from "../errors.ts";
import type { Workload, WorkloadRequest } from "../recipes/types.ts";
import type { TraceRequest } from "./types.ts";

export interface TraceWorkloadOptions {
  /** What arrives later is left out. Default: to the end of the second of the last arrival. */
  readonly windowNs?: number;
  /** Classes of requests that may wait. Default only "offline". */
  readonly offlineClasses?: readonly string[];
}

export interface TraceWorkload {
  readonly online: Workload;
  /** Ascending by arrival. */
  readonly offline: readonly WorkloadRequest[];
  /** Names of the online tenants, by their index; "default" for requests without one. */
  readonly tenants: readonly string[];
  /** The same of the tenants of `offline`, which are numbered on their own. */
  readonly offlineTenants: readonly string[];
}

const tenantsMax = 1000;

/**
 * Sorts the requests of a trace by class and tenant; tenants are numbered as they appear.
 * Errors: WORKLOAD_EMPTY when nothing is left, INVALID_OPTION for a window below 1 ns and more than 1,000 tenants. Linear.
 */
export function traceWorkload(rows: readonly TraceRequest[], options: TraceWorkloadOptions = {}): TraceWorkload {
  const { offlineClasses = ["offline"], windowNs = windowOf(rows) } = options;
  if (!(windowNs >= 1)) throw new InvalidOptionError("windowNs", windowNs, "1 or more");
  const byTenant = new Map<string, WorkloadRequest[]>();
  const offline: WorkloadRequest[] = [];
  const offlineTenants = new Map<string, number>();
  for (const { arrivalNs, inputTokens, outputTokens, tenant: name = "default", class: priority } of rows) {
    if (arrivalNs >= windowNs) continue;
    if (priority !== undefined && offlineClasses.includes(priority)) {
      const tenant = offlineTenants.get(name) ?? offlineTenants.size;
      offlineTenants.set(name, tenant);
      if (tenant === tenantsMax) throw tooManyTenants();
      offline.push({ tenant, arrivalNs, inputTokens, outputTokens });
      continue;
    }
    let requests = byTenant.get(name);
    if (requests === undefined) {
      if (byTenant.size === tenantsMax) throw tooManyTenants();
      requests = [];
      byTenant.set(name, requests);
    }
    const tenant = requests[0]?.tenant ?? byTenant.size - 1;
    requests.push({ tenant, arrivalNs, inputTokens, outputTokens });
  }
  if (byTenant.size === 0 && offline.length === 0) {
    throw new EmptyWorkloadError(`none of ${rows.length} requests arrives within ${windowNs} ns`);
  }
  return {
    online: { windowNs, tenants: [...byTenant.values()] },
    offline,
    tenants: [...byTenant.keys()],
    offlineTenants: [...offlineTenants.keys()],
  };
}

function tooManyTenants(): InvalidOptionError {
  return new InvalidOptionError("tenants", "more", `at most ${tenantsMax}`);
}

function windowOf(rows: readonly TraceRequest[]): number {
  return (Math.floor((rows.at(-1)?.arrivalNs ?? 0) / 1e9) + 1) * 1e9;
}
