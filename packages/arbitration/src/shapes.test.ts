import { describe, expect, it } from "vitest";
import { networkCards, noPeers, nvlinkPairs, nvswitch, pcieSwitches, ring, spine } from "../test/shapes.ts";
import { Arbiter, type Topology } from "./index.ts";

type Way = readonly [number, number];

/** Raises a transfer for each way, numbered from 0, and selects. */
function raised(topology: Topology, ways: readonly Way[]): { arbiter: Arbiter; selected: number[] } {
  const arbiter = new Arbiter(topology);
  for (const [transfer, [source, destination]] of ways.entries()) {
    arbiter.intent({ transfer, source, destination, rank: 0, bytes: 1 }, 0);
  }
  return { arbiter, selected: select(arbiter, 0) };
}

function select(arbiter: Arbiter, nowNs: number): number[] {
  const selected = arbiter.select(nowNs).map(({ transfer }) => transfer);
  for (const transfer of selected) arbiter.recvReady(transfer, nowNs);
  arbiter.validate();
  return selected;
}

/** What each intent waits for, in short. */
function waits(arbiter: Arbiter, nowNs: number): Record<number, string[]> {
  const entries = arbiter.pending(nowNs).map(({ transfer, waitsFor }) => {
    return [transfer, waitsFor.map(({ port, index, transfers }) => `${port} ${index}: ${transfers}`)] as const;
  });
  return Object.fromEntries(entries);
}

describe("real shapes", () => {
  it("PCIe switches: one uplink for two accelerators, another for the way back", () => {
    const { arbiter, selected } = raised(pcieSwitches, [
      [0, 2],
      [1, 3],
      [2, 1],
      [3, 0],
    ]);
    expect(selected).toEqual([0, 2]);
    expect(waits(arbiter, 1)).toEqual({ 1: ["link 0: 0", "link 3: 0"], 3: ["link 1: 2", "link 2: 2"] });
    arbiter.done(0, 5);
    expect(select(arbiter, 5)).toEqual([1]);
  });

  it("PCIe switches: below a switch nothing is shared", () => {
    const { selected } = raised(pcieSwitches, [
      [0, 1],
      [2, 3],
      [1, 0],
      [3, 2],
    ]);
    expect(selected).toEqual([0, 1, 2, 3]);
  });

  it("NVLink pairs: the bridges are free while the host bridge is taken, which carries one in either direction", () => {
    const { arbiter, selected } = raised(nvlinkPairs, [
      [0, 2],
      [3, 1],
      [1, 0],
      [2, 3],
    ]);
    expect(selected).toEqual([0, 2, 3]);
    expect(waits(arbiter, 1)).toEqual({ 1: ["link 0: 0"] });
  });

  it("NVSwitch: a whole permutation at once", () => {
    const shift = Array.from({ length: 8 }, (_, at): Way => [at, (at + 3) % 8]);
    expect(raised(nvswitch, shift).selected).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("network cards: two out and two in at once, whatever goes on within the nodes", () => {
    const { arbiter, selected } = raised(networkCards, [
      [0, 4],
      [1, 5],
      [2, 6],
      [4, 0],
      [3, 2],
    ]);
    expect(selected).toEqual([0, 1, 3, 4]);
    expect(waits(arbiter, 1)).toEqual({ 2: ["link 0: 0,1", "link 3: 0,1"] });
    arbiter.cancel(1, 2);
    expect(select(arbiter, 2)).toEqual([]);
    arbiter.failed(1, 3);
    expect(select(arbiter, 3)).toEqual([2]);
  });

  it("a spine behind the cards: the link in the middle of three is the narrow one", () => {
    const { arbiter, selected } = raised(spine, [
      [0, 2],
      [1, 3],
      [2, 0],
      [3, 1],
    ]);
    // Cards are shared by both directions here: two transfers fill them.
    expect(selected).toEqual([0, 1]);
    expect(waits(arbiter, 1)[2]).toEqual(["link 1: 0,1", "link 0: 0,1"]);
  });

  it("a ring: ways that overlap exclude each other, ways that do not go at once", () => {
    const { arbiter, selected } = raised(ring, [
      [0, 2],
      [1, 3],
      [2, 0],
      [3, 1],
    ]);
    expect(selected).toEqual([0, 2]);
    expect(waits(arbiter, 1)).toEqual({ 1: ["link 1: 0", "link 2: 2"], 3: ["link 3: 2", "link 0: 0"] });
    arbiter.done(0, 4);
    expect(select(arbiter, 4)).toEqual([]);
    arbiter.done(2, 5);
    expect(select(arbiter, 5)).toEqual([1, 3]);
  });

  it("no way at all is refused at the intent", () => {
    const arbiter = new Arbiter(noPeers);
    for (const [source, destination] of [
      [0, 2],
      [2, 1],
    ] as const) {
      expect(() => arbiter.intent({ transfer: 0, source, destination, rank: 0, bytes: 1 }, 0)).toThrow(
        expect.objectContaining({ code: "NO_ROUTE", details: { transfer: 0, source, destination } }),
      );
    }
  });

  it("a quarantined transfer gives back every link of its way", () => {
    const { arbiter } = raised(spine, [
      [0, 2],
      [1, 3],
      [2, 0],
    ]);
    expect(arbiter.expire(arbiter.nextDeadlineNs).map(({ transfer }) => transfer)).toEqual([0, 1]);
    expect(select(arbiter, 1e10)).toEqual([2]);
    expect(arbiter.done(0, 2e10)).toBe("quarantined");
    arbiter.validate();
  });
});
