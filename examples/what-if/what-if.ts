/**
 * An application asks before it submits: when would this be done, and whom would it delay? What costs others too much is put off. `node examples/run.mjs what-if` runs it.
 */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { colocationCluster, llamaPrefill } from "@slicescheduler/workloads";
import { type AffectedInstance, SliceScheduler } from "slicescheduler";

const cluster = colocationCluster();
const time = new SimulatedTime();
const scheduler = new SliceScheduler({ cluster, executor: virtualExecutor({ seed: 1, time }) });
const prefill = scheduler.register(llamaPrefill({ cluster, layersPerOperator: 8 }));

/** Of those that end later than they would otherwise, the one that loses most, in nanoseconds; 0 when nobody does. */
const worstDelayNs = (affected: readonly AffectedInstance[]): number =>
  affected.reduce((worstNs, { delayNs }) => Math.max(worstNs, delayNs ?? 0), 0);

/** Submits prompts of so many tokens, except those that would delay somebody by more than `delayNsMax`. */
export function admit(prompts: readonly number[], delayNsMax: number): { admitted: number[]; predictedNs: number[] } {
  const admitted: number[] = [];
  const predictedNs: number[] = [];
  for (const tokens of prompts) {
    const { submitted, affected } = scheduler.whatIf(prefill, { symbols: { tokens } });
    const endNs = submitted[0]?.endNs ?? null;
    if (endNs === null || worstDelayNs(affected) > delayNsMax) continue;
    admitted.push(scheduler.submit(prefill, { symbols: { tokens } }).id);
    predictedNs.push(endNs);
  }
  return { admitted, predictedNs };
}

/** What the scheduler is about to do with everything that it has. */
export const plan = () => scheduler.plan();

/** Lets everything end. */
export function finish(): Map<number, number> {
  const endNs = new Map<number, number>();
  scheduler.on("instanceDone", ({ instance, atNs }) => endNs.set(instance, atNs));
  time.run();
  return endNs;
}
