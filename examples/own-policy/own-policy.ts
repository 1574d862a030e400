/**
 * A scheduling policy of one's own beside the default one. The default takes whichever candidate is predicted to be done first.
 * This one packs: it takes the first partition, in the template's order, that is done almost as soon, so that the accelerators at the
 * end of the list stay free and can be switched off, or lent. `node examples/run.mjs own-policy` runs it.
 */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { type SchedulingPolicy, simulationGuided } from "@slicescheduler/scheduler";
import { colocationCluster, llamaPrefill } from "@slicescheduler/workloads";
import { SliceScheduler } from "slicescheduler";

/**
 * @param slack how much longer than with the best candidate a batch may take, as a share; 0 is the default policy but for ties.
 * A policy must be deterministic: it sees the round and nothing else, so that a recorded run can be replayed.
 */
export function packing(slack: number): SchedulingPolicy {
  return {
    name: `packing-${slack}`,
    choose(round) {
      const { candidates, nowNs } = round;
      const scoresNs: (number | null)[] = candidates.map(() => null);
      const first = candidates[0];
      if (first === undefined) throw new Error("a round has at least one candidate");
      // `simulate` plays the whole cluster forward with the batch on a candidate; given a bound, it stops when that is exceeded.
      let bestNs = Number.POSITIVE_INFINITY;
      candidates.forEach((candidate, index) => {
        const scoreNs = round.simulate(candidate, nowNs + (bestNs - nowNs) * (1 + slack));
        scoresNs[index] = scoreNs;
        bestNs = Math.min(bestNs, scoreNs ?? bestNs);
      });
      const enoughNs = nowNs + (bestNs - nowNs) * (1 + slack);
      const chosen = candidates.find((_, index) => (scoresNs[index] ?? Number.POSITIVE_INFINITY) <= enoughNs);
      // The scores come back in `explain`, for whoever asks why.
      return { candidate: chosen ?? first, scoresNs };
    },
  };
}

export interface Measured {
  readonly policy: string;
  /** From submission to the end, of all prompts. */
  readonly meanSeconds: number;
  /** That ran anything at all. */
  readonly acceleratorsUsed: number;
}

/** Plays prompts of 200 to 900 tokens, one every `everyMs`, on four pairs of accelerators under a policy. */
export function measure(policy: SchedulingPolicy, everyMs: number): Measured {
  const cluster = colocationCluster();
  const time = new SimulatedTime();
  const scheduler = new SliceScheduler({
    cluster,
    executor: virtualExecutor({ seed: 1, time }),
    scheduling: { policy },
  });
  const template = llamaPrefill({ cluster, layersPerOperator: 8 });
  // The pairs alone: where there is a choice between two and four accelerators, packing would be about that.
  const pairs = template.partitions.filter(({ name }) => name.startsWith("pair"));
  const prefill = scheduler.register({ ...template, partitions: pairs });
  const used = new Set<number>();
  const seconds: number[] = [];
  const submittedNs = new Map<number, number>();
  scheduler.on("operatorStarted", ({ accelerator }) => used.add(accelerator));
  scheduler.on("instanceDone", ({ instance, atNs }) => {
    seconds.push((atNs - (submittedNs.get(instance) ?? 0)) / 1e9);
  });
  for (let k = 0; k < 30; k++) {
    const atNs = k * everyMs * 1e6;
    time.at(atNs, { kind: 9, number: k }, () => {
      const { id } = scheduler.submit(prefill, { symbols: { tokens: 200 + ((k * 137) % 700) } });
      submittedNs.set(id, atNs);
    });
  }
  time.run();
  scheduler.close();
  const meanSeconds = seconds.reduce((sum, each) => sum + each, 0) / seconds.length;
  return { policy: policy.name, meanSeconds, acceleratorsUsed: used.size };
}

/** The default beside packing with more and more slack. */
export function compare(everyMs: number): Measured[] {
  return [simulationGuided, packing(0.1), packing(0.5), packing(2)].map((policy) => measure(policy, everyMs));
}
