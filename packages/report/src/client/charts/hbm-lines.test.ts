import { expect, test } from "vitest";
import { type OverviewMeta, overviewColumn } from "../../shared/blocks.ts";
import { pack, unpack } from "../../shared/columns.ts";
import { hbmLines } from "./hbm-lines.ts";

/** @param used per policy and accelerator: bytes per bucket. */
function overviewOf(capacities: readonly (readonly number[])[], used: readonly (readonly (readonly number[])[])[]) {
  const columns: Record<string, readonly number[]> = {};
  used.forEach((accelerators, policy) => {
    accelerators.forEach((bytes, i) => {
      columns[overviewColumn.hbm(policy, i)] = bytes;
    });
  });
  const meta: OverviewMeta = {
    spanNs: 1,
    sloTtftMs: [],
    first: 0,
    loadBuckets: 1,
    distributions: { ttft: null, tpot: null, idleCount: null, idleTime: null },
    colours: { tenants: [], operators: [] },
    policies: capacities.map((list, policy) => ({
      name: `p${policy}`,
      endNs: 1,
      hbmBuckets: used[policy]?.[0]?.length ?? 0,
      accelerators: list.map((capacityBytes, i) => ({ name: `a${i}`, kind: "demo", capacityBytes })),
    })),
  };
  return unpack<OverviewMeta>(pack(meta, columns));
}

test("over all accelerators: the most at each time, or the mean, in bytes where capacities are equal", () => {
  const overview = overviewOf(
    [[100, 100]],
    [
      [
        [10, 50, 30],
        [20, 10, 90],
      ],
    ],
  );
  const fullest = hbmLines(overview, "fullest");
  expect([fullest.lines.map((line) => [...line]), fullest.capacity, fullest.isShare]).toEqual([
    [[20, 50, 90]],
    100,
    false,
  ]);
  expect([...(hbmLines(overview, "mean").lines[0] ?? [])]).toEqual([15, 30, 60]);
});

test("in shares where they differ", () => {
  const overview = overviewOf(
    [[100, 50]],
    [
      [
        [10, 50],
        [20, 10],
      ],
    ],
  );
  const { lines, capacity, isShare } = hbmLines(overview, "fullest");
  expect([[...(lines[0] ?? [])], capacity, isShare]).toEqual([[0.4, 0.5], 1, true]);
});

test("of one accelerator, nothing where a policy has none of that number, and every line as long as the longest", () => {
  const overview = overviewOf(
    [[100, 100], [100]],
    [
      [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ],
      [[9, 8]],
    ],
  );
  expect(hbmLines(overview, "1").lines.map((line) => [...line])).toEqual([
    [5, 6, 7, 8],
    [0, 0, 0, 0],
  ]);
  expect(hbmLines(overview, "0").lines.map((line) => [...line])).toEqual([
    [1, 2, 3, 4],
    [9, 9, 8, 8],
  ]);
});
