/** A topology as plain arrays in shared memory, which every worker reads. */
import type { Topology } from "@slicescheduler/arbitration";
import { sharedFloats, sharedInts } from "./shared.ts";

export interface TopologyTable {
  readonly accelerators: number;
  /** Doubles, so that what is not a capacity is refused and not rounded. */
  readonly portCapacity: Float64Array;
  readonly linkCapacity: Float64Array;
  /** By pair `source × accelerators + destination`, and one sentinel: where its links begin in `links`. */
  readonly offsets: Int32Array;
  /** By pair: 1 where there is a way. */
  readonly reachable: Int32Array;
  readonly links: Float64Array;
}

/** Asks for every route once. O(accelerators²). */
export function topologyTable(topology: Topology): TopologyTable {
  const { accelerators } = topology;
  const offsets = sharedInts(accelerators ** 2 + 1);
  const reachable = sharedInts(accelerators ** 2);
  const links: number[] = [];
  for (let pair = 0; pair < accelerators ** 2; pair++) {
    offsets[pair] = links.length;
    const source = Math.floor(pair / accelerators);
    const destination = pair % accelerators;
    const route = source === destination ? undefined : topology.route(source, destination);
    if (route === undefined) continue;
    reachable[pair] = 1;
    for (const link of route) links.push(link);
  }
  offsets[accelerators ** 2] = links.length;
  return {
    accelerators,
    portCapacity: sharedFloats(topology.portCapacity),
    linkCapacity: sharedFloats(topology.linkCapacity),
    offsets,
    reachable,
    links: sharedFloats(links),
  };
}

/** The topology again. */
export function topologyOf(table: TopologyTable): Topology {
  const { accelerators, offsets, reachable, links } = table;
  return {
    accelerators,
    portCapacity: [...table.portCapacity],
    linkCapacity: [...table.linkCapacity],
    route: (source, destination) => {
      const pair = source * accelerators + destination;
      if (reachable[pair] !== 1) return undefined;
      return [...links.subarray(offsets[pair], offsets[pair + 1])];
    },
  };
}
