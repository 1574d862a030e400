/** A small Llama-shaped model with random weights on this machine's CPUs: real tensors, real tokens, and no sense in them. */
import { libtorchExecutor } from "@slicescheduler/executor-libtorch";
import {
  defineLlama,
  type LlamaShape,
  llamaModel,
  llamaPartitions,
  seededLlamaWeights,
} from "@slicescheduler/executor-libtorch/llama";
import { SliceScheduler } from "slicescheduler";
import type { ModelOptions } from "./model.ts";
import { chainOf, retained, type TextModel } from "./text-model.ts";
import { VOCABULARY } from "./tokenizer.ts";

const shape: LlamaShape = {
  name: "small",
  layers: 4,
  hidden: 64,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  intermediate: 176,
  vocabulary: VOCABULARY,
};
const LAYERS_PER_OPERATOR = 2;
const ACCELERATORS = ["cpu0", "cpu1"];

/** Throws LIBTORCH_MISSING where the addon is not built: `npm run setup:libtorch`. */
export function libtorchModel({ scheduling, metrics }: ModelOptions): TextModel {
  const partitions = llamaPartitions(ACCELERATORS, shape.layers / LAYERS_PER_OPERATOR);
  const model = llamaModel({ shape, layersPerOperator: LAYERS_PER_OPERATOR, partitions });
  const tokens = new Map<number, number>();
  const executor = libtorchExecutor({
    onFetched: ({ instance, name, data }) => {
      if (name === "token") tokens.set(instance, Number(data[0]));
    },
  });
  defineLlama(executor, model, seededLlamaWeights(shape, 1));
  const accelerators = ACCELERATORS.map((name) => ({ name, kind: "cpu", hbmBytes: 64e6 }));
  const scheduler = new SliceScheduler({
    cluster: { accelerators, defaultLink: { latencyNs: 20_000, bytesPerSecond: 4e9 } },
    executor,
    scheduling,
    ...(metrics === undefined ? {} : { metrics }),
    hostNowNs: () => performance.now() * 1e6,
  });
  const prefill = scheduler.register(model.prefill.template);
  const decode = scheduler.register(model.decode.template);
  return {
    id: "small-random-llama",
    fingerprint: "libtorch: random weights",
    contextTokens: 1024,
    scheduler,
    ...chainOf(scheduler, prefill, decode),
    prefill: (request, prompt, capacity, isLast) => {
      const ids = BigInt64Array.from(prompt, BigInt);
      const prepare = (instance: number) =>
        executor.feed(instance, "prompt", { dtype: "int64", shape: [prompt.length], data: ids });
      const symbols = { tokens: prompt.length, capacity };
      return scheduler.submit(prefill, { request, prepare, symbols, retain: retained(isLast) });
    },
    tokenOf: ({ id }) => {
      const token = tokens.get(id);
      tokens.delete(id);
      executor.unfeed(id);
      if (token === undefined) throw new Error(`instance ${id} is done, and its token was not handed out`);
      return token;
    },
    // One that was cancelled while it ran may still hand out its token.
    forget: ({ id }) => {
      executor.unfeed(id);
      setTimeout(() => tokens.delete(id), FORGET_MS).unref();
    },
    close: () => scheduler.close(),
  };
}

const FORGET_MS = 5000;
