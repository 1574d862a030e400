/**
 * A serving framework in miniature: a prefill and its decode steps are submitted as they become known, an offline request
 * fills what is left. `node examples/run.mjs embedding` runs it.
 */
import { virtualExecutor } from "@slicescheduler/executor";
import { colocationCluster, llamaDecode, llamaPrefill } from "@slicescheduler/workloads";
import { SliceScheduler } from "slicescheduler";

const cluster = colocationCluster();
const scheduler = new SliceScheduler({ cluster, executor: virtualExecutor({ seed: 1, operatorCv: 0.006 }) });
const prefill = scheduler.register(llamaPrefill({ cluster, layersPerOperator: 8 }));
const decode = scheduler.register(llamaDecode({ cluster, layersPerOperator: 8 }));

/** Generates `outputTokens` tokens and tells when each is there, in nanoseconds of the executor's clock. */
export async function generate(priority: string, inputTokens: number, outputTokens: number): Promise<number[]> {
  const request = scheduler.openRequest({
    priority,
    limits: [
      { template: prefill, symbols: { tokens: inputTokens } },
      { template: decode, symbols: { past: inputTokens + outputTokens } },
    ],
  });
  const retain = ["kv", "token"] as const;
  const first = scheduler.submit(prefill, { request, symbols: { tokens: inputTokens }, retain });
  const tokenNs = [(await first.done).doneNs];
  let before: Pick<typeof first, "output" | "release"> = first;
  while (tokenNs.length < outputTokens) {
    const symbols = { past: inputTokens + tokenNs.length - 1 };
    const inputs = { kv: before.output("kv"), token: before.output("token") };
    const step = scheduler.submit(decode, { request, symbols, inputs, retain });
    for (const name of retain) before.release(name);
    tokenNs.push((await step.done).doneNs);
    before = step;
  }
  for (const name of retain) before.release(name);
  request.close();
  return tokenNs;
}

export const stats = () => scheduler.stats();
