import fc from "fast-check";
import { expect, test } from "vitest";
import { describeNative } from "../native/describe-native.fixture.ts";
import { runTrial } from "../programs/run-program.fixture.ts";

const mask = (bits: bigint) => BigInt.asUintN(64, bits);

/** The finalizer of SplitMix64. */
function mixed(bits: bigint): bigint {
  const first = mask((bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n);
  const second = mask((first ^ (first >> 27n)) * 0x94d049bb133111ebn);
  return second ^ (second >> 31n);
}

/** The slow and obvious twin of native/seeded.cc. */
function drawn(seed: number, name: string, count: number, std: number): number[] {
  const golden = 0x9e3779b97f4a7c15n;
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(name)) hash = mask((hash ^ BigInt(byte)) * 0x100000001b3n);
  const key = mixed(mask(BigInt(seed) * golden + 1n)) ^ hash;
  return Array.from({ length: count }, (_, index) => {
    const bits = mixed(mask(key + BigInt(index) * golden));
    const sum = [0n, 16n, 32n, 48n].reduce((total, shift) => total + Number((bits >> shift) & 0xffffn), 0);
    return Math.fround((sum - 131_070) * (std / 37_837.22723720648));
  });
}

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });

describeNative("seeded weights", () => {
  test("are to the bit what the seed, the name and the place give, whatever else is drawn", () => {
    fc.assert(
      fc.property(
        fc.maxSafeNat(),
        text,
        text,
        fc.double({ min: 0, max: 100, noNaN: true }),
        (seed, name, other, std) => {
          const { outputs } = runTrial({
            program: {
              calls: [{ op: "aten::clone", args: [{ weight: name }], results: ["y"] }],
              outputs: [{ value: "y" }],
            },
            outputs: { y: { shape: [5], dtype: "float32" } },
            weights: [
              {
                seed,
                tensors: { [other]: { shape: [2], dtype: "float64" }, [name]: { shape: [5], dtype: "float32", std } },
              },
            ],
          });
          expect([...(outputs[0]?.data ?? [])]).toEqual(drawn(seed, name, 5, std));
        },
      ),
      { numRuns: 50 },
    );
  });
});
