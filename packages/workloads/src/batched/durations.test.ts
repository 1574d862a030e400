import { describe, expect, test } from "vitest";
import { colocationDurations } from "../colocation/durations.ts";
import { batchedTransferNs, lightStepTokensMax, stepOperatorNs } from "./durations.ts";

const colocation = colocationDurations({ prefill: "prefill", decode: "decode" });

describe("true durations of steps", () => {
  test("one sequence that has nothing cached decodes as in colocation", () => {
    expect(stepOperatorNs(8, 1, 0)).toBe(10_575_000);
    expect(stepOperatorNs(8, 1, 0)).toBe(colocation.operatorNs("decode", { past: 1 }));
  });

  test.each([48, 64, 256, 2048])("a prompt of %i tokens alone takes what it takes in colocation", (tokens) => {
    expect(stepOperatorNs(8, tokens, 0)).toBe(colocation.operatorNs("prefill", { tokens }));
  });

  test("47 tokens are read in the time of one, 48 are not", () => {
    expect(lightStepTokensMax).toBe(47);
    expect(stepOperatorNs(8, 47, 0)).toBe(stepOperatorNs(8, 1, 0));
    expect(stepOperatorNs(8, 48, 0)).toBeGreaterThan(stepOperatorNs(8, 1, 0));
  });

  test("the cache is read at the rate at which the weights are: 330 GB/s", () => {
    const bytesPerSecond = (8 * 436_224_000) / 0.010575;
    expect(bytesPerSecond / 1e9).toBeCloseTo(330, 1);
    const tokens = 100_000;
    const readNs = ((tokens * 32_768) / bytesPerSecond) * 1e9;
    expect(stepOperatorNs(8, 1, tokens) - stepOperatorNs(8, 1, 0)).toBeCloseTo(readNs, -1);
    expect(readNs / tokens).toBeCloseTo(99.3, 1);
  });

  test("time is linear in the layers of an operator", () => {
    expect(stepOperatorNs(4, 200, 3000) * 2).toBeCloseTo(stepOperatorNs(8, 200, 3000), -1);
  });

  test("transfers are those of colocation", () => {
    expect(batchedTransferNs(12_000)).toBe(21_000);
  });
});
