import type { ClusterSpec, LinkSpec } from "@slicescheduler/gmg";
import fc from "fast-check";

export interface ClusterOptions {
  /** From 1 to 6. Default 1. */
  readonly acceleratorsMin?: number;
  /** From 1 to 6. Default 6. */
  readonly acceleratorsMax?: number;
  /**
   * `"tight"`: hundreds to a few thousand bytes, so that the templates of this package compete for memory and some never
   * fit; `"ample"`: 1 GB. Default: both.
   */
  readonly hbm?: "tight" | "ample";
  /** Whether some clusters have links that several pairs share. Default true. */
  readonly sharedLinks?: boolean;
}

/**
 * Clusters of 1–6 accelerators `a0`, `a1`, … of kinds `k0` and `k1`, of one granularity, some with a baseline and a margin,
 * 1–2 copy engines each. Every pair is connected; transfers take a few nanoseconds, so that much happens at once.
 */
export function clusters(options: ClusterOptions = {}): fc.Arbitrary<ClusterSpec> {
  const { acceleratorsMin = 1, acceleratorsMax = 6, hbm, sharedLinks = true } = options;
  const tightBytes = fc.integer({ min: 450, max: 4000 });
  const ampleBytes = fc.constant(1e9);
  const hbmBytes = hbm === "tight" ? tightBytes : hbm === "ample" ? ampleBytes : fc.oneof(tightBytes, ampleBytes);
  const accelerator = fc.record({
    kind: fc.constantFrom("k0", "k1"),
    hbmBytes,
    externalBaselineBytes: fc.oneof(fc.constant(0), fc.nat({ max: 50 })),
    marginBytes: fc.oneof(fc.constant(0), fc.nat({ max: 20 })),
    copyEngines: fc.integer({ min: 1, max: 2 }),
  });
  const link = fc.record({
    latencyNs: fc.nat({ max: 6 }),
    bytesPerSecond: fc.constantFrom(5e8, 1e9, 1e10),
    capacity: fc.integer({ min: 1, max: 2 }),
    pairs: fc.array(fc.tuple(pick, pick), { minLength: 1, maxLength: 6 }),
  });
  return fc
    .record({
      accelerators: fc.array(accelerator, { minLength: acceleratorsMin, maxLength: acceleratorsMax }),
      granularityBytes: fc.constantFrom(1, 16, 64),
      defaultLink: fc.record({ latencyNs: fc.nat({ max: 6 }), bytesPerSecond: fc.constantFrom(1e9, 1e10) }),
      links: fc.array(link, { maxLength: sharedLinks ? 2 : 0 }),
    })
    .map(({ accelerators, granularityBytes, defaultLink, links }) => ({
      accelerators: accelerators.map((drawn, index) => ({ name: `a${index}`, granularityBytes, ...drawn })),
      defaultLink,
      links: links.flatMap(({ pairs, ...drawn }, index): LinkSpec[] => {
        const connects = connectedPairs(pairs, accelerators.length);
        return connects.length === 0 ? [] : [{ name: `l${index}`, ...drawn, connects }];
      }),
    }));
}

/** A choice to be taken modulo what there is, so that shrinking keeps it legal. */
export const pick: fc.Arbitrary<number> = fc.nat({ max: 1 << 20 });

/** A value in one of four draws, else null. */
export function seldom<Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

function connectedPairs(pairs: readonly (readonly [number, number])[], accelerators: number): [string, string][] {
  const connects = new Map<string, [string, string]>();
  for (const [from, to] of pairs) {
    const source = from % accelerators;
    const destination = to % accelerators;
    if (source !== destination) connects.set(`${source} ${destination}`, [`a${source}`, `a${destination}`]);
  }
  return [...connects.values()];
}
