import type { Template } from "@slicescheduler/templates";
import type { Holding } from "./lifetimes.ts";

/** Words of ancestor sets that are worth their time and room. */
const WORDS_MAX = 2_000_000;

/** Who comes before whom, exactly, for the operators that holdings wait for. */
export class Ancestry {
  /** The bit of each operator that is asked about. */
  readonly #bitOf: ReadonlyMap<number, number>;
  readonly #words: number;
  /** Per operator of the template: its ancestors, of those with a bit. */
  readonly #sets: readonly Uint32Array[];

  private constructor(template: Template, bitOf: ReadonlyMap<number, number>, words: number) {
    this.#bitOf = bitOf;
    this.#words = words;
    const sets: Uint32Array[] = [];
    for (const index of template.order) {
      const set = new Uint32Array(words);
      for (const predecessor of template.operators[index]?.predecessors ?? []) {
        addAll(set, sets[predecessor] as Uint32Array);
        const bit = bitOf.get(predecessor);
        if (bit !== undefined) addBit(set, bit);
      }
      sets[index] = set;
    }
    this.#sets = sets;
  }

  /** Null where it would cost too much. Linear in references times the operators waited for / 32. */
  static of(template: Template, holdings: readonly Holding[]): Ancestry | null {
    const bitOf = new Map<number, number>();
    for (const { freedAfter, issuedAfter, sentAfter } of holdings) {
      for (const operators of [freedAfter, issuedAfter, ...sentAfter]) {
        for (const operator of operators) if (!bitOf.has(operator)) bitOf.set(operator, bitOf.size);
      }
    }
    const words = Math.ceil(bitOf.size / 32);
    return words * template.operators.length > WORDS_MAX ? null : new Ancestry(template, bitOf, words);
  }

  /** The set of these operators. */
  setOf(operators: readonly number[]): Uint32Array {
    const set = new Uint32Array(this.#words);
    for (const operator of operators) this.#addTo(set, operator);
    return set;
  }

  /** The ancestors of an operator, with itself if asked; none for −1. */
  before(operator: number, withItself: boolean): Uint32Array {
    const set = this.#sets[operator]?.slice() ?? new Uint32Array(this.#words);
    if (withItself) this.#addTo(set, operator);
    return set;
  }

  /** The operators that are ancestors of each of these, or that operator itself. */
  beforeAll(operators: readonly number[]): Uint32Array {
    const common = new Uint32Array(this.#words).fill(0xffff_ffff);
    for (const operator of operators) keepOnly(common, this.before(operator, true));
    return common;
  }

  isIn(set: Uint32Array, operator: number): boolean {
    const bit = this.#bitOf.get(operator);
    return bit !== undefined && hasBit(set, bit);
  }

  /** Those that are not an ancestor of another one of them. */
  lastOf(operators: readonly number[]): number[] {
    const earlier = new Uint32Array(this.#words);
    for (const operator of operators) addAll(earlier, this.#sets[operator] as Uint32Array);
    return operators.filter((operator) => !this.isIn(earlier, operator));
  }

  #addTo(set: Uint32Array, operator: number): void {
    const bit = this.#bitOf.get(operator);
    if (bit !== undefined) addBit(set, bit);
  }
}

export function addBit(set: Uint32Array, bit: number): void {
  set[bit >>> 5] = (set[bit >>> 5] as number) | (1 << (bit & 31));
}

export function hasBit(set: Uint32Array, bit: number): boolean {
  return (((set[bit >>> 5] as number) >>> (bit & 31)) & 1) === 1;
}

export function addAll(set: Uint32Array, other: Uint32Array): void {
  for (let i = 0; i < set.length; i++) set[i] = (set[i] as number) | (other[i] as number);
}

export function removeAll(set: Uint32Array, other: Uint32Array): void {
  for (let i = 0; i < set.length; i++) set[i] = (set[i] as number) & ~(other[i] as number);
}

function keepOnly(set: Uint32Array, other: Uint32Array): void {
  for (let i = 0; i < set.length; i++) set[i] = (set[i] as number) & (other[i] as number);
}

export function isWithin(set: Uint32Array, other: Uint32Array): boolean {
  for (let i = 0; i < set.length; i++) if (((set[i] as number) & ~(other[i] as number)) !== 0) return false;
  return true;
}
