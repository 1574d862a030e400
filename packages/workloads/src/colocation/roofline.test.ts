import { fc, test } from "@fast-check/vitest";
import { compileCluster, compileTemplate } from "@slicescheduler/gmg";
import { describe, expect } from "vitest";
import { llamaDecode, llamaPrefill } from "../llama/templates.ts";
import { colocationCluster } from "./cluster.ts";
import { calibratedEfficiency, rooflineDurations } from "./roofline.ts";

const spec = colocationCluster();

/** Nanoseconds of the second operator, in the middle of the model, where `factor` scales the accelerators' rates. */
function middleNs(pass: "prefill" | "decode", symbols: Record<string, number>, factor = 1): number {
  const cluster = {
    ...spec,
    accelerators: spec.accelerators.map((accelerator) => ({
      ...accelerator,
      flopsPerSecond: (accelerator.flopsPerSecond ?? 0) * factor,
      hbmBytesPerSecond: (accelerator.hbmBytesPerSecond ?? 0) * factor,
    })),
  };
  const compiled = compileCluster(cluster);
  const template = compileTemplate((pass === "prefill" ? llamaPrefill : llamaDecode)({ cluster }), compiled);
  const [accelerator] = compiled.accelerators;
  if (accelerator === undefined) throw new TypeError("no accelerator");
  const work = {
    issueNumber: 0,
    instance: 0,
    template: template.name,
    operator: 1,
    operatorName: "",
    symbols,
    accelerator,
  };
  return rooflineDurations({ cluster }).operatorNs({ ...work, binding: template.bind(symbols) });
}

describe("durations by roofline", () => {
  test("the calibration gives the measured durations back: a token of a prefill, a decode step", () => {
    // Attention comes on top: 3 % at 500 tokens; and the KV cache of a decode step: 1 % at 1,000.
    expect(middleNs("prefill", { tokens: 500 }) / (500 * 225_000)).toBeCloseTo(1.01, 1);
    expect(middleNs("decode", { past: 10 }) / 10_575_000).toBeCloseTo(1, 3);
    expect(calibratedEfficiency().compute).toBeCloseTo(0.2166, 4);
    expect(calibratedEfficiency().memory).toBeCloseTo(0.4125, 4);
  });

  test("a short prefill is bound by the weights it reads, as a decode step is", () => {
    expect(middleNs("prefill", { tokens: 1 })).toBeGreaterThan(10_000_000);
  });

  test.prop([fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 50 })])(
    "so many times the rates, that fraction of the time",
    (tokens, factor) => {
      for (const [pass, symbols] of [
        ["prefill", { tokens }],
        ["decode", { past: tokens }],
      ] as const) {
        expect(Math.abs(middleNs(pass, symbols, factor) - middleNs(pass, symbols) / factor)).toBeLessThanOrEqual(1.001);
      }
    },
  );

  test("an own efficiency by kind; none above 1", () => {
    const faster = { compute: 1, memory: 1 };
    expect(() => rooflineDurations({ cluster: spec, efficiency: { "virtual-a16": faster } })).not.toThrow();
    expect(() =>
      rooflineDurations({ cluster: spec, efficiency: { "virtual-a16": { compute: 1.1, memory: 1 } } }),
    ).toThrowError(/efficiency\.virtual-a16\.compute must be above 0 and at most 1, not 1\.1/);
  });

  test("accelerators without rates are named", () => {
    const cluster = { accelerators: [{ name: "bare", kind: "constructor", hbmBytes: 1e9 }] };
    expect(() => rooflineDurations({ cluster })).toThrowError(/declares flopsPerSecond.*for bare/);
  });
});
