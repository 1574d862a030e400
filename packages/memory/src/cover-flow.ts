/**
 * The heaviest set of holdings that can be there together, and chains that prove it is: by Dilworth's theorem with weights
 * (Fulkerson 1956) the largest weight of an antichain is the least flow through the order in which each element carries at
 * least its weight.
 */
import type { HoldingOrder } from "./cover-order.ts";

/** Holdings in order, and how much of the weight of each the chain carries. */
export interface WeightedChain {
  readonly members: readonly number[];
  readonly amount: number;
}

/**
 * Chains whose amounts add up to the weight of the heaviest antichain, and at each holding to at least its weight. Weights are whole,
 * from 1, and their sum is at most 2^53. Dinic's method on the reduced order: O(V²·E) at worst, in practice a few sweeps.
 */
export function leastChains(order: HoldingOrder, weights: ArrayLike<number>): WeightedChain[] {
  const { count, sorted, next } = order;
  const network = new Network(2 * count + 2);
  const source = 2 * count;
  const target = source + 1;
  // Each holding starts as a chain of its own. A unit of flow saves one chain: it lets a unit of x (node x) be continued by a
  // unit of y (node count + y), or passes through y to something later.
  const ends = new Map<number, number>();
  const starts = new Map<number, number>();
  const links: { readonly to: number; readonly edge: number }[][] = Array.from({ length: count }, () => []);
  for (const x of sorted) {
    ends.set(x, network.connect(source, x, weights[x] as number));
    starts.set(x, network.connect(count + x, target, weights[x] as number));
    network.connect(count + x, x, Number.MAX_SAFE_INTEGER);
    for (const y of next[x] ?? []) {
      links[x]?.push({ to: y, edge: network.connect(x, count + y, Number.MAX_SAFE_INTEGER) });
    }
  }
  network.saturate(source, target);
  const chains = traceChains(order, weights, network, starts, ends, links);
  return lengthened(order, weights, chains);
}

/**
 * Each chain goes on, both ways, as long as there is something to go on with. That costs nothing at these weights; at others it
 * lets what is heavier there be carried by chains that would otherwise be too long for it.
 */
function lengthened(
  { count, next, sorted }: HoldingOrder,
  weights: ArrayLike<number>,
  chains: readonly WeightedChain[],
): WeightedChain[] {
  const previous: number[][] = Array.from({ length: count }, () => []);
  for (const x of sorted) for (const y of next[x] as readonly number[]) previous[y]?.push(x);
  const carried = new Float64Array(count);
  for (const { members, amount } of chains) for (const x of members) carried[x] = (carried[x] as number) + amount;
  /** The one that carries least for its weight. */
  const neediest = (among: readonly number[]): number | undefined => {
    let best: number | undefined;
    let bestRatio = Number.POSITIVE_INFINITY;
    for (const x of among) {
      const ratio = (carried[x] as number) / (weights[x] as number);
      if (ratio < bestRatio) [best, bestRatio] = [x, ratio];
    }
    return best;
  };
  const grow = (from: number | undefined, steps: readonly (readonly number[])[], amount: number): number[] => {
    const added: number[] = [];
    for (let at = from; at !== undefined; ) {
      at = neediest(steps[at] as readonly number[]);
      if (at === undefined) break;
      added.push(at);
      carried[at] = (carried[at] as number) + amount;
    }
    return added;
  };
  return chains.map(({ members, amount }) => {
    const after = grow(members.at(-1), next, amount);
    const before = grow(members[0], previous, amount);
    return { members: [...before.reverse(), ...members, ...after], amount };
  });
}

/** Takes the flow apart: each chain empties a start, an end or a link for good, so there are at most as many as those. */
function traceChains(
  { sorted }: HoldingOrder,
  weights: ArrayLike<number>,
  network: Network,
  starts: ReadonlyMap<number, number>,
  ends: ReadonlyMap<number, number>,
  links: readonly (readonly { readonly to: number; readonly edge: number }[])[],
): WeightedChain[] {
  const startsLeft = new Map(sorted.map((x) => [x, (weights[x] as number) - network.flow(starts.get(x) as number)]));
  const endsLeft = new Map(sorted.map((x) => [x, (weights[x] as number) - network.flow(ends.get(x) as number)]));
  const linksLeft = links.map((of) => of.map(({ to, edge }) => ({ to, left: network.flow(edge) })));
  const chains: WeightedChain[] = [];
  for (const first of sorted) {
    for (let left = startsLeft.get(first) as number; left > 0; left = startsLeft.get(first) as number) {
      const members = [first];
      const taken: { left: number }[] = [];
      let amount = left;
      let at = first;
      for (let link = fullest(linksLeft[at] ?? []); link !== undefined; link = fullest(linksLeft[at] ?? [])) {
        taken.push(link);
        amount = Math.min(amount, link.left);
        at = link.to;
        members.push(at);
      }
      // What flows in flows out: where no link is left an end is.
      amount = Math.min(amount, endsLeft.get(at) as number);
      for (const link of taken) link.left -= amount;
      startsLeft.set(first, left - amount);
      endsLeft.set(at, (endsLeft.get(at) as number) - amount);
      chains.push({ members, amount });
    }
  }
  return chains;
}

function fullest<Link extends { readonly left: number }>(links: readonly Link[]): Link | undefined {
  let best: Link | undefined;
  for (const link of links) if (link.left > (best?.left ?? 0)) best = link;
  return best;
}

/** A flow network with whole capacities. */
class Network {
  readonly #edgesOf: number[][];
  /** Edge 2i goes forward, 2i + 1 back. */
  readonly #to: number[] = [];
  readonly #left: number[] = [];
  readonly #level: Int32Array;
  readonly #looked: Int32Array;

  constructor(nodes: number) {
    this.#edgesOf = Array.from({ length: nodes }, () => []);
    this.#level = new Int32Array(nodes);
    this.#looked = new Int32Array(nodes);
  }

  connect(from: number, to: number, capacity: number): number {
    const edge = this.#to.push(to, from) - 2;
    this.#left.push(capacity, 0);
    this.#edgesOf[from]?.push(edge);
    this.#edgesOf[to]?.push(edge + 1);
    return edge;
  }

  flow(edge: number): number {
    return this.#left[edge + 1] as number;
  }

  /** Sends as much as there is a way for (Dinic 1970). */
  saturate(source: number, target: number): void {
    while (this.#measure(source, target)) {
      this.#looked.fill(0);
      while (this.#push(source, target));
    }
  }

  /** Steps from the source to each node; whether the target can be reached. */
  #measure(source: number, target: number): boolean {
    this.#level.fill(-1);
    this.#level[source] = 0;
    const line = [source];
    for (let head = 0; head < line.length; head++) {
      const node = line[head] as number;
      for (const edge of this.#edgesOf[node] as number[]) {
        const to = this.#to[edge] as number;
        if ((this.#left[edge] as number) === 0 || (this.#level[to] as number) >= 0) continue;
        this.#level[to] = (this.#level[node] as number) + 1;
        line.push(to);
      }
    }
    return (this.#level[target] as number) >= 0;
  }

  /** Sends along one shortest way, found by walking forward and back; false when none is left. */
  #push(source: number, target: number): boolean {
    const way: number[] = [];
    let node = source;
    while (node !== target) {
      const edge = this.#nextEdge(node);
      if (edge !== undefined) {
        way.push(edge);
        node = this.#to[edge] as number;
        continue;
      }
      const last = way.pop();
      if (last === undefined) return false;
      node = this.#to[last ^ 1] as number;
      this.#looked[node] = (this.#looked[node] as number) + 1;
    }
    const amount = way.reduce((least, edge) => Math.min(least, this.#left[edge] as number), Number.MAX_SAFE_INTEGER);
    for (const edge of way) {
      this.#left[edge] = (this.#left[edge] as number) - amount;
      this.#left[edge ^ 1] = (this.#left[edge ^ 1] as number) + amount;
    }
    return true;
  }

  #nextEdge(node: number): number | undefined {
    const edges = this.#edgesOf[node] as number[];
    for (let i = this.#looked[node] as number; i < edges.length; i++) {
      const edge = edges[i] as number;
      const isOn = (this.#level[this.#to[edge] as number] as number) === (this.#level[node] as number) + 1;
      if (isOn && (this.#left[edge] as number) > 0) {
        this.#looked[node] = i;
        return edge;
      }
    }
    this.#looked[node] = edges.length;
    return undefined;
  }
}
