import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadAddon } from "../native/addon.ts";
import { describeNative } from "../native/describe-native.fixture.ts";
import { withFaults } from "../programs/errors.ts";
import { lowerWeights } from "./lower.ts";
import type { WeightsSource } from "./types.ts";

let folder = "";

const open = (source: WeightsSource, allowTorchScript = false) =>
  withFaults("weights", () => loadAddon().openWeights(lowerWeights(source, "weights"), allowTorchScript));

/** What opening it throws. */
const refusal = (source: WeightsSource) => {
  try {
    open(source);
  } catch (error) {
    return error;
  }
  return undefined;
};

describeNative("sources of weights, opened", () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "slice-weights-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("tell their bytes before anything is loaded", () => {
    const tensors = { a: { shape: [3, 5], dtype: "bfloat16" }, b: { shape: [7], dtype: "int64", fill: 1 } } as const;
    expect(open({ seed: 1, tensors }).bytes).toBe(3 * 5 * 2 + 7 * 8);
  });

  test("of TorchScript are refused, unread, unless they are allowed", () => {
    const scripts = { block: join(folder, "missing.pt") };
    expect(refusal({ scripts })).toMatchObject({
      code: "SCRIPT_DENIED",
      message: expect.stringMatching(/allowTorchScript/),
    });
    expect(open({ scripts }, true).bytes).toBe(0);
  });

  test("that are no files, no safetensors, or lack a tensor, are typed errors that name the file", () => {
    const path = join(folder, "file.safetensors");
    expect(refusal({ safetensors: path, tensors: {} })).toMatchObject({
      code: "FILE_UNREADABLE",
      message: expect.stringMatching(/file\.safetensors: No such file/),
    });
    writeFileSync(path, "no safetensors at all");
    expect(refusal({ safetensors: path, tensors: {} })).toMatchObject({
      code: "FILE_INVALID",
      message: expect.stringMatching(/file\.safetensors: a header of/),
    });
    const header = new TextEncoder().encode("{}");
    writeFileSync(path, Buffer.concat([new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer), header]));
    expect(open({ safetensors: path, tensors: {} }).bytes).toBe(0);
    expect(refusal({ safetensors: path, tensors: { w: "layer.w" } })).toMatchObject({
      code: "WEIGHTS_INVALID",
      message: expect.stringMatching(/no tensor "layer\.w"/),
    });
  });

  test("of the addon are what the addon made, and nothing else", () => {
    const addon = loadAddon();
    const { source } = open({ seed: 1, tensors: {} });
    const { program } = addon.compileProgram('{"name":"p","inputs":0,"symbols":[],"calls":[],"outputs":[]}');
    const run = (given: unknown, weights: unknown) =>
      addon.runProgram(given as typeof program, {
        device: "cpu",
        inputs: [],
        symbols: [],
        weights: [weights as typeof source],
        feeds: {},
      });
    expect(run(program, source).outputs).toEqual([]);
    for (const [given, weights] of [
      [program, program],
      [source, source],
      [{}, source],
      [undefined, source],
      [program, 7],
    ]) {
      expect(() => run(given, weights)).toThrow(TypeError);
    }
  });
});
