import { describe, expect, it } from "vitest";
import { topologyOf } from "../test/twin.ts";
import { PortTable } from "./index.ts";

/** Three accelerators; link 0 (capacity 2) on every way into 2, link 1 on 0 → 2 only; no way out of 2. */
const topology = topologyOf([1, 2, 2], [2, 1], (source, destination) => {
  if (source === 2) return undefined;
  if (destination !== 2) return [];
  return source === 0 ? [0, 1] : [0];
});

describe("PortTable", () => {
  it("knows which ways exist", () => {
    const table = new PortTable(topology);
    expect(table.hasRoute(0, 1)).toBe(true);
    expect(table.hasRoute(2, 0)).toBe(false);
    expect(table.hasRoute(0, 0)).toBe(false);
    for (const [source, destination] of [
      [-1, 0],
      [0, 3],
      [0.5, 1],
      [Number.NaN, 1],
    ] as const) {
      expect(table.hasRoute(source, destination)).toBe(false);
    }
  });

  it("numbers the ports of a way: egress, ingress, links", () => {
    const table = new PortTable(topology);
    const way = Array.from({ length: table.portCount(0, 2) }, (_, at) => table.name(table.portAt(0, 2, at)));
    expect(way).toEqual([
      { kind: "egress", index: 0 },
      { kind: "ingress", index: 2 },
      { kind: "link", index: 0 },
      { kind: "link", index: 1 },
    ]);
    expect(table.ports).toBe(8);
  });

  it("names the first exhausted port and frees what was claimed", () => {
    const table = new PortTable(topology);
    table.claim(0, 2);
    expect(table.fits(0, 1)).toBe(false);
    expect(table.name(table.exhausted(0, 1))).toEqual({ kind: "egress", index: 0 });
    table.claim(1, 2);
    expect(table.name(table.exhausted(1, 2))).toEqual({ kind: "ingress", index: 2 });
    expect(() => table.claim(1, 2)).toThrow(
      expect.objectContaining({
        code: "PORT_EXHAUSTED",
        message: expect.stringContaining("ingress port of accelerator 2"),
      }),
    );
    table.free(0, 2);
    expect(table.fits(0, 1)).toBe(true);
    table.free(1, 2);
    expect(() => table.free(1, 2)).toThrow(expect.objectContaining({ code: "PORT_NOT_CLAIMED" }));
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((port) => table.left(port))).toEqual([1, 2, 2, 1, 2, 2, 2, 1]);
  });

  it("gives back nothing when only part of a way was claimed", () => {
    const table = new PortTable(topology);
    table.claim(0, 1);
    expect(() => table.free(0, 2)).toThrow(expect.objectContaining({ code: "PORT_NOT_CLAIMED" }));
    expect(table.left(0)).toBe(0);
    table.free(0, 1);
    expect(table.left(0)).toBe(1);
  });

  it("copies claims between tables of shared routes, and only those", () => {
    const table = new PortTable(topology);
    const copy = new PortTable(table);
    table.claim(0, 2);
    expect(copy.fits(0, 2)).toBe(true);
    copy.copyFrom(table);
    expect(copy.fits(0, 2)).toBe(false);
    copy.reset();
    expect(copy.fits(0, 2)).toBe(true);
    expect(() => new PortTable(topology).copyFrom(table)).toThrow(
      expect.objectContaining({ code: "INVALID_TOPOLOGY" }),
    );
  });

  it("refuses a topology with all its faults", () => {
    const broken = topologyOf([1, 0, 1.5], [0], (source, destination) => {
      if (source === 0 && destination === 1) return [7];
      return source === 1 && destination === 0 ? [0, 0] : [];
    });
    expect(() => new PortTable(broken)).toThrow(
      expect.objectContaining({
        code: "INVALID_TOPOLOGY",
        details: {
          faults: [
            expect.stringContaining("accelerator 1 is 0"),
            expect.stringContaining("accelerator 2 is 1.5"),
            expect.stringContaining("link 0 is 0"),
            "route 0 → 1 names link 7 of 1",
            "route 1 → 0 uses link 0 twice",
          ],
        },
      }),
    );
    for (const accelerators of [0, -1, 2.5, Number.NaN, 10_000]) {
      expect(() => new PortTable({ ...topology, accelerators })).toThrow(
        expect.objectContaining({ code: "INVALID_TOPOLOGY" }),
      );
    }
    expect(() => new PortTable({ ...topology, accelerators: 2 })).toThrow("3 port capacities for 2 accelerators");
  });

  it("shows the first faults of many and counts the rest", () => {
    const broken = topologyOf([1, 1, 1, 1], [], () => [0]);
    expect(() => new PortTable(broken)).toThrow("and 4 more");
  });
});
