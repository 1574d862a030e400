import { compileCluster } from "@slicescheduler/gmg";
import { describe, expect, test } from "vitest";
import { colocationCluster } from "./cluster.ts";
import { colocationDurations } from "./durations.ts";

describe("the virtual cluster of colocation", () => {
  test("eight accelerators of 64 GB, every two linked at 20 µs and 12 GB/s", () => {
    const cluster = compileCluster(colocationCluster());
    expect(cluster.accelerators.map((a) => [a.name, a.capacityBytes])).toEqual(
      Array.from({ length: 8 }, (_, i) => [`a${i}`, 64e9]),
    );
    const { transferNs } = colocationDurations({ prefill: "p", decode: "d" });
    for (const bytes of [0, 1, 8192, 12_000, 16_777_216]) {
      expect(transferNs(bytes)).toBe(cluster.transferNs(0, 7, bytes));
    }
    expect(transferNs(12_000_000)).toBe(1_020_000);
  });

  test("a decode operator takes 10.575 ms, a prefill operator 0.225 ms a token, both linear in layers", () => {
    const whole = colocationDurations({ prefill: "p", decode: "d" });
    expect(whole.operatorNs("d", { past: 500 })).toBe(10_575_000);
    expect(whole.operatorNs("p", { tokens: 2048 })).toBe(460_800_000);
    const halves = colocationDurations({ prefill: "p", decode: "d", layersPerOperator: 4 });
    expect(halves.operatorNs("d", { past: 1 })).toBe(5_287_500);
    expect(halves.operatorNs("p", { tokens: 2048 })).toBe(230_400_000);
    expect(() => whole.operatorNs("q", {})).toThrowError(TypeError);
  });

  test.each([{ hbmBytes: 0 }, { hbmBytes: 1.5 }, { accelerators: 0 }])("refuses %j", (options) => {
    expect(() => colocationCluster(options)).toThrowError(expect.objectContaining({ code: "INVALID_OPTION" }));
  });
});
