import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterSpec } from "@slicescheduler/templates";
import { SliceScheduler } from "slicescheduler";
import { afterAll, beforeAll, expect, test } from "vitest";
import { libtorchExecutor, runDirect } from "../index.ts";
import { describeNative } from "../native/describe-native.fixture.ts";
import type { WeightsSource } from "../weights/types.ts";
import { randomValues, safetensorsFile, uniform } from "./checkpoint.fixture.ts";
import { llamaDirectSteps } from "./direct-steps.ts";
import { type GenerateOptions, generate, registerLlama } from "./generate.fixture.ts";
import { defineLlama, llamaModel } from "./model.ts";
import { llamaPartitions } from "./partitions.ts";
import { ReferenceLlama } from "./reference.fixture.ts";
import type { LlamaShape } from "./shape.ts";
import { safetensorsLlamaWeights, seededLlamaWeights } from "./weights.ts";

const shape: LlamaShape = {
  name: "tiny",
  layers: 4,
  hidden: 32,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  intermediate: 48,
  vocabulary: 97,
};
const names = ["a0", "a1", "a2", "a3"];
const cluster: ClusterSpec = {
  accelerators: names.map((name) => ({ name, kind: "cpu", hbmBytes: 4e6 })),
  defaultLink: { latencyNs: 20_000, bytesPerSecond: 4e9 },
};

interface Observed {
  readonly operator: string;
  readonly peakBytes: number;
  readonly declaredBytes: number;
}

/** A scheduler with the model on four accelerators, and what came out of it. */
class Setup {
  readonly observed: Observed[] = [];
  readonly tokens = new Map<number, number>();
  readonly logits = new Map<number, ArrayLike<number>>();
  readonly executor = libtorchExecutor({
    onFetched: ({ instance, name, data }) => {
      if (name === "token") this.tokens.set(instance, Number(data[0]));
      else this.logits.set(instance, Array.from(data, Number));
    },
    onObserved: ({ template, operator, peakBytes, declaredBytes }) => {
      this.observed.push({ operator: `${template}/${operator}`, peakBytes, declaredBytes });
    },
  });
  readonly scheduler: SliceScheduler;
  readonly handles;

  constructor(weights: Readonly<Record<string, WeightsSource>>, fetchLogits: boolean) {
    const model = llamaModel({ shape, partitions: llamaPartitions(names, shape.layers), fetchLogits });
    defineLlama(this.executor, model, weights);
    this.scheduler = new SliceScheduler({ cluster, executor: this.executor });
    this.handles = registerLlama(this.scheduler, model);
  }

  generate(options: GenerateOptions): Promise<number[]> {
    return generate(this.scheduler, this.handles, this.executor, options);
  }

  async tokensOf(options: GenerateOptions): Promise<number[]> {
    return (await this.generate(options)).map((instance) => this.tokens.get(instance) ?? Number.NaN);
  }
}

/** Prompts of 1 to 24 tokens. */
function prompts(count: number, seed: number): number[][] {
  const next = uniform(seed);
  const below = (most: number) => Math.floor(next() * most);
  return Array.from({ length: count }, () => Array.from({ length: 1 + below(24) }, () => below(shape.vocabulary)));
}

const values = randomValues(shape, 5);
let folder = "";
let weights: Record<string, WeightsSource> = {};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "llama-"));
  const file = join(folder, "model.safetensors");
  writeFileSync(file, safetensorsFile(shape, values));
  weights = safetensorsLlamaWeights(shape, { fileOf: () => file });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeNative("what a model of the family computes on CPU accelerators", () => {
  test("logits and tokens are those of the definition in double precision, the prompt in one piece or in several", async () => {
    const setup = new Setup(weights, true);
    const cases = prompts(6, 1).flatMap((prompt) => [
      { prompt, count: 6 },
      { prompt, count: 6, pieceTokensMax: 5 },
    ]);
    await Promise.all(
      cases.map(async (options) => {
        const instances = await setup.generate(options);
        const tokens = instances.map((instance) => setup.tokens.get(instance) ?? Number.NaN);
        const reference = new ReferenceLlama(shape, values);
        let expected: ArrayLike<number> = [];
        for (const token of options.prompt) expected = reference.next(token);
        instances.forEach((instance, index) => {
          const found = setup.logits.get(instance) ?? [];
          expect(found).toHaveLength(shape.vocabulary);
          const error = Math.max(...Array.from(expected, (value, i) => Math.abs(value - (found[i] ?? Number.NaN))));
          expect(error).toBeLessThan(1e-4);
          // Its own token goes on, so that one near tie does not end the comparison.
          expected = reference.next(tokens[index] ?? Number.NaN);
        });
        expect(tokens).toEqual(new ReferenceLlama(shape, values).generate(options.prompt, options.count));
      }),
    );
    setup.scheduler.close();
  });

  test("a pass over the capacity fails and yields no token, one that fills it does not", async () => {
    const setup = new Setup(weights, false);
    const { scheduler, executor, handles } = setup;
    const prepare = (tokens: number) => (instance: number) =>
      executor.feed(instance, "prompt", { dtype: "int64", shape: [tokens], data: new BigInt64Array(tokens) });
    const retain = ["kv", "token"] as const;
    const prefilled = async (tokens: number, capacity: number) => {
      const handle = scheduler.submit(handles.prefill, {
        symbols: { tokens, capacity },
        retain,
        prepare: prepare(tokens),
      });
      await handle.done;
      return handle;
    };
    const decoded = async (tokens: number, capacity: number) => {
      const before = await prefilled(tokens, capacity);
      const inputs = { kv: before.output("kv"), token: before.output("token") };
      await scheduler.submit(handles.decode, { symbols: { past: tokens, capacity }, inputs }).done;
    };
    const extended = async (tokens: number, capacity: number) => {
      const inputs = { kv: (await prefilled(tokens, capacity)).output("kv") };
      const symbols = { tokens: 2, past: tokens, capacity };
      await scheduler.submit(handles.extend, { symbols, inputs, prepare: prepare(2) }).done;
    };
    const refusal = expect.objectContaining({ message: expect.stringContaining("OPERATOR_FAILED") });
    await decoded(4, 5);
    await extended(4, 6);
    await expect(prefilled(5, 4)).rejects.toThrow(refusal);
    await expect(decoded(5, 5)).rejects.toThrow(refusal);
    await expect(extended(4, 5)).rejects.toThrow(refusal);
    await expect(extended(5, 5)).rejects.toThrow(refusal);
    expect(setup.tokens.size).toBe(7); // of the passes that fit
    scheduler.close();
  });

  test("seeds make weights: equal ones the same tokens, others other tokens", async () => {
    const of = async (seed: number) => {
      const setup = new Setup(seededLlamaWeights(shape, seed), false);
      const tokens = await Promise.all(prompts(8, 4).map((prompt) => setup.tokensOf({ prompt, count: 4 })));
      setup.scheduler.close();
      return tokens;
    };
    const first = await of(1);
    expect(await of(1)).toEqual(first);
    expect(await of(2)).not.toEqual(first);
  });
});

describeNative("placement and memory of a model on CPU accelerators", () => {
  test("100 prompts have the same tokens wherever they are laid, and those of a plain loop without a scheduler", async () => {
    const setup = new Setup(weights, false);
    const all = prompts(100, 2);
    const count = 4;
    const model = llamaModel({ shape, partitions: llamaPartitions(names, shape.layers) });
    const steps = all.flatMap((prompt) => llamaDirectSteps(model, prompt, count));
    const { fetched } = await runDirect({ cluster, weights, steps });
    const fetchedTokens = fetched.map(({ data }) => Number(data[0]));
    const plain = all.map((_, index) => fetchedTokens.slice(index * count, (index + 1) * count));
    expect(new Set(plain.flat()).size).toBeGreaterThan(20);
    const partitions = llamaPartitions(names, shape.layers).map(({ name }) => [name]);
    for (const layout of [...partitions, undefined]) {
      const found = await Promise.all(
        all.map((prompt, index) => {
          const priority = index % 3 === 0 ? "online" : "offline";
          return setup.tokensOf({ prompt, count, priority, ...(layout === undefined ? {} : { partitions: layout }) });
        }),
      );
      expect(found).toEqual(plain);
    }
    setup.scheduler.validate();
    expect(setup.scheduler.stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0, standstills: 0 });
    expect(setup.executor.stats()).toMatchObject({ overCapacityRefused: 0, operatorsFailed: 0 });
    expect(setup.executor.liveTensors()).toBe(0);
    setup.scheduler.close();
  });

  test("no operator ever takes more memory than its template declares, and most of what it declares", async () => {
    const setup = new Setup(seededLlamaWeights(shape, 3), true);
    for (const tokens of [1, 2, 7, 33, 80]) {
      const prompt = Array.from({ length: tokens }, (_, i) => (7 * i) % shape.vocabulary);
      await setup.generate({ prompt, count: 3 });
      await setup.generate({ prompt, count: 3, pieceTokensMax: 11 });
    }
    const { observed } = setup;
    expect(new Set(observed.map(({ operator }) => operator)).size).toBe(3 * shape.layers);
    const over = observed.filter(({ peakBytes, declaredBytes }) => peakBytes > declaredBytes);
    expect(over).toEqual([]);
    const largest = observed.reduce((a, b) => (a.declaredBytes > b.declaredBytes ? a : b));
    expect(largest.peakBytes).toBeGreaterThan(0.9 * largest.declaredBytes);
    setup.scheduler.close();
  });
});
