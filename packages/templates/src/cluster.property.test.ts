import { compileCluster, GmgError } from "@slicescheduler/templates";
import fc from "fast-check";
import { expect, test } from "vitest";

const bytes = fc.oneof(fc.nat(10_000), fc.nat(2 ** 31 - 1), fc.maxSafeNat());
const MAX = BigInt(Number.MAX_SAFE_INTEGER);

test("transfer times are exact", () => {
  const link = fc.record({
    latencyNs: fc.nat(1_000_000),
    bytesPerSecond: fc.oneof(
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1, max: 400 }).map((g) => g * 1e9),
      fc.maxSafeNat().map((n) => n + (n === 0 ? 1 : 0)),
    ),
  });
  fc.assert(
    fc.property(fc.array(link, { minLength: 1, maxLength: 4 }), bytes, (declared, size) => {
      const cluster = compileCluster({
        accelerators: ["a", "b"].map((name) => ({ name, kind: "k", hbmBytes: 1 })),
        links: declared.map((each, i) => ({ ...each, name: `l${i}`, connects: [["a", "b"]] })),
      });
      const rate = BigInt(Math.min(...declared.map(({ bytesPerSecond }) => bytesPerSecond)));
      const latency = declared.reduce((sum, { latencyNs }) => sum + BigInt(latencyNs), 0n);
      const exact = latency + (BigInt(size) * 1_000_000_000n + rate - 1n) / rate;
      const expected = exact < 1n ? 1n : exact > MAX ? MAX : exact;
      expect(BigInt(cluster.transferNs(0, 1, size))).toBe(expected);
    }),
    { numRuns: 500 },
  );
});

test("rounding is the least multiple that is not smaller", () => {
  fc.assert(
    fc.property(fc.nat(2 ** 50), fc.integer({ min: 1, max: 2 ** 22 }), (size, granularityBytes) => {
      const cluster = compileCluster({ accelerators: [{ name: "a", kind: "k", hbmBytes: 1, granularityBytes }] });
      const rounded = cluster.roundBytes(0, size);
      expect(rounded % granularityBytes).toBe(0);
      expect(rounded - size).toBeGreaterThanOrEqual(0);
      expect(rounded - size).toBeLessThan(granularityBytes);
    }),
  );
});

test("whatever it is given, it compiles or throws its own error", () => {
  const value = fc.oneof(fc.anything(), fc.integer(), fc.constantFrom("a", "b", 1, 1e9));
  const accelerator = fc.record(
    {
      name: fc.constantFrom<unknown>("a", "b", 3),
      kind: value,
      hbmBytes: value,
      marginBytes: value,
      granularityBytes: value,
      copyEngines: value,
    },
    { requiredKeys: [] },
  );
  const spec = fc.record(
    {
      accelerators: fc.oneof(value, fc.array(fc.oneof(accelerator, value))),
      defaultLink: value,
      links: fc.oneof(value, fc.array(fc.record({ name: value, connects: fc.array(fc.array(value)) }))),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(spec, fc.anything()), (given) => {
      try {
        compileCluster(given as never);
      } catch (error) {
        expect(error).toBeInstanceOf(GmgError);
        expect((error as GmgError).code).toBe("CLUSTER_INVALID");
      }
    }),
    { numRuns: 500 },
  );
});
