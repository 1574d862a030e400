import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { type MadeOperator, madeRecord } from "../record.fixture.ts";
import { gridOf, gridValueMs, sharesOnGrid } from "./distribution.ts";
import { hbmPeaks } from "./hbm.ts";
import { idleSliceLengths } from "./idle.ts";
import { busyMillionths, countPerBucket, openRequests } from "./load.ts";
import { timelineOrder } from "./timeline-order.ts";

const accelerators = ["x", "y"];
const small = fc.nat(50);

/** Operators that follow each other, on a short clock so that every nanosecond can be looked at. */
const operators = fc
  .array(fc.tuple(fc.nat(1), fc.nat(9), fc.integer({ min: 1, max: 12 })), { maxLength: 12 })
  .map((list) => {
    const free = [0, 0];
    return list.map(([accelerator, gapNs, durationNs]): MadeOperator => {
      const startNs = (free[accelerator] ?? 0) + gapNs;
      free[accelerator] = startNs + durationNs;
      return { accelerator, startNs, endNs: startNs + durationNs };
    });
  });

function isBusy(list: readonly MadeOperator[], accelerator: number, ns: number): boolean {
  return list.some((it) => it.accelerator === accelerator && it.startNs <= ns && ns < (it.endNs ?? 0));
}

test.prop([operators, fc.integer({ min: 1, max: 80 })])(
  "idle slices are the runs of idle nanoseconds",
  (list, windowNs) => {
    const record = madeRecord({ accelerators, endNs: 1000, operators: list });
    const slices: number[] = [];
    for (let accelerator = 0; accelerator < 2; accelerator++) {
      let length = 0;
      for (let ns = 0; ns <= windowNs; ns++) {
        if (ns < windowNs && !isBusy(list, accelerator, ns)) length++;
        else if (length > 0) {
          slices.push(length);
          length = 0;
        }
      }
    }
    const found = idleSliceLengths(record, timelineOrder(record), windowNs);
    expect(Array.from(found)).toEqual(slices.sort((a, b) => a - b));
  },
);

test.prop([operators, fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 200 })])(
  "the busy share of a bucket is the time in it that operators took",
  (list, buckets, spanNs) => {
    const record = madeRecord({ accelerators, endNs: 1000, operators: list });
    const shares = busyMillionths(record, buckets, spanNs);
    const bucketNs = spanNs / buckets;
    const expected = Array.from({ length: buckets }, (_, bucket) => {
      const overlaps = list.map((it) => {
        const until = Math.min(it.endNs ?? 0, (bucket + 1) * bucketNs);
        return Math.max(0, until - Math.max(it.startNs, bucket * bucketNs));
      });
      return (1e6 * overlaps.reduce((a, b) => a + b, 0)) / (2 * bucketNs);
    });
    const errors = expected.map((millionths, bucket) => Math.abs((shares[bucket] ?? Number.NaN) - millionths));
    expect(Math.max(...errors)).toBeLessThan(2);
  },
);

test.prop([fc.array(fc.tuple(small, small)), fc.integer({ min: 1, max: 10 })])(
  "requests in the system are counted at their most",
  (list, buckets) => {
    const requests = list.map(([a, b]) => ({ arrivedNs: Math.min(a, b), endedNs: Math.max(a, b) + 1 }));
    const spanNs = buckets * 6;
    const found = openRequests(requests, buckets, spanNs);
    for (let bucket = 0; bucket < buckets; bucket++) {
      const counts = Array.from({ length: 6 }, (_, i) => bucket * 6 + i).map(
        (ns) => requests.filter((it) => it.arrivedNs <= ns && ns < it.endedNs).length,
      );
      const before = requests.filter((it) => it.arrivedNs < bucket * 6 && bucket * 6 <= it.endedNs).length;
      expect(found[bucket]).toBe(Math.max(before, ...counts));
    }
    const ends = countPerBucket(
      requests.map((it) => it.endedNs),
      buckets,
      spanNs,
    );
    expect(ends.reduce((a, b) => a + b, 0)).toBe(requests.length);
  },
);

test.prop([fc.uniqueArray(small, { maxLength: 20 }), fc.infiniteStream(fc.nat(100)), fc.integer({ min: 1, max: 9 })])(
  "an HBM bucket holds the most that was in use in it",
  (times, bytes, buckets) => {
    const spanNs = 60;
    const steps = [...times].sort((a, b) => a - b).map((atNs) => ({ atNs, usedBytes: bytes.next().value ?? 0 }));
    const used = (ns: number): number => steps.findLast((it) => it.atNs <= ns)?.usedBytes ?? 0;
    const columns = {
      count: steps.length,
      atNs: Float64Array.from(steps, (it) => it.atNs),
      usedBytes: Float64Array.from(steps, (it) => it.usedBytes),
      peakBytes: 0,
    };
    const found = hbmPeaks(columns, 0, buckets, spanNs);
    for (let bucket = 0; bucket < buckets; bucket++) {
      const from = (bucket * spanNs) / buckets;
      const inside = steps.filter((it) => it.atNs >= from && it.atNs < from + spanNs / buckets);
      expect(found[bucket]).toBe(Math.max(used(from), ...inside.map((it) => it.usedBytes)));
    }
  },
);

test.prop([
  fc.array(fc.array(fc.double({ min: 1e-3, max: 1e6, noNaN: true }), { maxLength: 30 }), {
    minLength: 1,
    maxLength: 3,
  }),
])("a distribution tells the share of values up to each point, by number and by sum", (lists) => {
  const sorted = lists.map((list) => Float64Array.from(list).sort());
  const grid = gridOf(sorted);
  if (grid === null) {
    expect(lists.flat()).toEqual([]);
    return;
  }
  for (const list of sorted) {
    const byCount = sharesOnGrid(list, grid, "count");
    const bySum = sharesOnGrid(list, grid, "sum");
    for (let point = 0; point < grid.points; point += 23) {
      const below = list.filter((value) => value <= gridValueMs(grid, point));
      const sum = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);
      const total = sum(list);
      expect(byCount[point]).toBe(list.length === 0 ? 0 : Math.round((1e6 * below.length) / list.length));
      expect(bySum[point]).toBeCloseTo(total === 0 ? 0 : (1e6 * sum(below)) / total, -1);
    }
    if (list.length > 0) expect([byCount[grid.points - 1], bySum[grid.points - 1]]).toEqual([1e6, 1e6]);
  }
});
