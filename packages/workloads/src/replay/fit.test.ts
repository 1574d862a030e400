import { describe, expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { llama3_8b } from "../llama/shape.ts";
import { llamaDecode, llamaPrefill } from "../llama/templates.ts";
import { assertModelFits, largestRequestBytes, weightBytesPerAccelerator } from "./fit.ts";

const eightLayers = 8 * 436_224_000;
const embedding = 1_050_673_152;

function model(hbmBytes: number): Parameters<typeof assertModelFits> {
  const cluster = colocationCluster({ hbmBytes });
  const templates = [llamaPrefill({ cluster }), llamaDecode({ cluster })];
  return [cluster, templates, { model: "llama3-8b", requestBytes: 1e9 }];
}

describe("assertModelFits", () => {
  test("weights of pairs and quads count once by name", () => {
    const [cluster, templates] = model(64e9);
    const weights = [...weightBytesPerAccelerator(cluster, templates).values()];
    // a0: both halves of the pair's front; a1: the pair's back and the quad's second; a2: the pair's front and the quad's third.
    expect(weights.slice(0, 4)).toEqual([
      2 * eightLayers + embedding,
      3 * eightLayers + embedding,
      3 * eightLayers + embedding,
      2 * eightLayers + embedding,
    ]);
    expect(weights.slice(4)).toEqual(weights.slice(0, 4));
  });

  test("fits to the byte, and not a byte less", () => {
    const needed = 3 * eightLayers + embedding + 1e9;
    expect(() => assertModelFits(...model(needed))).not.toThrow();
    expect(() => assertModelFits(...model(needed - 1))).toThrowError(
      expect.objectContaining({
        code: "MODEL_DOES_NOT_FIT",
        message: expect.stringMatching(/a1: 11\.52 GB of weights/),
      }),
    );
  });
});

test("the largest request is the one with the most bytes, its last output token uncached", () => {
  const requests = [
    { inputTokens: 1000, outputTokens: 2 },
    { inputTokens: 10, outputTokens: 2000 },
  ];
  // Two operators of eight layers: 65,536 B a token; the prefill needs 57,344 B of scratch and two activations a token.
  expect(largestRequestBytes(llama3_8b, 8, 2, requests)).toBe(1001 * 65_536 + 1000 * (57_344 + 16_384));
  expect(largestRequestBytes(llama3_8b, 8, 2, requests.slice(1))).toBe(2009 * 65_536 + 10 * (57_344 + 16_384));
  expect(largestRequestBytes(llama3_8b, 8, 2, [])).toBe(0);
});
