import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { type Palette, pixelOf, type Raster, RowPainter } from "./raster.ts";
import { firstEndingAfter, operatorAt, type Timeline } from "./timeline.ts";

const slots = 3;
const palette: Palette = {
  fill: Uint32Array.of(10, 20, 30),
  stripe: Uint32Array.of(10, 20, 30),
  row: 1,
  edge: 2,
};

interface Made {
  readonly startNs: number;
  readonly endNs: number;
  readonly slot: number;
}

/** Operators of one row. */
const row = fc
  .array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 60 }), fc.nat(slots - 1)), { maxLength: 40 })
  .map((list) => {
    let free = 0;
    return list.map(([gap, duration, slot]): Made => {
      const startNs = free + gap;
      free = startNs + duration;
      return { startNs, endNs: free, slot };
    });
  });

function timelineOf(list: readonly Made[]): Timeline {
  const none = new Uint32Array(0);
  return {
    meta: {
      unitNs: 1,
      rows: [list.length],
      priorities: [],
      tenants: [],
      operatorNames: [],
      outcomes: [],
      requestLabels: [],
      notices: [],
      noticesLeftOut: 0,
      decisions: { seen: 0, rejectingSeen: 0, shown: [] },
    },
    offsets: Uint32Array.of(0, list.length),
    startNs: Float64Array.from(list, (it) => it.startNs),
    endNs: Float64Array.from(list, (it) => it.endNs),
    name: none,
    outcome: new Uint8Array(0),
    instance: none,
    instanceNumber: new Float64Array(0),
    instanceRequest: none,
    instanceRank: new Int16Array(0),
    instanceTenant: none,
    requestNumber: new Float64Array(0),
  };
}

function painted(list: readonly Made[], width: number, height: number, fromNs: number, toNs: number): Raster {
  const raster = { pixels: new Uint32Array(width * height), width };
  const place = { row: 0, top: 0, height };
  new RowPainter(slots).paint(
    raster,
    place,
    timelineOf(list),
    Uint8Array.from(list, (it) => it.slot),
    palette,
    fromNs,
    toNs,
  );
  return raster;
}

test.prop([row, fc.integer({ min: 2, max: 60 }), fc.nat(300), fc.integer({ min: 1, max: 3000 })])(
  "a column is as high as the share of its time that was taken, by colour, where operators are narrow",
  (list, width, fromNs, lengthNs) => {
    const toNs = fromNs + lengthNs;
    const height = 200;
    const scale = width / lengthNs;
    const clipped = list.map((it) => ({
      ...it,
      width: (Math.min(it.endNs, toNs) - Math.max(it.startNs, fromNs)) * scale,
    }));
    if (clipped.some((it) => it.width >= 2)) return;
    const { pixels } = painted(list, width, height, fromNs, toNs);
    for (let x = 0; x < width; x++) {
      const columnFrom = fromNs + x / scale;
      const columnTo = fromNs + (x + 1) / scale;
      for (let slot = 0; slot < slots; slot++) {
        const share =
          list
            .filter((it) => it.slot === slot)
            .reduce(
              (sum, it) => sum + Math.max(0, Math.min(it.endNs, columnTo) - Math.max(it.startNs, columnFrom)),
              0,
            ) * scale;
        let count = 0;
        for (let y = 0; y < height; y++) if (pixels[y * width + x] === palette.fill[slot]) count++;
        // Each of the colours below may have been given a pixel more.
        expect(Math.abs(count - share * height)).toBeLessThanOrEqual(slots + 1);
        if (share > 1e-3) expect(count).toBeGreaterThan(0);
      }
    }
  },
);

test.prop([row, fc.integer({ min: 20, max: 400 }), fc.nat(300), fc.integer({ min: 1, max: 300 })])(
  "an operator that is wide enough is a whole block of its colour, and idle time stays free",
  (list, width, fromNs, lengthNs) => {
    const toNs = fromNs + lengthNs;
    const scale = width / lengthNs;
    const { pixels } = painted(list, width, 3, fromNs, toNs);
    for (const it of list) {
      const left = Math.round(Math.max(0, (it.startNs - fromNs) * scale));
      const right = Math.round(Math.min(width, (it.endNs - fromNs) * scale));
      if (right - left < 4) continue;
      const block = pixels.subarray(width + left, width + right - 1);
      expect(block.every((pixel) => pixel === palette.fill[it.slot])).toBe(true);
    }
    const idle = new Set<number>();
    for (let x = 0; x < width; x++) {
      const from = fromNs + (x - 1) / scale;
      const to = fromNs + (x + 2) / scale;
      if (!list.some((it) => it.startNs < to && it.endNs > from)) idle.add(pixels[width + x] ?? 0);
    }
    idle.delete(palette.row);
    expect(idle.size).toBe(0);
  },
);

test.prop([row, fc.nat(1500), fc.nat(20)])(
  "the operator at a time is the one that runs, or the nearest within the slack",
  (list, atNs, slackNs) => {
    const timeline = timelineOf(list);
    const distance = (it: Made): number => Math.max(it.startNs - atNs, atNs - it.endNs, 0);
    const found = operatorAt(timeline, 0, atNs, slackNs);
    const nearest = Math.min(Number.POSITIVE_INFINITY, ...list.map(distance));
    if (found >= 0) expect(distance(list[found] as Made)).toBe(nearest);
    else expect(nearest).toBeGreaterThanOrEqual(slackNs);
    expect(firstEndingAfter(timeline, 0, atNs)).toBe(list.filter((it) => it.endNs <= atNs).length);
  },
);

test("a colour as a pixel is opaque, its bytes in the order of a canvas", () => {
  expect(pixelOf("#0b62b0")).toBe(0xffb0620b);
});
