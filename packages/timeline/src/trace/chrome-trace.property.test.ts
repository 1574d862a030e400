import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runWorld, worlds } from "../../test/world.ts";
import type { RunRecord } from "../run-record.ts";
import { type ChromeTraceOptions, chromeTrace } from "./chrome-trace.ts";
import { chromeTraceFaults } from "./trace-faults.ts";

interface Event {
  ph: string;
  name: string;
  pid: number;
  tid?: number;
  ts: number;
  dur: number;
  args: Record<string, unknown>;
}

/** The events of a trace without faults, with the slices put together: each B is told as an X, and has the E that follows at once. */
function written(record: RunRecord, options?: ChromeTraceOptions): Event[] {
  const text = [...chromeTrace(record, options)].join("");
  expect(chromeTraceFaults(text)).toEqual([]);
  const { traceEvents } = JSON.parse(text) as { traceEvents: Event[] };
  return traceEvents.flatMap((event, index) => {
    if (event.ph === "E") return [];
    if (event.ph !== "B") return [event];
    const end = traceEvents[index + 1];
    expect([end?.ph, end?.pid, end?.tid]).toEqual(["E", event.pid, event.tid]);
    return [{ ...event, ph: "X", dur: (end?.ts ?? 0) - event.ts }];
  });
}

describe("chromeTrace", () => {
  it("follows the format's rules and has every operator, transfer, step of HBM and request once", async () => {
    const seen = { transfers: 0, notices: 0 };
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { record } = await runWorld(world);
        const events = written(record);
        const slices = (category: string) =>
          events.filter((event) => event.ph === "X" && (event as { cat?: string }).cat?.startsWith(category));
        expect(slices("operator").length).toBe(record.operators.count);
        const { operators, operatorNames } = record;
        slices("operator").forEach((slice, row) => {
          const startNs = operators.startNs[row] as number;
          const endNs = operators.endNs[row] as number;
          expect(slice.name).toBe(operatorNames[operators.name[row] as number]);
          expect(slice.pid).toBe((operators.accelerator[row] as number) + 1);
          expect(Math.round(slice.ts * 1000)).toBe(startNs);
          expect(Math.round(slice.dur * 1000)).toBe((Number.isNaN(endNs) ? record.endNs : endNs) - startNs);
          expect(slice.args["instance"]).toBe(operators.instance[row]);
        });
        const moved = record.transfers.startNs.filter((ns) => !Number.isNaN(ns)).length;
        expect(slices("transfer").length).toBe(2 * moved);
        const count = (phase: string) => events.filter(({ ph }) => ph === phase).length;
        expect([count("s"), count("f")]).toEqual([moved, moved]);
        expect(count("C")).toBe(record.hbm.reduce((sum, { count: steps }) => sum + steps, 0));
        expect(count("i")).toBe(record.notices.length);
        expect([count("b"), count("e")]).toEqual([
          record.requests.submittedNs.filter((ns) => !Number.isNaN(ns)).length,
          count("b"),
        ]);
        seen.transfers += moved;
        seen.notices += record.notices.length;
      }),
      { numRuns: 30 },
    );
    expect(seen.transfers).toBeGreaterThan(10);
    expect(seen.notices).toBeGreaterThan(10);
  });

  it("writes what overlaps a window, in pieces of any size", async () => {
    await fc.assert(
      fc.asyncProperty(
        worlds,
        fc.nat(3000),
        fc.nat(1000),
        fc.integer({ min: 1, max: 5000 }),
        async (world, fromNs, lengthNs, pieceCharacters) => {
          const { record } = await runWorld(world);
          const toNs = fromNs + lengthNs;
          const all = written(record, { requests: false });
          const some = written(record, { requests: false, fromNs, toNs, pieceCharacters });
          const within = ({ ph, ts, dur }: Event) =>
            ph === "X" && Math.round((ts + dur) * 1000) >= fromNs && Math.round(ts * 1000) <= toNs;
          const untracked = (events: Event[]) => events.filter(within).map(({ tid: _, ...event }) => event);
          expect(untracked(some)).toEqual(untracked(all));
          expect(some.filter(({ ph }) => ph === "X").every(within)).toBe(true);
          expect([...chromeTrace(record, { pieceCharacters: 1 })].join("")).toBe([...chromeTrace(record)].join(""));
        },
      ),
      { numRuns: 15 },
    );
  });

  it("refuses a window that ends before it begins", async () => {
    const { record } = await runWorld(fc.sample(worlds, { seed: 1, numRuns: 1 })[0] as Parameters<typeof runWorld>[0]);
    expect(() => [...chromeTrace(record, { fromNs: 2, toNs: 1 })]).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: "fromNs: 2 is not up to toNs, 1" }),
    );
  });
});
