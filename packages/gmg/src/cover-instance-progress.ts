import type { CoveredAccelerator } from "./cover-layout.ts";
import { CoverProgress } from "./cover-progress.ts";
import type { HoldingBytes } from "./cover-references.ts";
import type { OperatorInput, Template } from "./template.ts";
import type { AcceleratorIndex } from "./types.ts";

export interface StartedPlace {
  readonly accelerator: AcceleratorIndex;
  readonly granularityBytes: number;
  readonly covered: CoveredAccelerator;
  readonly held: HoldingBytes;
  /** Per input slot: where it is, null where nothing is bound. */
  readonly homes: readonly (AcceleratorIndex | null)[];
  /** The most that the end of one operator frees. */
  readonly freedAtEndBytes: number;
}

/** What an instance can still hold on each accelerator while what it held is freed: the bounds of `InstanceBound.need`, shrinking. */
export class InstanceProgress {
  readonly #places = new Map<AcceleratorIndex, PlaceProgress>();

  /** Made by `InstanceBound`. */
  constructor(template: Template, places: readonly StartedPlace[]) {
    for (const place of places) this.#places.set(place.accelerator, new PlaceProgress(template, place));
  }

  /** The most bytes at once from now on, those there now included; 0 where it holds nothing. */
  remainingBytes(accelerator: AcceleratorIndex): number {
    return this.#places.get(accelerator)?.remainingBytes ?? 0;
  }

  /**
   * A copy has left the accelerator for good: an output, an input slot that was received there or, where an output continues it, one
   * that was there before. Amortised O(1). What the accelerator never holds, and a second call, change nothing.
   */
  freed(tensor: OperatorInput, accelerator: AcceleratorIndex): void {
    this.#places.get(accelerator)?.freed(tensor);
  }
}

class PlaceProgress {
  readonly #place: StartedPlace;
  readonly #covers: readonly CoverProgress[];
  readonly #restCovers: readonly CoverProgress[];
  readonly #membership: Membership;
  /** Per holding: members not yet gone. */
  readonly #left: Int32Array;
  readonly #gone = new Set<number>();
  /** Of holdings not yet gone. */
  #sumBytes = 0;

  constructor(template: Template, place: StartedPlace) {
    const { covered, held, homes } = place;
    this.#place = place;
    this.#covers = covered.covers.map((cover) => new CoverProgress(cover, held.bytes, held.permanent));
    this.#restCovers = covered.restCovers.map((cover) => new CoverProgress(cover, held.bytes, held.permanent));
    this.#membership = membershipOf(covered, template);
    this.#left = Int32Array.from(covered.lifetimes.holdings, ({ members, kind, slot }) =>
      kind === "growth" && homes[slot] === null ? members.length - 1 : members.length,
    );
    for (const bytes of held.bytes) this.#sumBytes += bytes;
  }

  get remainingBytes(): number {
    let most = this.#sumBytes;
    for (const cover of this.#covers) most = Math.min(most, cover.remainingBytes);
    const { freedAtEndBytes, granularityBytes } = this.#place;
    for (const cover of this.#restCovers) most = Math.min(most, cover.remainingBytes + freedAtEndBytes);
    return most - (most % granularityBytes);
  }

  freed(tensor: OperatorInput): void {
    const { keyOf, holdingsOf } = this.#membership;
    const key = keyOf(tensor);
    if (this.#gone.has(key)) return;
    this.#gone.add(key);
    for (const x of holdingsOf.get(key) ?? []) {
      this.#left[x] = (this.#left[x] as number) - 1;
      if (this.#left[x] !== 0) continue;
      this.#sumBytes -= this.#place.held.bytes[x] as number;
      for (const cover of this.#covers) cover.free(x);
      for (const cover of this.#restCovers) cover.free(x);
    }
  }
}

/** Which holdings on an accelerator a tensor is in: at most a buffer and what that grows by. */
interface Membership {
  readonly keyOf: (tensor: OperatorInput) => number;
  readonly holdingsOf: ReadonlyMap<number, readonly number[]>;
}

const memberships = new WeakMap<CoveredAccelerator, Membership>();

function membershipOf(covered: CoveredAccelerator, template: Template): Membership {
  const known = memberships.get(covered);
  if (known !== undefined) return known;
  const stride = template.operators.reduce((most, { outputs }) => Math.max(most, outputs.length), 0);
  const keyOf = ({ operator, output, slot }: OperatorInput) => (slot < 0 ? operator * stride + output : -1 - slot);
  const holdingsOf = new Map<number, number[]>();
  covered.lifetimes.holdings.forEach(({ members }, x) => {
    for (const member of members) {
      const key = keyOf(member);
      const there = holdingsOf.get(key);
      if (there === undefined) holdingsOf.set(key, [x]);
      else there.push(x);
    }
  });
  const membership = { keyOf, holdingsOf };
  memberships.set(covered, membership);
  return membership;
}
