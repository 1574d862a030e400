/** Where LibTorch is absent: the same scheduling in real time on virtual accelerators, and tokens that are made up, which they say themselves. */
import { RealTime, virtualExecutor } from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { SliceScheduler } from "slicescheduler";
import type { ModelOptions } from "./model.ts";
import { chainOf, retained, type TextModel } from "./text-model.ts";
import { encode } from "./tokenizer.ts";

const ACCELERATORS = ["virtual0", "virtual1"];
const LAYERS = [0, 1];
const MADE_UP = encode("These tokens are made up: no model runs here. ");
/** Of what one token takes in the cache of an operator. */
const WIDTH = 1024;

const partitions = [
  ...ACCELERATORS.map((name) => ({ name, accelerators: [name], layout: LAYERS.map(() => 0) })),
  { name: ACCELERATORS.join("+"), accelerators: ACCELERATORS, layout: LAYERS },
];

const token = { shape: [1], dtype: "int64" } as const;
const cache = { shape: ["capacity", WIDTH], dtype: "bfloat16" } as const;
const bundle = LAYERS.map((layer) => `layer${layer}.kv`);

const prefillTemplate = defineTemplate({
  name: "prefill",
  symbols: ["tokens", "capacity"],
  operators: LAYERS.map((layer) => ({
    name: `layer${layer}`,
    inputs: layer === 0 ? [] : ["layer0.hidden"],
    outputs: {
      kv: cache,
      ...(layer === 0 ? { hidden: { shape: ["tokens", WIDTH], dtype: "bfloat16" } as const } : { token }),
    },
  })),
  outputs: { kv: bundle, token: "layer1.token" },
  partitions,
});

const decodeTemplate = defineTemplate({
  name: "decode",
  symbols: ["past", "capacity"],
  inputs: { kv: LAYERS.map(() => cache), token },
  operators: LAYERS.map((layer) => ({
    name: `layer${layer}`,
    inputs: [...(layer === 0 ? ["token"] : ["layer0.hidden"]), `kv[${layer}]`],
    outputs: {
      kv: { ...cache, aliases: `kv[${layer}]` },
      ...(layer === 0 ? { hidden: { shape: [1, WIDTH], dtype: "bfloat16" } as const } : { token }),
    },
  })),
  outputs: { kv: bundle, token: "layer1.token" },
  partitions,
});

/** @param stepMs What an operator of a decode step takes. Default 2. */
export function virtualModel({
  scheduling,
  metrics,
  stepMs = 2,
}: ModelOptions & { readonly stepMs?: number }): TextModel {
  const time = new RealTime();
  const executor = virtualExecutor({
    seed: 1,
    time,
    operatorNs: ({ symbols }) => Math.round(stepMs * 1e6 * (1 + (symbols["tokens"] ?? 0) / 256)),
  });
  const accelerators = ACCELERATORS.map((name) => ({ name, kind: "virtual", hbmBytes: 64e6 }));
  const scheduler = new SliceScheduler({
    cluster: { accelerators, defaultLink: { latencyNs: 20_000, bytesPerSecond: 1e10 } },
    executor,
    scheduling,
    ...(metrics === undefined ? {} : { metrics }),
    hostNowNs: () => performance.now() * 1e6,
  });
  const prefill = scheduler.register(prefillTemplate);
  const decode = scheduler.register(decodeTemplate);
  return {
    id: "made-up",
    fingerprint: "virtual accelerators: the tokens are made up",
    contextTokens: 2048,
    scheduler,
    ...chainOf(scheduler, prefill, decode),
    prefill: (request, prompt, capacity, isLast) =>
      scheduler.submit(prefill, { request, symbols: { tokens: prompt.length, capacity }, retain: retained(isLast) }),
    tokenOf: (_, prompt, index) => MADE_UP[(index + hashOf(prompt)) % MADE_UP.length] ?? 0,
    forget: () => {},
    close: () => scheduler.close(),
  };
}

/** FNV-1a: the same prompt is answered the same. */
function hashOf(tokens: readonly number[]): number {
  let hash = 0x811c9dc5;
  for (const token of tokens) hash = Math.imul(hash ^ token, 0x01000193) >>> 0;
  return hash;
}
