/**
 * Covers for templates of any size. Each operator passes on the chains whose last holding is surely freed when it is done, to one of its
 * successors; whatever is born with an operator continues a chain it was passed, the one that fits best. Close to the least on graphs that are
 * narrow, as models are; sound on all.
 */
import type { Template } from "@slicescheduler/templates";
import { type Cover, CoverBuilder, SHARE_UNITS } from "./cover.ts";
import type { Descent } from "./cover-descent.ts";
import type { Moment } from "./cover-order.ts";
import type { Holding, Lifetimes } from "./lifetimes.ts";

/** Chains looked at for the one that fits best. */
const LOOKED_AT_MAX = 16;

export interface GreedyPart {
  readonly lifetimes: Lifetimes;
  /** Bytes per holding that are expected in some proportion. */
  readonly weights: Float64Array;
}

export interface GreedyOptions {
  readonly moment: Moment;
  /** Holdings of a chain are at most so many times as heavy as one another. Default unlimited. */
  readonly ratioMax?: number;
}

/** Several accelerators of one layout at once: a pass over the operators serves them all. */
export class GreedyCoverer {
  readonly #template: Template;
  readonly #descent: Descent;
  readonly #parts: readonly GreedyPart[];
  readonly #events: Events;

  constructor(template: Template, descent: Descent, parts: readonly GreedyPart[]) {
    this.#template = template;
    this.#descent = descent;
    this.#parts = parts;
    this.#events = new Events(template, descent, parts);
  }

  /** A cover for each part. Linear in operators and holdings, times log where ways join. */
  covers({ moment, ratioMax = Number.POSITIVE_INFINITY }: GreedyOptions): Cover[] {
    const pass = new Pass(this.#parts, this.#events, moment, ratioMax);
    for (const index of this.#template.order) {
      pass.visit(index, this.#descent.deepest(this.#template.operators[index]?.successors ?? []));
    }
    return this.#parts.map((_, part) => pass.cover(part));
  }
}

/** What happens with each operator to the holdings of all parts, which are numbered through. */
class Events {
  /** Per holding. */
  readonly part: Int32Array;
  readonly first: Int32Array;
  /** 1 where the end of the operator that makes it frees it: at rest it is never there. */
  readonly isBrief: Uint8Array;
  /** 1 where it may continue a chain: not what may stay, as nothing could go on after it, unless nothing is born later anyway. */
  readonly takesTurns: Uint8Array;
  /** There from the beginning. */
  readonly early: number[] = [];
  readonly started: Lists;
  readonly received: Lists;
  /** What an operator shows to be free when it starts, and when it has ended. */
  readonly freedBefore: Lists;
  readonly freed: Lists;

  constructor(template: Template, descent: Descent, parts: readonly GreedyPart[]) {
    const count = parts.reduce((sum, { lifetimes }) => sum + lifetimes.holdings.length, 0);
    const { length } = template.operators;
    [this.started, this.received] = [new Lists(length, count), new Lists(length, count)];
    [this.freedBefore, this.freed] = [new Lists(length, count), new Lists(length, count)];
    this.part = new Int32Array(count);
    this.first = new Int32Array(parts.length);
    this.isBrief = new Uint8Array(count);
    this.takesTurns = new Uint8Array(count);
    let id = 0;
    parts.forEach(({ lifetimes: { holdings } }, part) => {
      this.first[part] = id;
      const lastBirth = holdings.at(-1)?.bornWith;
      for (const holding of holdings) {
        this.part[id] = part;
        this.#add(id, holding, descent);
        if (holding.bornWith === lastBirth) this.takesTurns[id] = 1;
        id += 1;
      }
    });
  }

  #add(id: number, holding: Holding, descent: Descent): void {
    const { kind, bornWith } = holding;
    if (bornWith < 0) this.early.push(id);
    else (kind === "copy" ? this.received : this.started).add(bornWith, id);
    // Whether a growth stays depends on the instance.
    if (holding.permanent || kind === "growth") return;
    this.takesTurns[id] = 1;
    const { freedAfter, issuedAfter, sentAfter } = holding;
    const isSimple = issuedAfter.length + sentAfter.length === 0;
    const all = isSimple ? freedAfter : [...freedAfter, ...issuedAfter, ...sentAfter.flat()];
    const end = descent.meet(all);
    if (end < 0) return;
    if (end === bornWith) this.isBrief[id] = 1;
    (all.includes(end) ? this.freed : this.freedBefore).add(end, id);
  }
}

/** Chains that an operator was passed and nobody else has, by part. */
type Pool = Map<number, Chain[]>;

interface Chain {
  readonly members: number[];
  /** Of the heaviest member. */
  weight: number;
}

class Pass {
  readonly #parts: readonly GreedyPart[];
  readonly #events: Events;
  readonly #moment: Moment;
  readonly #ratioMax: number;
  /** Per part. */
  readonly #chains: Chain[][];
  /** Per holding, once born. */
  readonly #chainOf: (Chain | undefined)[] = [];
  /** Per operator: what it was passed. */
  readonly #pools: (Pool | undefined)[] = [];

  constructor(parts: readonly GreedyPart[], events: Events, moment: Moment, ratioMax: number) {
    this.#parts = parts;
    this.#events = events;
    this.#moment = moment;
    this.#ratioMax = ratioMax;
    this.#chains = parts.map(() => []);
    for (const id of events.early) this.#append(id, this.#newChain(id));
  }

  visit(index: number, heir: number): void {
    const { started, received, freedBefore, freed } = this.#events;
    const pool = this.#pools[index] ?? new Map<number, Chain[]>();
    this.#pools[index] = undefined;
    freedBefore.each(index, (id) => this.#giveBack(id, pool));
    if (this.#moment === "any") started.each(index, (id) => this.#place(id, pool));
    freed.each(index, (id) => this.#giveBack(id, pool));
    if (this.#moment === "rest") started.each(index, (id) => this.#place(id, pool));
    received.each(index, (id) => this.#place(id, pool));
    if (heir >= 0 && pool.size > 0) this.#pools[heir] = merged(this.#pools[heir], pool);
  }

  cover(part: number): Cover {
    const builder = new CoverBuilder(this.#moment, this.#parts[part]?.lifetimes.holdings.length ?? 0);
    const first = this.#events.first[part] as number;
    for (const { members } of this.#chains[part] as Chain[]) {
      for (const id of members) builder.add(id - first, SHARE_UNITS);
      builder.endChain();
    }
    return builder.finish();
  }

  #place(id: number, pool: Pool): void {
    const { isBrief, takesTurns, part } = this.#events;
    if (this.#moment === "rest" && isBrief[id] === 1) return;
    const passed = takesTurns[id] === 1 ? pool.get(part[id] as number) : undefined;
    const chain = passed === undefined ? undefined : takeBest(passed, this.#weight(id), this.#ratioMax);
    this.#append(id, chain ?? this.#newChain(id));
  }

  #giveBack(id: number, pool: Pool): void {
    const chain = this.#chainOf[id];
    if (chain === undefined) return;
    const part = this.#events.part[id] as number;
    const chains = pool.get(part);
    if (chains === undefined) pool.set(part, [chain]);
    else chains.push(chain);
  }

  #newChain(id: number): Chain {
    const chain = { members: [], weight: 0 };
    this.#chains[this.#events.part[id] as number]?.push(chain);
    return chain;
  }

  #append(id: number, chain: Chain): void {
    chain.members.push(id);
    chain.weight = Math.max(chain.weight, this.#weight(id));
    this.#chainOf[id] = chain;
  }

  #weight(id: number): number {
    const part = this.#events.part[id] as number;
    return this.#parts[part]?.weights[id - (this.#events.first[part] as number)] as number;
  }
}

/** Takes out the chain that is closest in weight, of those looked at; none is when it is too far away. */
function takeBest(chains: Chain[], weight: number, ratioMax: number): Chain | undefined {
  let best = -1;
  let bestCost = Number.POSITIVE_INFINITY;
  for (let i = chains.length - 1; i >= 0 && i >= chains.length - LOOKED_AT_MAX; i--) {
    const other = (chains[i] as Chain).weight;
    if (other > weight * ratioMax || weight > other * ratioMax) continue;
    // Growing costs bytes; using a heavy chain for something light only keeps it from others.
    const cost = other >= weight ? (other - weight) / 4 : weight - other;
    if (cost < bestCost) [best, bestCost] = [i, cost];
  }
  const chain = chains[best];
  if (chain === undefined) return undefined;
  const last = chains.pop();
  if (chain !== last && last !== undefined) chains[best] = last;
  return chain;
}

/** The smaller goes into the larger, so that an element moves a logarithmic number of times. */
function merged(one: Pool | undefined, other: Pool): Pool {
  if (one === undefined) return other;
  const [large, small] = one.size >= other.size ? [one, other] : [other, one];
  for (const [part, chains] of small) {
    const known = large.get(part);
    if (known === undefined) large.set(part, chains);
    else if (known.length >= chains.length) for (const chain of chains) known.push(chain);
    else {
      for (const chain of known) chains.push(chain);
      large.set(part, chains);
    }
  }
  return large;
}

/** A list of numbers per operator, in the order of adding; each number is in one list at most. */
class Lists {
  /** Per operator: its first and last number, or −1. */
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  /** Per number: the next one in its list, or −1. */
  readonly #next: Int32Array;

  constructor(operators: number, numbers: number) {
    this.#first = new Int32Array(operators).fill(-1);
    this.#last = new Int32Array(operators).fill(-1);
    this.#next = new Int32Array(numbers).fill(-1);
  }

  add(operator: number, number: number): void {
    const last = this.#last[operator] as number;
    if (last < 0) this.#first[operator] = number;
    else this.#next[last] = number;
    this.#last[operator] = number;
  }

  each(operator: number, visit: (number: number) => void): void {
    for (let at = this.#first[operator] as number; at >= 0; at = this.#next[at] as number) visit(at);
  }
}
