/** Ways between accelerators as machines have them. */
import type { Topology } from "../src/index.ts";
import { topologyOf } from "./twin.ts";

const ones = (count: number) => new Array<number>(count).fill(1);

/** Four accelerators, two below each PCIe switch; what crosses takes the uplink of one and the downlink of the other. */
export const pcieSwitches: Topology = topologyOf(ones(4), [1, 1, 1, 1], (source, destination) => {
  const [from, to] = [source >> 1, destination >> 1];
  return from === to ? [] : [from, 2 + to];
});

/** Four accelerators, NVLink bridges in 0–1 and 2–3; all else goes over the one host bridge, which is busy both ways at once. */
export const nvlinkPairs: Topology = topologyOf(ones(4), [1], (source, destination) =>
  source >> 1 === destination >> 1 ? [] : [0],
);

/** Eight accelerators on an NVSwitch: nothing is shared but the ports. */
export const nvswitch: Topology = topologyOf(ones(8), [], () => []);

/** Two nodes of four, each with a network card that takes two transfers out (links 0, 1) and two in (links 2, 3). */
export const networkCards: Topology = topologyOf(ones(8), [2, 2, 2, 2], (source, destination) => {
  const [from, to] = [source >> 2, destination >> 2];
  return from === to ? [] : [from, 2 + to];
});

/** Two nodes of two over a spine that takes three transfers in all, through cards that take two each: a way of three links. */
export const spine: Topology = topologyOf([2, 2, 2, 2], [2, 2, 3], (source, destination) => {
  const [from, to] = [source >> 1, destination >> 1];
  return from === to ? [] : [from, 2, to];
});

/** A ring of four, one way: link i leads from i to i + 1, and a way takes all on it. */
export const ring: Topology = topologyOf([2, 2, 2, 2], ones(4), (source, destination) =>
  Array.from({ length: (destination - source + 4) % 4 }, (_, hop) => (source + hop) % 4),
);

/** Accelerators that reach each other through the host alone, and 2 not at all. */
export const noPeers: Topology = topologyOf(ones(3), [1], (source, destination) =>
  source === 2 || destination === 2 ? undefined : [0],
);
