import { type Random, seededRandom } from "@slicescheduler/workloads";

export interface LiveRequest {
  /** Which online instance it is for; of offline requests 0. */
  readonly tenant: number;
  readonly class: "online" | "offline";
  /** Nanoseconds from the start of the window. */
  readonly arrivalNs: number;
  readonly prompt: readonly number[];
  readonly count: number;
}

export interface LiveLoad {
  readonly windowNs: number;
  readonly tenants: number;
  readonly onlinePerTenantPerSecond: number;
  readonly offlinePerSecond: number;
  readonly vocabulary: number;
}

/** Uniformly from the first to the last. */
export const ONLINE = { promptTokens: [16, 128], outputTokens: [8, 24] } as const;
export const OFFLINE = { promptTokens: [128, 128], outputTokens: [12, 12] } as const;

/** Poisson arrivals for each tenant, and of offline requests; by arrival. */
export function drawRequests(load: LiveLoad, seed: number): LiveRequest[] {
  const tenants = Array.from({ length: load.tenants }, (_, tenant) =>
    drawStream(load, seededRandom(seed, tenant), load.onlinePerTenantPerSecond, { tenant, class: "online" }),
  );
  const offline = drawStream(load, seededRandom(seed, load.tenants), load.offlinePerSecond, {
    tenant: 0,
    class: "offline",
  });
  return [...tenants.flat(), ...offline].sort((a, b) => a.arrivalNs - b.arrivalNs);
}

function drawStream(
  { windowNs, vocabulary }: LiveLoad,
  random: Random,
  perSecond: number,
  kind: Pick<LiveRequest, "tenant" | "class">,
): LiveRequest[] {
  const requests: LiveRequest[] = [];
  const { promptTokens, outputTokens } = kind.class === "online" ? ONLINE : OFFLINE;
  const between = ([least, most]: readonly [number, number]) => least + Math.floor(random() * (most - least + 1));
  for (let atNs = 0; ; ) {
    atNs += (-Math.log(1 - random()) * 1e9) / perSecond;
    if (!(atNs < windowNs)) return requests;
    const prompt = Array.from({ length: between(promptTokens) }, () => Math.floor(random() * vocabulary));
    requests.push({ ...kind, arrivalNs: Math.round(atNs), prompt, count: between(outputTokens) });
  }
}
