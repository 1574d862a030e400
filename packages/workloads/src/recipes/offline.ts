import type { WorkloadRequest } from "./types.ts";

/** A steady offline load. */
export interface OfflineLoad {
  readonly requestsPerSecond: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The offline load of `colocation`: one request a second, 2048 tokens in, 15 out. */
export const colocationOffline: OfflineLoad = { requestsPerSecond: 1, inputTokens: 2048, outputTokens: 15 };

/** Its requests within the window: the k-th arrives k periods after the start, the first at 0. */
export function offlineRequests(load: OfflineLoad, windowNs: number): WorkloadRequest[] {
  const requests: WorkloadRequest[] = [];
  const { inputTokens, outputTokens } = load;
  for (let k = 0; ; k++) {
    const arrivalNs = Math.round((k * 1e9) / load.requestsPerSecond);
    if (!(arrivalNs < windowNs)) return requests;
    requests.push({ tenant: 0, arrivalNs, inputTokens, outputTokens });
  }
}
