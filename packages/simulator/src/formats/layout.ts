import type { DagAccelerator } from "../dag.ts";
import { linkNs } from "../link.ts";
import { FormatError, quoted } from "./errors.ts";
import { readersOf } from "./order.ts";

/**
 * Where operators run for which the file names no accelerator. `"roundRobin"`: one after the other in the order of the file.
 * `"listScheduling"`: longest remaining path first (ties: the longer chain of operators, then the first in the file), each where it
 * starts earliest by durations and transfers alone (ties: the accelerator that is free first, then the first). A map names the accelerator of an operator, also where the file
 * names another.
 */
export type Layout = "roundRobin" | "listScheduling" | ReadonlyMap<string, string>;

export interface Link {
  readonly latencyNs: number;
  readonly bytesPerSecond: number;
}

/** What readers of graphs that leave places open are told. */
export interface LayoutOptions {
  /** A number makes accelerators with the names "0", "1", … Default: those that the file declares, else those it names. */
  readonly accelerators?: number | readonly DagAccelerator[];
  /** Needed when an operator names no accelerator. */
  readonly layout?: Layout;
  /** Of each pair of accelerators. Default: what the file declares, else that of `simulateDag`. */
  readonly link?: Link;
}

/** Operators by index, with −1 as the accelerator of those that are still open. */
export interface OpenGraph {
  readonly durationNs: readonly number[];
  readonly outputBytes: readonly number[];
  readonly inputs: readonly (readonly number[])[];
  readonly accelerator: number[];
}

/** As many as the arbiter of transfers takes. */
export const ACCELERATORS_MAX = 8192;
const DEFAULT_LINK: Link = { latencyNs: 0, bytesPerSecond: 25e9 };

/** Refuses options of the wrong shape, so that what is wrong with them is not blamed on the content. */
export function checkOptions({ accelerators, layout, link }: LayoutOptions): void {
  if (typeof accelerators === "number" && !isCount(accelerators))
    refuse(`accelerators is ${accelerators}; it must be a whole number from 1 to ${ACCELERATORS_MAX}`);
  if (typeof accelerators === "object") {
    if (!isCount(accelerators.length))
      refuse(`accelerators has ${accelerators.length} items; it must have from 1 to ${ACCELERATORS_MAX}`);
    const names = new Set<string>();
    for (const { name } of accelerators) {
      if (typeof name !== "string" || name === "" || names.has(name))
        refuse(`accelerators names ${quoted(String(name))} twice or not at all`, { name });
      names.add(name);
    }
  }
  if (layout !== undefined && layout !== "roundRobin" && layout !== "listScheduling" && !(layout instanceof Map))
    refuse(`layout is ${quoted(String(layout))}; it must be "roundRobin", "listScheduling" or a Map`);
  if (link === undefined) return;
  if (!(Number.isSafeInteger(link.latencyNs) && link.latencyNs >= 0))
    refuse(`link.latencyNs is ${link.latencyNs}; it must be a whole number from 0 to 2^53 − 1`);
  if (!(link.bytesPerSecond > 0 && Number.isFinite(link.bytesPerSecond)))
    refuse(`link.bytesPerSecond is ${link.bytesPerSecond}; it must be above 0 and finite`);
}

export function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= ACCELERATORS_MAX;
}

export function refuse(message: string, details: Readonly<Record<string, unknown>> = {}): never {
  throw new FormatError("INVALID_OPTION", null, message, details);
}

export function numberedAccelerators(count: number): DagAccelerator[] {
  return Array.from({ length: count }, (_, index) => ({ name: String(index) }));
}

/** Fills the open places in turn. */
export function layRoundRobin({ accelerator }: OpenGraph, accelerators: number): void {
  let next = 0;
  for (const [index, on] of accelerator.entries()) {
    if (on !== -1) continue;
    accelerator[index] = next;
    next = (next + 1) % accelerators;
  }
}

/**
 * Fills the open places by list scheduling (Graham 1969, with transfers between accelerators). O((n + e) · log accelerators):
 * of the accelerators that hold no input, the one that is free first is as good as any other.
 */
export function layByList(graph: OpenGraph, order: readonly number[], accelerators: number, link = DEFAULT_LINK): void {
  const { accelerator, durationNs, inputs } = graph;
  const doneNs = new Float64Array(durationNs.length);
  const free = new FirstFree(accelerators);
  for (const index of byRemainingPath(graph, order)) {
    const arrivals = arrivalsOf(graph, index, doneNs, link);
    const startOn = (on: number) => Math.max(free.atNs(on), arrivals.on(on));
    let best = accelerator[index] ?? -1;
    if (best === -1) {
      best = free.first();
      for (const input of inputs[index] ?? []) {
        const on = accelerator[input] ?? 0;
        const earlier = startOn(on) - startOn(best) || free.atNs(on) - free.atNs(best) || on - best;
        if (earlier < 0) best = on;
      }
      accelerator[index] = best;
    }
    const done = startOn(best) + (durationNs[index] ?? 0);
    doneNs[index] = done;
    free.occupy(best, done);
  }
}

/**
 * Descending by the longest path to an end, then by the number of operators on the longest chain to one: that keeps inputs
 * before their readers also where sums of durations above 2^53 ns have become equal. Ties in the order of the graph.
 */
function byRemainingPath({ durationNs, inputs }: OpenGraph, order: readonly number[]): number[] {
  const readers = readersOf(inputs);
  const pathNs = new Float64Array(durationNs.length);
  const chain = new Int32Array(durationNs.length);
  for (const index of [...order].reverse()) {
    let longestNs = 0;
    let longest = 0;
    for (const reader of readers[index] ?? []) {
      longestNs = Math.max(longestNs, pathNs[reader] ?? 0);
      longest = Math.max(longest, chain[reader] ?? 0);
    }
    pathNs[index] = longestNs + (durationNs[index] ?? 0);
    chain[index] = longest + 1;
  }
  const compare = (a: number, b: number) =>
    (pathNs[b] ?? 0) - (pathNs[a] ?? 0) || (chain[b] ?? 0) - (chain[a] ?? 0) || a - b;
  return [...order].sort(compare);
}

/** When the last input is present on an accelerator: the latest from elsewhere, or the latest that is already there. */
function arrivalsOf({ inputs, accelerator, outputBytes }: OpenGraph, index: number, doneNs: Float64Array, link: Link) {
  const localNs = new Map<number, number>();
  let latestNs = 0;
  let latestFrom = -1;
  let elsewhereNs = 0; // the latest of those that do not come from `latestFrom`
  for (const input of inputs[index] ?? []) {
    const from = accelerator[input] ?? 0;
    const done = doneNs[input] ?? 0;
    const bytes = outputBytes[input] ?? 0;
    const arrival = done + linkNs(link, bytes);
    localNs.set(from, Math.max(localNs.get(from) ?? 0, done));
    if (from === latestFrom) latestNs = Math.max(latestNs, arrival);
    else if (arrival > latestNs) {
      elsewhereNs = latestNs;
      latestNs = arrival;
      latestFrom = from;
    } else elsewhereNs = Math.max(elsewhereNs, arrival);
  }
  return {
    on: (at: number) => Math.max(at === latestFrom ? elsewhereNs : latestNs, localNs.get(at) ?? 0),
  };
}

/** A tournament over the times at which accelerators become free: each inner node holds the better of its two children. */
class FirstFree {
  readonly #freeNs: Float64Array;
  readonly #winners: Int32Array;
  readonly #leaves: number;

  constructor(accelerators: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(accelerators));
    this.#freeNs = new Float64Array(this.#leaves).fill(Number.POSITIVE_INFINITY).fill(0, 0, accelerators);
    this.#winners = new Int32Array(2 * this.#leaves);
    for (let leaf = 0; leaf < this.#leaves; leaf++) this.#winners[this.#leaves + leaf] = leaf;
    for (let node = this.#leaves - 1; node >= 1; node--) this.#play(node);
  }

  atNs(accelerator: number): number {
    return this.#freeNs[accelerator] ?? 0;
  }

  /** The first of those that are free first. */
  first(): number {
    return this.#winners[1] ?? 0;
  }

  occupy(accelerator: number, untilNs: number): void {
    this.#freeNs[accelerator] = untilNs;
    for (let node = (this.#leaves + accelerator) >> 1; node >= 1; node >>= 1) this.#play(node);
  }

  #play(node: number): void {
    const left = this.#winners[2 * node] ?? 0;
    const right = this.#winners[2 * node + 1] ?? 0;
    this.#winners[node] = this.atNs(right) < this.atNs(left) ? right : left;
  }
}
