/** The best schedule there is, found exhaustively, and what the arbiter makes of the same transfers. */
import { Arbiter, type ArbitrationOptions, type Topology } from "../src/index.ts";

export interface Move {
  readonly source: number;
  readonly destination: number;
  /** Its bytes as well: every port carries one byte in a nanosecond. */
  readonly durationNs: number;
}

/** Transfers that are all there at the beginning, with the same rank. */
export interface Instance {
  readonly topology: Topology;
  readonly moves: readonly Move[];
}

interface Placed {
  readonly ports: readonly number[];
  readonly beginNs: number;
  readonly endNs: number;
}

interface Ports {
  /** By move: what it takes, as indices into `capacity`. */
  readonly ports: readonly (readonly number[])[];
  readonly capacity: readonly number[];
}

function portsOf({ topology, moves }: Instance): Ports {
  const { accelerators, portCapacity, linkCapacity } = topology;
  const ports = moves.map(({ source, destination }) => {
    const links = topology.route(source, destination) ?? [];
    return [source, accelerators + destination, ...links.map((link) => 2 * accelerators + link)];
  });
  return { ports, capacity: [...portCapacity, ...portCapacity, ...linkCapacity] };
}

/** What no schedule beats: the longest move, and what the fullest port has to carry. */
export function lowerBoundNs(instance: Instance): number {
  const { ports, capacity } = portsOf(instance);
  const loadNs = capacity.map(() => 0);
  for (const [at, { durationNs }] of instance.moves.entries()) {
    for (const port of ports[at] ?? []) loadNs[port] = (loadNs[port] ?? 0) + durationNs;
  }
  const full = loadNs.map((ns, port) => Math.ceil(ns / (capacity[port] ?? 1)));
  return Math.max(...full, ...instance.moves.map(({ durationNs }) => durationNs));
}

/**
 * When the last transfer ends in the best schedule. Every order of the transfers is tried, each transfer laid at the earliest time at
 * which it fits beside those before it in that order, gaps included: among these schedules, the active ones, is a best one.
 * An order is given up once it ends no earlier than the best so far.
 */
export function optimumNs(instance: Instance): number {
  const { moves } = instance;
  const { ports, capacity } = portsOf(instance);
  const boundNs = lowerBoundNs(instance);
  let bestNs = Number.POSITIVE_INFINITY;
  const placed: Placed[] = [];
  const visit = (left: readonly number[], endNs: number): void => {
    if (endNs >= bestNs) return;
    if (left.length === 0) bestNs = endNs;
    for (const move of left) {
      if (bestNs === boundNs) return;
      const { durationNs } = moves[move] as Move;
      const beginNs = earliestNs(placed, ports[move] ?? [], durationNs, capacity);
      placed.push({ ports: ports[move] ?? [], beginNs, endNs: beginNs + durationNs });
      visit(
        left.filter((other) => other !== move),
        Math.max(endNs, beginNs + durationNs),
      );
      placed.pop();
    }
  };
  visit(Array.from(moves.keys()), 0);
  return bestNs;
}

function earliestNs(
  placed: readonly Placed[],
  ports: readonly number[],
  durationNs: number,
  capacity: readonly number[],
): number {
  const times = [0, ...placed.map(({ endNs }) => endNs)].sort((a, b) => a - b);
  for (const beginNs of times) if (fits(placed, ports, beginNs, beginNs + durationNs, capacity)) return beginNs;
  throw new Error("after the last end everything fits");
}

function fits(
  placed: readonly Placed[],
  ports: readonly number[],
  beginNs: number,
  endNs: number,
  capacity: readonly number[],
): boolean {
  for (const port of ports) {
    const beside = placed.filter((it) => it.ports.includes(port) && it.beginNs < endNs && it.endNs > beginNs);
    // The number beside it changes only where one begins.
    for (const atNs of [beginNs, ...beside.map((it) => it.beginNs)]) {
      if (atNs < beginNs) continue;
      const count = beside.filter((it) => it.beginNs <= atNs && atNs < it.endNs).length;
      if (count >= (capacity[port] ?? 0)) return false;
    }
  }
  return true;
}

/** When the last transfer ends if the arbiter decides, which is asked at every end. */
export function arbiterNs({ topology, moves }: Instance, options: ArbitrationOptions = {}): number {
  const arbiter = new Arbiter(topology, options);
  for (const [transfer, { source, destination, durationNs }] of moves.entries()) {
    arbiter.intent({ transfer, source, destination, rank: 0, bytes: durationNs }, 0);
  }
  const ends = new Map<number, number>();
  let nowNs = 0;
  for (;;) {
    for (const { transfer } of arbiter.select(nowNs)) {
      arbiter.recvReady(transfer, nowNs);
      ends.set(transfer, nowNs + (moves[transfer] as Move).durationNs);
    }
    if (ends.size === 0) return nowNs;
    nowNs = Math.min(...ends.values());
    for (const [transfer, endNs] of ends) {
      if (endNs !== nowNs) continue;
      ends.delete(transfer);
      arbiter.done(transfer, nowNs);
    }
  }
}

/** The slow, obvious twin of `optimumNs`: every move at every whole time up to the end of a schedule one by one. */
export function optimumByTimesNs(instance: Instance): number {
  const { moves } = instance;
  const { ports, capacity } = portsOf(instance);
  const horizonNs = moves.reduce((sum, { durationNs }) => sum + durationNs, 0);
  let bestNs = horizonNs;
  const placed: Placed[] = [];
  const visit = (move: number, lastNs: number): void => {
    const next = moves[move];
    if (next === undefined) {
      bestNs = Math.min(bestNs, lastNs);
      return;
    }
    for (let beginNs = 0; beginNs + next.durationNs < bestNs; beginNs++) {
      const endNs = beginNs + next.durationNs;
      if (!fits(placed, ports[move] ?? [], beginNs, endNs, capacity)) continue;
      placed.push({ ports: ports[move] ?? [], beginNs, endNs });
      visit(move + 1, Math.max(lastNs, endNs));
      placed.pop();
    }
  };
  visit(0, 0);
  return bestNs;
}

/** Whole numbers that look random, from a seed: murmur3's finaliser over a counter. */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 1_000_003;
  }

  between(min: number, max: number): number {
    const value = ++this.#state;
    let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return min + (((hash ^ (hash >>> 16)) >>> 0) % (max - min + 1));
  }
}
