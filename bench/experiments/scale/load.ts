/** A load that keeps any number of accelerators as busy as `colocation` keeps its eight: requests in proportion to them. */
import { seededRandom, type Workload, type WorkloadRequest } from "@slicescheduler/workloads";

/** Per accelerator: 1,394 online requests in half an hour on eight, and one offline request a second. */
const ONLINE_PER_SECOND = 1394 / 1800 / 8;
const OFFLINE_PER_SECOND = 1 / 8;
/** Means of B48; the offline load of `colocation`. */
const ONLINE_INPUT_TOKENS = 2061;
const OUTPUT_TOKENS = 15;
const OFFLINE_INPUT_TOKENS = 2048;

export interface Load {
  readonly online: Workload;
  readonly offline: readonly WorkloadRequest[];
}

/** Poisson arrivals; prompts of 0.2 to 1.8 times the mean. */
export function loadFor(accelerators: number, windowNs: number, seed: number): Load {
  const random = seededRandom(seed, accelerators);
  const arrivals = (perSecond: number): number[] => {
    const times: number[] = [];
    const gap = (): number => (-Math.log(1 - random()) / perSecond) * 1e9;
    for (let atNs = gap(); atNs < windowNs; atNs += gap()) times.push(Math.floor(atNs));
    return times;
  };
  const tokens = (mean: number): number => Math.round(mean * (0.2 + 1.6 * random()));
  const requests = (perSecond: number, inputTokens: () => number): WorkloadRequest[] =>
    arrivals(perSecond * accelerators).map((arrivalNs) => ({
      tenant: 0,
      arrivalNs,
      inputTokens: inputTokens(),
      outputTokens: OUTPUT_TOKENS,
    }));
  const online = { windowNs, tenants: [requests(ONLINE_PER_SECOND, () => tokens(ONLINE_INPUT_TOKENS))] };
  return { online, offline: requests(OFFLINE_PER_SECOND, () => OFFLINE_INPUT_TOKENS) };
}
