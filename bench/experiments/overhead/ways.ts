/** The same prefills of one token three ways. A way runs a block of them and tells how long that took, in nanoseconds. */
import { type DirectStep, libtorchExecutor, openDirect } from "@slicescheduler/executor-libtorch";
import {
  defineLlama,
  type LlamaModel,
  type LlamaShape,
  llamaModel,
  llamaPartitions,
  seededLlamaWeights,
} from "@slicescheduler/executor-libtorch/llama";
import type { ClusterSpec } from "@slicescheduler/gmg";
import { SliceScheduler, type TemplateHandle } from "slicescheduler";
import { EagerMaster } from "./eager-master.ts";

export interface Way {
  readonly run: (prefills: number) => Promise<number>;
  readonly close: () => void;
}

/** The direct loop tells as well how long the fastest of its prefills took. */
export interface DirectWay extends Way {
  readonly fastestNs: (prefills: number) => Promise<number>;
}

export interface Prefills {
  readonly shape: LlamaShape;
  readonly cluster: ClusterSpec;
}

const SYMBOLS = { tokens: 1, capacity: 1 } as const;
const PROMPT = { dtype: "int64", shape: [1], data: BigInt64Array.of(1n) } as const;
/**
 * So many operators are issued ahead, also of those that take 0.1 ms, that the accelerator has work for some milliseconds, and JavaScript is woken when it is
 * down to a third of that.
 */
const AHEAD = {
  executor: { lookahead: 16 },
  scheduling: { timeliness: 1, operatorsPerAcceleratorMax: 48 },
} as const;
/** Prefills submitted and not done: what a server has under way. */
const WINDOW = 16;

/** A loop in C++ over the operators' programs: no queue, no account, nobody to report to. */
export function direct({ shape, cluster }: Prefills): DirectWay {
  const { template, programs } = modelOf(shape, cluster).prefill;
  const weights = seededLlamaWeights(shape, 1);
  const steps = template.operators.map(({ name: operator }, index): DirectStep => {
    const program = programs[operator];
    if (program === undefined) throw new Error(`no program of ${operator}`);
    // Each writes hidden states, or the token, and its cache, of which the next one reads the hidden states.
    const before = 2 * (index - 1);
    const common = { template, operator, program, symbols: SYMBOLS, outputs: [2 * index, 2 * index + 1] };
    if (index === 0) return { ...common, inputs: [], feeds: { prompt: PROMPT } };
    return { ...common, inputs: [before], drop: [before, before + 1] };
  });
  const hbmBytes = cluster.accelerators[0]?.hbmBytes ?? 0;
  // One for all blocks: as the others, it loads its weights once, and works in memory that is warm.
  const open = openDirect({ cluster, hbmBytes, weights, steps });
  const loop = async (repeat: number) => (await open.run(repeat)).loopNs;
  return {
    run: async (prefills) => (await loop(prefills)).reduce((sum, ns) => sum + ns, 0),
    fastestNs: async (prefills) => Math.min(...(await loop(prefills))),
    close: () => open.close(),
  };
}

/** Through the whole of SliceScheduler: submitted as instances, placed by simulation, issued, learned from. */
export function sliced({ shape, cluster }: Prefills): Way {
  const model = modelOf(shape, cluster);
  const executor = libtorchExecutor(AHEAD.executor);
  defineLlama(executor, model, seededLlamaWeights(shape, 1));
  const scheduler = new SliceScheduler({ cluster, executor, scheduling: AHEAD.scheduling });
  const prefill: TemplateHandle<LlamaModel["prefill"]["template"]> = scheduler.register(model.prefill.template);
  const one = async (): Promise<void> => {
    const prepare = (instance: number) => executor.feed(instance, "prompt", PROMPT);
    const handle = scheduler.submit(prefill, { symbols: SYMBOLS, prepare });
    await handle.done;
    executor.unfeed(handle.id);
  };
  return {
    run: async (prefills) => {
      const { clock } = executor;
      const sinceNs = clock.nowNs();
      let left = prefills;
      const stream = async (): Promise<void> => {
        while (left-- > 0) await one();
      };
      await Promise.all(Array.from({ length: WINDOW }, stream));
      return clock.nowNs() - sinceNs;
    },
    close: () => scheduler.close(),
  };
}

/** Operator by operator from JavaScript: each is issued when the one before is known to be done. */
export function eager({ shape, cluster }: Prefills): Way {
  const model = modelOf(shape, cluster);
  const executor = libtorchExecutor();
  defineLlama(executor, model, seededLlamaWeights(shape, 1));
  const master = new EagerMaster(executor, cluster, model.prefill.template);
  return {
    run: async (prefills) => {
      const { clock } = executor;
      const sinceNs = clock.nowNs();
      for (let i = 0; i < prefills; i++) {
        await master.run(SYMBOLS, (instance) => executor.feed(instance, "prompt", PROMPT));
        executor.unfeed(master.latestInstance);
      }
      return clock.nowNs() - sinceNs;
    },
    close: () => executor.close(),
  };
}

function modelOf(shape: LlamaShape, cluster: ClusterSpec): LlamaModel {
  const names = cluster.accelerators.map(({ name }) => name);
  return llamaModel({ shape, partitions: llamaPartitions(names, shape.layers, [1]) });
}
