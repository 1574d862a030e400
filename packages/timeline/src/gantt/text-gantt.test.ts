import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runWorld, type World, worlds } from "../../test/world.ts";
import type { RunRecord } from "../run-record.ts";
import { axisLine } from "./axis.ts";
import { busyCells, hbmCells } from "./cells.ts";
import { type TextGanttOptions, textGantt } from "./text-gantt.ts";
import { fitted, textColumns } from "./text-width.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
const ESCAPES = /\u001b\[\d+m/g;

const lone: World = {
  seed: 1,
  requests: [
    { atNs: 0, priority: "online", tenant: "", size: 450, steps: 0, cancelAfterNs: null },
    { atNs: 600, priority: "offline", tenant: "", size: 1450, steps: 0, cancelAfterNs: null },
  ],
  outage: null,
  faultShare: 0,
  health: false,
};

/** What operators of a class do to a cell, looked for one by one. */
function slowBusyNs(
  { operators, endNs }: RunRecord,
  accelerator: number,
  rank: number,
  fromNs: number,
  toNs: number,
): number {
  let busyNs = 0;
  for (let row = 0; row < operators.count; row++) {
    if (operators.accelerator[row] !== accelerator || operators.rank[row] !== rank) continue;
    const told = operators.endNs[row] as number;
    const until = Math.min(Number.isNaN(told) ? endNs : told, toNs);
    busyNs += Math.max(0, until - Math.max(operators.startNs[row] as number, fromNs));
  }
  return busyNs;
}

describe("textGantt", () => {
  it("draws lanes, classes, HBM and shares", async () => {
    const { record } = await runWorld({ ...lone, seed: 3 });
    expect(textGantt(record, { width: 60 })).toMatchInlineSnapshot(`
      "    │0 µs              │2 µs               │4 µs
      a0 │     ·▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒·                            │ 30%
      HBM│▁▁▁▁▁▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄│
      a1 │                                   ░▒▒▒▒▒▒▒▒▒▒▒▒▒▒│ 29%
      HBM│▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄│
      a2 │█████████·                                        │ 18%
      HBM│▂▂▂▂▂▂▂▂▂▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁│

      █ ▄ online   ▒ ░ offline   ▚ ▘ several classes
      · busy for less than 1/8 of the cell
      HBM: the most in use in the cell, of the capacity; ! above
      it
      a cell is 100 ns; the first glyph of two: busy for 7/8 of it
      or more
      "
    `);
    expect(textGantt(record, { width: 60, ascii: true, hbm: false })).toMatchInlineSnapshot(`
      "    |0 us              |2 us               |4 us
      a0 |     .OOOOOOOOOOOOOOO.                            | 30%
      a1 |                                   oOOOOOOOOOOOOOO| 29%
      a2 |#########.                                        | 18%

      # + online   O o offline   % / several classes
      . busy for less than 1/8 of the cell
      a cell is 100 ns; the first glyph of two: busy for 7/8 of it
      or more
      "
    `);
  });

  it("is never wider than it may be, whatever the names, and ASCII is ASCII", async () => {
    const options: fc.Arbitrary<TextGanttOptions> = fc.record({
      width: fc.integer({ min: 40, max: 200 }),
      color: fc.boolean(),
      ascii: fc.boolean(),
      hbm: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        worlds,
        options,
        fc.string({ unit: "binary", maxLength: 30 }),
        fc.nat(4000),
        async (world, drawn, name, fromNs) => {
          const run = (await runWorld(world)).record;
          const record: RunRecord = {
            ...run,
            accelerators: run.accelerators.map((accelerator) => ({ ...accelerator, name })),
            priorities: [name, "offline"],
          };
          const text = textGantt(record, { ...drawn, fromNs, toNs: fromNs + 500 });
          for (const line of text.split("\n")) {
            const plain = line.replaceAll(ESCAPES, "");
            expect(textColumns(plain)).toBeLessThanOrEqual(drawn.width as number);
            expect(/[\p{Cc}\p{Cf}]/u.test(plain)).toBe(false);
          }
          if (drawn.ascii) expect(/^[\n -~]*$/.test(text.replaceAll(ESCAPES, ""))).toBe(true);
          const plain = textGantt(record, { ...drawn, color: false, fromNs, toNs: fromNs + 500 });
          expect(text.replaceAll(ESCAPES, "")).toBe(plain);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("counts in each cell what a slow look through all operators finds", async () => {
    await fc.assert(
      fc.asyncProperty(
        worlds,
        fc.nat(2000),
        fc.integer({ min: 1, max: 3000 }),
        fc.integer({ min: 1, max: 50 }),
        async (world, fromNs, lengthNs, cells) => {
          const { record } = await runWorld(world);
          const grid = { fromNs, toNs: fromNs + lengthNs, cells };
          const cellNs = lengthNs / cells;
          busyCells(record, grid).forEach((busy, accelerator) => {
            for (let cell = 0; cell < cells; cell++) {
              for (const rank of [0, 1]) {
                const slow = slowBusyNs(
                  record,
                  accelerator,
                  rank,
                  fromNs + cell * cellNs,
                  fromNs + (cell + 1) * cellNs,
                );
                expect(busy[cell * 3 + rank]).toBeCloseTo(slow, 6);
              }
            }
          });
        },
      ),
      { numRuns: 20 },
    );
  });

  it("shows the most HBM in use within each cell", async () => {
    await fc.assert(
      fc.asyncProperty(
        worlds,
        fc.nat(2000),
        fc.integer({ min: 1, max: 3000 }),
        fc.integer({ min: 1, max: 50 }),
        async (world, fromNs, lengthNs, cells) => {
          const { record } = await runWorld(world);
          const cellNs = lengthNs / cells;
          record.hbm.forEach(({ count, atNs, usedBytes }, accelerator) => {
            hbmCells(record, accelerator, { fromNs, toNs: fromNs + lengthNs, cells }).forEach((most, cell) => {
              const [from, to] = [fromNs + cell * cellNs, fromNs + (cell + 1) * cellNs];
              let slow = Number.NaN;
              for (let step = 0; step < count; step++) {
                const untilNs = step + 1 < count ? (atNs[step + 1] as number) : Number.POSITIVE_INFINITY;
                const isIn = untilNs > from && (atNs[step] as number) < to;
                if (isIn && !((usedBytes[step] as number) <= slow)) slow = usedBytes[step] as number;
              }
              expect(most).toBe(slow);
            });
          });
        },
      ),
      { numRuns: 20 },
    );
  });

  it("refuses a width and a window that cannot be drawn", async () => {
    const { record } = await runWorld(lone);
    expect(() => textGantt(record, { width: 39 })).toThrow("width: 39 is not a whole number from 40");
    expect(() => textGantt(record, { fromNs: 5, toNs: 4 })).toThrow("fromNs: 5 and toNs: 4 are not two finite times");
    expect(textGantt(record, { fromNs: 5, toNs: 5 })).toContain("a cell is");
  });
});

describe("axisLine", () => {
  it("marks round times, in units that suit the span", () => {
    expect(axisLine(0, 100, 50, false)).toBe("│0 ns                    │50 ns".padEnd(50));
    expect(axisLine(0, 1800e9, 60, false)).toBe("│0 min              │10 min             │20 min".padEnd(60));
    expect(axisLine(600e9, 620e9, 60, false)).toBe("│600 s         │605 s         │610 s         │615 s".padEnd(60));
    expect(axisLine(0, 86_400e9, 40, false)).toBe("│0 h                │12 h".padEnd(40));
    expect(axisLine(1.5e9, 1.6e9, 40, true).trimEnd()).toBe("|1500 ms            |1550 ms");
  });

  it("never exceeds its columns", () => {
    fc.assert(
      fc.property(
        fc.nat(1e9),
        fc.integer({ min: 1, max: 2 ** 50 }),
        fc.integer({ min: 1, max: 200 }),
        (fromNs, lengthNs, columns) => {
          expect(textColumns(axisLine(fromNs, fromNs + lengthNs, columns, false))).toBe(columns);
        },
      ),
    );
  });
});

describe("fitted", () => {
  it("gives exactly the columns that were asked for", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(40), fc.boolean(), (text, columns, ascii) => {
        expect(textColumns(fitted(text, columns, ascii))).toBe(columns);
      }),
    );
    expect(fitted("accelerator", 6, false)).toBe("accel…");
    expect(fitted("加速器", 5, false)).toBe("加速…");
    expect(fitted("加速器", 4, false)).toBe("加… ");
    expect(fitted("a\u001b[31mb", 8, false)).toBe("a[31mb  ");
  });
});
