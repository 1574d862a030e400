/** The generated stand-in against figures measured on the real recipe, which are quoted here so that no file is needed. */
import {
  azure2023Profile,
  colocationShare,
  generateTraces,
  recipeB48,
  serialTtftMs,
  serialUtilization,
  serveSerially,
  type Workload,
} from "@slicescheduler/workloads";
import { describe, expect, test } from "vitest";

/** Real B48 at share .0325 with serial servers. */
const real = { requests: 1394, inputTokens: 2060.8, outputTokens: 14.82, utilization: 0.48, ttftP90Ms: 8037 };

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function generated(seed: number): Workload {
  const { arrivals, lengths } = generateTraces(azure2023Profile, seed);
  return recipeB48(arrivals, lengths, colocationShare);
}

function figures(workload: Workload): typeof real {
  const requests = workload.tenants.flat();
  const served = serveSerially(workload);
  return {
    requests: requests.length,
    inputTokens: mean(requests.map((r) => r.inputTokens)),
    outputTokens: mean(requests.map((r) => r.outputTokens)),
    utilization: mean(serialUtilization(served, workload.windowNs)),
    ttftP90Ms: serialTtftMs(served)?.p90 ?? 0,
  };
}

describe("workload generated from the built-in profile", () => {
  const seeds = Array.from({ length: 11 }, (_, i) => i + 1);
  const all = seeds.map((seed) => figures(generated(seed)));

  test("every seed: count within 4 %, mean lengths within 5 %, utilisation within 6 % of the real ones", () => {
    for (const found of all) {
      expect(Math.abs(found.requests / real.requests - 1)).toBeLessThan(0.04);
      expect(Math.abs(found.inputTokens / real.inputTokens - 1)).toBeLessThan(0.05);
      expect(Math.abs(found.outputTokens / real.outputTokens - 1)).toBeLessThan(0.05);
      expect(Math.abs(found.utilization / real.utilization - 1)).toBeLessThan(0.06);
    }
  });

  test("p90 TTFT, which hangs on the queueing of a few minutes: median over seeds within 20 %, every seed within 50 %", () => {
    expect(Math.abs(median(all.map((found) => found.ttftP90Ms)) / real.ttftP90Ms - 1)).toBeLessThan(0.2);
    for (const found of all) expect(Math.abs(found.ttftP90Ms / real.ttftP90Ms - 1)).toBeLessThan(0.5);
  });

  test("equal seeds give equal workloads, different seeds different ones", () => {
    expect(generated(7)).toEqual(generated(7));
    expect(generated(7)).not.toEqual(generated(8));
  });

  test("it says that it is generated", () => {
    expect(generateTraces(azure2023Profile, 1)).toMatchObject({ generated: true, profile: "azure-llm-2023" });
  });
});
