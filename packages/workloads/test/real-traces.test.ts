/** The published figures of the public traces and of recipe B48; skipped, with a message, where the files are not at hand. */
import { join } from "node:path";
import {
  azure2023Profile,
  azureAttribution,
  colocationShare,
  idleOverlap,
  idleSlices,
  idleSlicesShare,
  measureProfile,
  readMooncakeTrace,
  readServeGenLengths,
  readServeGenWindows,
  recipeB,
  recipeB48,
  requestsByArrival,
  serialTtftMs,
  serialUtilization,
  serveSerially,
} from "@slicescheduler/workloads";
import { describe, expect, test } from "vitest";
import { azurePair, haveTraces, tracesDirectory } from "./real-traces.ts";

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const thousandths = (values: readonly number[]): string[] => values.map((value) => value.toFixed(3));

describe.skipIf(!haveTraces)("public traces", () => {
  test("Azure: row counts and spans of the source's table", () => {
    const { arrivals, lengths, files } = azurePair();
    expect(files).toEqual({
      arrivals: "AzureLLMInferenceTrace_conv.csv",
      lengths: "AzureLLMInferenceTrace_code.csv",
    });
    expect(arrivals).toHaveLength(19366);
    expect(lengths).toHaveLength(8819);
    // 18:15:46.6805900 … 19:14:08.4025270 and 18:17:03.9799600 … 19:14:19.9280160, exact to 100 ns.
    expect(arrivals.at(-1)?.arrivalNs).toBe(3_501_721_937_000);
    expect(lengths.at(-1)?.arrivalNs).toBe(3_435_948_056_000);
    expect(lengths[0]).toEqual({ arrivalNs: 0, inputTokens: 4808, outputTokens: 10 });
  });

  test("Mooncake: row count, span and grid of the source's table", () => {
    const rows = readMooncakeTrace(join(tracesDirectory, "mooncake-fast25/conversation_trace.jsonl"));
    expect(rows).toHaveLength(12031);
    expect(rows.at(-1)?.arrivalNs).toBe(3_536_999_000_000);
    expect(new Set(rows.map((row) => row.arrivalNs)).size).toBe(1180);
    expect(rows.filter((row) => row.inputTokens + row.outputTokens > 8192)).toHaveLength(5570);
  });

  test("ServeGen: windows and mean lengths of the source's table", () => {
    for (const [chunk, input, output] of [
      [30, 1020, 13],
      [66, 803, 13],
    ] as const) {
      const prefix = join(tracesDirectory, `servegen/m-mid-chunk-${chunk}`);
      const windows = readServeGenWindows(`${prefix}-trace.csv`);
      expect(windows).toHaveLength(2016);
      expect(windows.every((window, i) => window.startSeconds === i * 600)).toBe(true);
      const lengths = readServeGenLengths(`${prefix}-dataset.json`);
      const average = (side: "inputTokens" | "outputTokens"): number =>
        mean(lengths.map((window) => window[side].reduce((sum, e) => sum + e.tokens * e.probability, 0)));
      expect(Math.abs(average("inputTokens") / input - 1)).toBeLessThan(0.05);
      expect(Math.abs(average("outputTokens") - output)).toBeLessThan(1);
    }
  });

  test("B48 at share .045 with serial servers: the reference's idle slices to the millisecond", () => {
    const { arrivals, lengths } = azurePair();
    const workload = recipeB48(arrivals, lengths, idleSlicesShare);
    expect(workload.tenants.flat()).toHaveLength(1869);
    const served = serveSerially(workload);
    expect(mean(serialUtilization(served, workload.windowNs)).toFixed(3)).toBe("0.645");
    const { idleMs } = idleSlices(served, workload.windowNs) ?? { idleMs: { p50: 0, p90: 0, p99: 0 } };
    expect([idleMs.p50, idleMs.p90, idleMs.p99].map(Math.round)).toEqual([2675, 9812, 18489]);
    expect(idleOverlap(served, workload.windowNs).toFixed(3)).toBe("0.029");
  });

  test("B48 at share .0325 with serial servers: the reference's utilisation, TTFT and overlap", () => {
    const { arrivals, lengths } = azurePair();
    const workload = recipeB48(arrivals, lengths, colocationShare);
    expect(workload.tenants.map((requests) => requests.length)).toEqual([342, 375, 360, 317]);
    const served = serveSerially(workload);
    const utilization = serialUtilization(served, workload.windowNs);
    expect(thousandths(utilization)).toEqual(["0.468", "0.499", "0.517", "0.435"]);
    expect(mean(utilization).toFixed(3)).toBe("0.480");
    expect(((serialTtftMs(served)?.p90 ?? 0) / 1000).toFixed(1)).toBe("8.0");
    expect(idleOverlap(served, workload.windowNs).toFixed(3)).toBe("0.116");
  });

  test("with the prefill yielding the first token, a pair's accelerators are busy .236 of the time", () => {
    const { arrivals, lengths } = azurePair();
    const workload = recipeB48(arrivals, lengths, colocationShare);
    const served = serveSerially(workload, { passes: "afterFirstToken" });
    const utilization = serialUtilization(served, workload.windowNs);
    expect(thousandths(utilization)).toEqual(["0.460", "0.490", "0.509", "0.427"]);
    expect((mean(utilization) / 2).toFixed(3)).toBe("0.236");
  });

  test("B takes the lengths of all rows, each tenant from another quarter on", () => {
    const { arrivals, lengths } = azurePair();
    const workload = recipeB(arrivals, lengths, colocationShare);
    expect(requestsByArrival(workload)).toHaveLength(1394);
    workload.tenants.forEach((requests, tenant) => {
      const { inputTokens, outputTokens } = lengths[2204 * tenant] ?? {};
      expect(requests[0]).toMatchObject({ inputTokens, outputTokens });
    });
  });

  test("the shipped profile is what the script measures", () => {
    const { arrivals, lengths } = azurePair();
    expect(measureProfile("azure-llm-2023", azureAttribution, arrivals, lengths)).toEqual(azure2023Profile);
  });
});
