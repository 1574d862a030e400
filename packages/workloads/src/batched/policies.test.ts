import { describe, expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { llama3_8b } from "../llama/shape.ts";
import { type BatchedPolicyTerms, batchedPolicy, batchedPolicyNames } from "./policies.ts";
import { poolTokensFor } from "./pool-size.ts";
import { allTemplates, batchedTemplates } from "./templates.ts";

const terms: BatchedPolicyTerms = { tenants: 4, accelerators: 8, onlineStepTokens: 64, offlineStepTokens: 92 };

describe("batched policies", () => {
  test("every one has its four online engines on the pairs", () => {
    for (const name of batchedPolicyNames) {
      const { online } = batchedPolicy(name, terms);
      expect(online.lanes.map(({ partition }) => partition)).toEqual(["pair0", "pair1", "pair2", "pair3"]);
    }
  });

  test.each([
    ["static-online", []],
    ["subset-share", ["quad0"]],
    ["dual-share", ["quad0", "quad1"]],
    ["dual-share-eager", ["quad0", "quad1"]],
    ["full-share", ["spread0", "spread1"]],
    ["slicescheduler", ["pair0", "pair1", "pair2", "pair3", "quad0", "quad1"]],
    ["slicescheduler-online", []],
  ])("%s has its offline engines where it says", (name, partitions) => {
    const { offline } = batchedPolicy(name, terms);
    expect((offline?.lanes ?? []).map(({ partition }) => partition)).toEqual(partitions);
  });

  test("what there is not is refused by code", () => {
    const code = (make: () => unknown): unknown => {
      try {
        return make();
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    expect(code(() => batchedPolicy("dual-shar", terms))).toBe("UNKNOWN_POLICY");
    expect(code(() => batchedPolicy("static-online", { ...terms, tenants: 5 }))).toBe("INVALID_OPTION");
    expect(code(() => batchedPolicy("subset-share", { ...terms, accelerators: 2, tenants: 1 }))).toBe("INVALID_OPTION");
    expect(code(() => batchedPolicy("full-share", { ...terms, accelerators: 4, tenants: 2 }))).toBe("INVALID_OPTION");
  });
});

describe("poolTokensFor", () => {
  const pairs = [0, 1].map((i) => ({
    name: `pair${i}`,
    accelerators: [`a${2 * i}`, `a${2 * i + 1}`],
    layout: [0, 0, 1, 1],
  }));
  const templates = batchedTemplates({ poolTokens: 16, partitions: pairs, layersPerOperator: 8 });
  const lane = (index: number) => ({ name: `lane ${index}`, partition: `pair${index}`, stages: 2 });
  const of = (hbmBytes: number, ...lanes: ReturnType<typeof lane>[]): number =>
    poolTokensFor(colocationCluster({ hbmBytes, accelerators: 4 }), llama3_8b, lanes, templates, 16);
  /** Sixteen layers, and the embedding or the head. */
  const weights = 16 * 436_224_000 + 1_050_673_152;

  test("takes nine tenths of what the weights leave, in whole pages", () => {
    const tokens = of(weights + 20e9, lane(0));
    expect(tokens % 16).toBe(0);
    expect(tokens * 65_536).toBeLessThanOrEqual(18e9);
    expect((tokens + 16) * 65_536).toBeGreaterThan(18e9 - 16 * 512);
  });

  test("engines on one accelerator share it, those elsewhere do not", () => {
    const alone = of(weights + 20e9, lane(0));
    expect(of(weights + 20e9, lane(0), lane(1))).toBe(alone);
    expect(Math.abs(of(weights + 20e9, lane(0), lane(0)) - alone / 2)).toBeLessThanOrEqual(16);
  });

  test("says which accelerator is too small", () => {
    expect(() => of(weights + 1e6, lane(0))).toThrow(/a0: 8\.03 GB of weights leave no page of 16 tokens/);
  });
});

describe("templates", () => {
  test("engines of eight layers an operator and of four share the weights by name", () => {
    const four = { name: "pair0", accelerators: ["a0", "a1"], layout: [0, 0, 1, 1] };
    const eight = { name: "pair0", accelerators: ["a0", "a1"], layout: [0, 0, 0, 0, 1, 1, 1, 1] };
    const weightsOf = (layersPerOperator: number, partition: typeof four): Map<string, number> => {
      const templates = batchedTemplates({ poolTokens: 16, partitions: [partition], layersPerOperator });
      return new Map(
        allTemplates(templates).flatMap((spec) => spec.operators.flatMap((it) => Object.entries(it.weights ?? {}))),
      );
    };
    const weights = weightsOf(8, four);
    expect(weights.size).toBe(34);
    expect(new Map([...weights].sort())).toEqual(new Map([...weightsOf(4, eight)].sort()));
    expect([...weights.values()].reduce((a, b) => a + b, 0)).toBe(32 * 436_224_000 + 2 * 1_050_673_152);
  });

  test("bad sizes are refused", () => {
    expect(() => batchedTemplates({ poolTokens: 16, partitions: [], layersPerOperator: 5 })).toThrow(/divisor of 32/);
    expect(() => batchedTemplates({ poolTokens: 0, partitions: [], layersPerOperator: 8 })).toThrow(/poolTokens/);
  });
});
