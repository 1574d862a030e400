import type { Dtype } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";
import { lowerWeights } from "./lower.ts";
import type { WeightsSource } from "./types.ts";

describe("sources of weights in their native form", () => {
  test("a source becomes JSON, with its defaults", () => {
    const seeded: WeightsSource = {
      seed: 3,
      tensors: {
        w: { shape: [2, 0], dtype: "float16" },
        b: { shape: [], dtype: "int8", fill: -1 },
        v: { shape: [1], dtype: "float32", std: 0 },
      },
    };
    expect(JSON.parse(lowerWeights(seeded, "it"))).toEqual({
      seed: 3,
      tensors: {
        w: { shape: [2, 0], dtype: "float16", std: 1 },
        b: { shape: [], dtype: "int8", fill: -1 },
        v: { shape: [1], dtype: "float32", std: 0 },
      },
    });
    const file = { safetensors: "model.safetensors", tensors: { w: "layers.0.w" } };
    expect(JSON.parse(lowerWeights(file, "it"))).toEqual(file);
    expect(JSON.parse(lowerWeights({ scripts: { block: "block.pt" } }, "it"))).toEqual({
      scripts: { block: "block.pt" },
    });
  });

  test.each<[string, unknown, RegExp]>([
    ["neither file, seed nor scripts", { tensors: {} }, /neither safetensors nor scripts/],
    ["nothing", null, /from an object, got null/],
    ["a seed without tensors", { seed: 1 }, /no tensors/],
    ["a tensor without sizes", { seed: 1, tensors: { w: { dtype: "float32" } } }, /it, w is not/],
    ["a file without names", { safetensors: "f" }, /by their names, got undefined/],
    ["a negative seed", { seed: -1, tensors: {} }, /seed is -1/],
    ["a fractional size", { seed: 1, tensors: { w: { shape: [1.5], dtype: "float32" } } }, /it, w has the size 1.5/],
    ["an unknown type", { seed: 1, tensors: { w: { shape: [1], dtype: "real" } } }, /"real"/],
    ["a negative std", { seed: 1, tensors: { w: { shape: [1], dtype: "float32", std: -1 } } }, /std -1/],
    ["an infinite fill", { seed: 1, tensors: { w: { shape: [1], dtype: "float32", fill: Infinity } } }, /Infinity/],
    ["a misspelt source", { safetensor: "f", tensors: {} }, /no field "safetensor".*did you mean "safetensors"/],
    ["two sources", { safetensors: "f", tensors: {}, seed: 1 }, /no field "seed"/],
    ["a misspelt field", { seed: 1, tensors: { w: { shape: [1], dtype: "float32", fil: 1 } } }, /did you mean "fill"/],
    ["a path that is none", { safetensors: 3, tensors: {} }, /path/],
    ["a name that is none", { safetensors: "f", tensors: { w: 3 } }, /w comes from is named by a string, got number/],
    ["a script that is none", { scripts: { w: 3 } }, /got number/],
  ])("%s is refused", (_, source, message) => {
    expect(() => lowerWeights(source as WeightsSource, "it")).toThrow(
      expect.objectContaining({ code: "WEIGHTS_INVALID" }),
    );
    expect(() => lowerWeights(source as WeightsSource, "it")).toThrow(message);
  });

  const filled = (dtype: Dtype, fill: number) =>
    lowerWeights({ seed: 1, tensors: { w: { shape: [1], dtype, fill } } }, "it");

  test.each<[Dtype, readonly number[], readonly number[]]>([
    ["float64", [1e300], []],
    ["float32", [3.4028234663852886e38, -1e-300, 0.1], [1e300, -3.5e38]],
    ["bfloat16", [3.3e38], [3.4e38]],
    ["float16", [65_504], [65_505, -1e6]],
    ["float8", [448], [449]],
    ["int64", [-(2 ** 63), 2 ** 62], [1.5, 2 ** 63]],
    ["int32", [-(2 ** 31), 2 ** 31 - 1], [2 ** 31, 0.1]],
    ["int16", [-32_768], [32_768]],
    ["int8", [-128, 127], [128]],
    ["uint8", [0, 255], [300, -1]],
    ["bool", [0, 1], [2, 0.5]],
  ])("a fill of %s is one of its numbers", (dtype, good, bad) => {
    for (const fill of good) expect(() => filled(dtype, fill)).not.toThrow();
    for (const fill of bad)
      expect(() => filled(dtype, fill)).toThrow(
        expect.objectContaining({ code: "WEIGHTS_INVALID", message: expect.stringContaining(`${fill}, and`) }),
      );
  });
});
