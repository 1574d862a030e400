/** The slow, obvious twin of the selection rule, and the topologies the tests draw. */
import fc from "fast-check";
import type { Topology } from "../src/index.ts";

export interface TwinIntent {
  readonly transfer: number;
  readonly source: number;
  readonly destination: number;
  readonly rank: number;
  readonly sinceNs: number;
}

/** Literally the section "Selection" of docs/execution-model.md, recounted from lists of objects each time. */
export class Twin {
  pending: TwinIntent[] = [];
  active: { transfer: number; source: number; destination: number }[] = [];
  readonly topology: Topology;
  readonly agingNs: number;
  readonly reserveNs: number;

  constructor(topology: Topology, agingNs: number, reserveNs: number) {
    this.topology = topology;
    this.agingNs = agingNs;
    this.reserveNs = reserveNs;
  }

  way({ source, destination }: { source: number; destination: number }): string[] {
    const links = this.topology.route(source, destination) ?? [];
    return [`egress ${source}`, `ingress ${destination}`, ...links.map((link) => `link ${link}`)];
  }

  capacity(port: string): number {
    const [kind, index] = port.split(" ");
    const from = kind === "link" ? this.topology.linkCapacity : this.topology.portCapacity;
    return from[Number(index)] ?? 0;
  }

  held(port: string): number {
    return this.active.filter((transfer) => this.way(transfer).includes(port)).length;
  }

  inOrder(nowNs: number): TwinIntent[] {
    const effective = (intent: TwinIntent) => intent.rank - Math.floor((nowNs - intent.sinceNs) / this.agingNs);
    return [...this.pending].sort((a, b) => effective(a) - effective(b) || a.transfer - b.transfer);
  }

  select(nowNs: number): number[] {
    const reserved = new Set<string>();
    const selected: number[] = [];
    for (const intent of this.inOrder(nowNs)) {
      const way = this.way(intent);
      const free = way.every((port) => this.held(port) < this.capacity(port));
      if (free && !way.some((port) => reserved.has(port))) {
        this.pending = this.pending.filter((other) => other !== intent);
        this.active.push(intent);
        selected.push(intent.transfer);
      } else if (nowNs - intent.sinceNs >= this.reserveNs) {
        for (const port of way) reserved.add(port);
      }
    }
    return selected;
  }
}

export function topologyOf(
  portCapacity: readonly number[],
  linkCapacity: readonly number[],
  routes: (source: number, destination: number) => readonly number[] | undefined,
): Topology {
  return { accelerators: portCapacity.length, portCapacity, linkCapacity, route: routes };
}

/** 2 to 6 accelerators, up to 4 links that several routes may share, some pairs without a way, at least 0 → 1 with one. */
export const topologies: fc.Arbitrary<Topology> = fc
  .record({
    portCapacity: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 6 }),
    linkCapacity: fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 4 }),
    routes: fc.array(fc.option(fc.uniqueArray(fc.nat(3), { maxLength: 3 }), { freq: 6 }), {
      minLength: 36,
      maxLength: 36,
    }),
  })
  .map(({ portCapacity, linkCapacity, routes }) =>
    topologyOf(portCapacity, linkCapacity, (source, destination) => {
      const drawn = routes[source * 6 + destination] ?? undefined;
      const links = drawn?.filter((link) => link < linkCapacity.length);
      return source === 0 && destination === 1 ? (links ?? []) : links;
    }),
  );

/** Every ordered pair with a way. */
export function pairs(topology: Topology): (readonly [number, number])[] {
  const all: (readonly [number, number])[] = [];
  for (let source = 0; source < topology.accelerators; source++) {
    for (let destination = 0; destination < topology.accelerators; destination++) {
      if (source !== destination && topology.route(source, destination) !== undefined) all.push([source, destination]);
    }
  }
  return all;
}

/** The element at a drawn position, taken modulo what exists. */
export function pick<T>(from: readonly T[], at: number): T {
  const found = from[at % from.length];
  if (found === undefined) throw new Error("nothing to pick from");
  return found;
}
