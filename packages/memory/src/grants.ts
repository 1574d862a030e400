/**
 * The bytes of all accelerators as granted to holders. A *growing* holder takes memory step by step up to its claim; the claims of growing
 * holders may together exceed an accelerator as long as a safe order exists. For any other holder the whole claim is *set
 * aside*. On every accelerator
 *
 *   fixed (baseline + weights) + the largest workspace + Σ claims set aside + Σ taken by growing holders ≤ capacity
 */
import type { AcceleratorIndex } from "@slicescheduler/templates";
import {
  addSparse,
  bytesOn,
  gather,
  type SparseBytes,
  sparseOf,
  subtractFrom,
  subtractSparse,
} from "./byte-vectors.ts";
import { Largest } from "./largest.ts";
import { type Holder, orderWithin, type Stuck } from "./safe-order.ts";

/** Why memory cannot be granted now. */
export interface Shortage {
  readonly accelerator: AcceleratorIndex;
  readonly neededBytes: number;
  readonly availableBytes: number;
  /**
   * `"claim"`: its request has used up its own claim, and instances of it still run. `"room"`: the bytes are taken.
   * `"order"`: they are free, but were they granted, requests could come to wait for each other without end.
   */
  readonly cause: "claim" | "room" | "order";
}

export interface GrantHolder extends Holder {
  readonly id: number;
  /** It takes memory step by step; otherwise its claim is set aside for it. */
  readonly growing: boolean;
  /** Kept by the book. */
  accelerators: readonly AcceleratorIndex[];
  /** The largest scratch memory of its operators. */
  readonly workspaceBytes: Float64Array;
}

export interface Grant {
  /** Added to what the holder may come to take; null for nothing. */
  readonly claim: SparseBytes | null;
  /** Taken at once, within the claim. */
  readonly take: SparseBytes;
  /** Scratch memory that its operators may need, one at a time; null for no more than before. */
  readonly workspaceBytes: SparseBytes | null;
}

export class GrantBook<H extends GrantHolder = GrantHolder> {
  readonly #roomBytes: (accelerator: AcceleratorIndex) => number;
  readonly #isGuaranteed: boolean;
  /** Growing ones, each with its place in the order that was safe when it was last looked for. */
  readonly #growing = new Map<H, number>();
  /** Whether they come by rising places. */
  #inOrder: boolean = true;
  #nextPlace = 0;
  /** By accelerator: growing ones whose claim is not 0 there. */
  readonly #growingOn: readonly Set<H>[];
  readonly #setAside = new Set<H>();
  /** Σ claims. */
  readonly #reserved: Float64Array;
  /** Of them: all of a claim set aside, what a growing holder uses. */
  readonly #taken: Float64Array;
  /** Of the holders' workspaces. */
  readonly #workspace: readonly Largest[];
  /** While an order is looked for: what is free where it matters. */
  readonly #free: Float64Array;

  /**
   * @param roomBytes What an accelerator has beside baseline and weights.
   * @param isGuaranteed False to grant everything, and only keep count.
   */
  constructor(accelerators: number, roomBytes: (accelerator: AcceleratorIndex) => number, isGuaranteed: boolean) {
    this.#roomBytes = roomBytes;
    this.#isGuaranteed = isGuaranteed;
    this.#reserved = new Float64Array(accelerators);
    this.#taken = new Float64Array(accelerators);
    this.#free = new Float64Array(accelerators);
    this.#workspace = Array.from({ length: accelerators }, () => new Largest());
    this.#growingOn = Array.from({ length: accelerators }, () => new Set<H>());
  }

  reservedBytes(accelerator: AcceleratorIndex): number {
    return this.#reserved[accelerator] ?? 0;
  }

  takenBytes(accelerator: AcceleratorIndex): number {
    return this.#taken[accelerator] ?? 0;
  }

  workspaceBytes(accelerator: AcceleratorIndex): number {
    return this.#workspace[accelerator]?.value ?? 0;
  }

  /**
   * Null when the grant leaves everybody's bytes within the accelerators, and a safe order. Changes nothing. Linear in the accelerators that
   * the grant names; where claims exceed one of them, also in the holders that have to do with each other through such accelerators.
   */
  lackFor(holder: H, grant: Grant): Shortage | null {
    if (!this.#isGuaranteed) return null;
    return this.#pastExact(grant) ?? this.#lackOfRoom(holder, grant) ?? this.#lackOfOrder(holder, grant);
  }

  /** Null when so many bytes, taken for good by nobody, leave the same. */
  lackForOthers(bytes: SparseBytes): Shortage | null {
    if (!this.#isGuaranteed) return null;
    const grant = { claim: bytes, take: bytes, workspaceBytes: null };
    return this.#lackOfRoom(null, grant) ?? this.#lackOfOrder(null, grant);
  }

  /** The caller has seen that nothing is lacking. */
  grant(holder: H, grant: Grant): void {
    if (!holder.growing) this.#setAside.add(holder);
    else if (!this.#growing.has(holder)) {
      this.#growing.set(holder, this.#nextPlace++);
      for (const a of holder.accelerators) this.#growingOn[a]?.add(holder);
    }
    this.#count(holder, grant);
    if (grant.workspaceBytes !== null) this.#setWorkspace(holder, grant.workspaceBytes);
  }

  /** What a holder has taken falls; its claim stays. */
  giveBack(holder: H, accelerator: AcceleratorIndex, bytes: number): void {
    holder.usedBytes[accelerator] = (holder.usedBytes[accelerator] as number) - bytes;
    if (holder.growing) this.#taken[accelerator] = (this.#taken[accelerator] as number) - bytes;
  }

  /** A claim that is set aside falls. */
  unreserve(holder: H, bytes: SparseBytes): void {
    subtractSparse(holder.reservedBytes, bytes);
    this.#claimChanged(holder, bytes.accelerators);
    subtractSparse(this.#reserved, bytes);
    if (!holder.growing) subtractSparse(this.#taken, bytes);
  }

  /** Its claim falls to what it uses, and its operators need no workspace. */
  keepOnlyUsed(holder: H): void {
    const falls = holder.reservedBytes.slice();
    subtractFrom(falls, holder.usedBytes);
    this.unreserve(holder, sparseOf(falls));
    this.#dropWorkspace(holder);
  }

  /** Gives everything back. Tells whether it had been granted anything. */
  remove(holder: H): boolean {
    const claimed = gather(holder.reservedBytes, holder.accelerators);
    if (holder.growing) {
      if (!this.#growing.delete(holder)) return false;
      for (const a of holder.accelerators) this.#growingOn[a]?.delete(holder);
    } else if (!this.#setAside.delete(holder)) return false;
    subtractSparse(this.#reserved, claimed);
    subtractSparse(this.#taken, holder.growing ? gather(holder.usedBytes, holder.accelerators) : claimed);
    holder.reservedBytes.fill(0);
    holder.usedBytes.fill(0);
    holder.accelerators = [];
    this.#dropWorkspace(holder);
    return true;
  }

  /** Growing ones in their order, then the others. */
  *holders(): IterableIterator<H> {
    if (!this.#inOrder) {
      const sorted = [...this.#growing].sort(([, a], [, b]) => a - b);
      this.#growing.clear();
      for (const [holder, place] of sorted) this.#growing.set(holder, place);
      this.#inOrder = true;
    }
    yield* this.#growing.keys();
    yield* this.#setAside;
  }

  /** Claims add up to more than an accelerator has, but never to more than is counted exactly. */
  #pastExact({ claim }: Grant): Shortage | null {
    if (claim === null) return null;
    let first: Shortage | null = null;
    for (let i = 0; i < claim.bytes.length; i++) {
      const accelerator = claim.accelerators[i] as number;
      const neededBytes = claim.bytes[i] as number;
      const availableBytes = Number.MAX_SAFE_INTEGER - (this.#reserved[accelerator] as number);
      if (neededBytes === 0 || neededBytes <= availableBytes) continue;
      if (first === null || accelerator < first.accelerator)
        first = { accelerator, neededBytes, availableBytes, cause: "room" };
    }
    return first;
  }

  #setWorkspace(holder: H, { accelerators, bytes }: SparseBytes): void {
    for (let i = 0; i < bytes.length; i++) {
      const a = accelerators[i] as number;
      const [before, after] = [holder.workspaceBytes[a] as number, bytes[i] as number];
      if (after <= before) continue;
      if (before > 0) this.#workspace[a]?.remove(before);
      this.#workspace[a]?.add(after);
      holder.workspaceBytes[a] = after;
    }
  }

  #dropWorkspace({ workspaceBytes }: H): void {
    for (let a = 0; a < workspaceBytes.length; a++) {
      const bytes = workspaceBytes[a] as number;
      if (bytes === 0) continue;
      this.#workspace[a]?.remove(bytes);
      workspaceBytes[a] = 0;
    }
  }

  #count(holder: H, { claim, take }: Grant): void {
    if (claim !== null) {
      addSparse(holder.reservedBytes, claim);
      this.#claimChanged(holder, claim.accelerators);
      addSparse(this.#reserved, claim);
      if (!holder.growing) addSparse(this.#taken, claim);
    }
    addSparse(holder.usedBytes, take);
    if (holder.growing) addSparse(this.#taken, take);
  }

  #uncount(holder: H, { claim, take }: Grant): void {
    subtractSparse(holder.usedBytes, take);
    if (holder.growing) subtractSparse(this.#taken, take);
    if (claim !== null) this.unreserve(holder, claim);
  }

  /** On these accelerators: where it is not 0 is told anew. */
  #claimChanged(holder: H, accelerators: readonly AcceleratorIndex[]): void {
    const { reservedBytes } = holder;
    const isListed = holder.growing && this.#growing.has(holder);
    let left: AcceleratorIndex[] | null = null;
    for (const a of accelerators) {
      const isClaimed = (reservedBytes[a] as number) > 0;
      if (isClaimed === (left ?? holder.accelerators).includes(a)) continue;
      left ??= [...holder.accelerators];
      if (isClaimed) left.push(a);
      else left.splice(left.indexOf(a), 1);
      if (!isListed) continue;
      if (isClaimed) this.#growingOn[a]?.add(holder);
      else this.#growingOn[a]?.delete(holder);
    }
    if (left !== null) holder.accelerators = left.sort((a, b) => a - b);
  }

  /** The accelerator that lacks the most when the grant is made, the first of equal ones. */
  #lackOfRoom(holder: H | null, grant: Grant): Shortage | null {
    const added = holder === null || holder.growing ? grant.take : grant.claim;
    let worst: Shortage | null = null;
    let worstBytes = 0;
    for (const part of [grant.claim, grant.take, grant.workspaceBytes]) {
      if (part === null) continue;
      for (let i = 0; i < part.bytes.length; i++) {
        if (part.bytes[i] === 0) continue;
        const accelerator = part.accelerators[i] as number;
        const addedBytes = added === null ? 0 : bytesOn(added, accelerator);
        const overBytes = addedBytes - this.#freeBytes(accelerator, grant);
        if (overBytes <= 0 || overBytes < worstBytes) continue;
        if (overBytes === worstBytes && worst !== null && accelerator >= worst.accelerator) continue;
        worstBytes = overBytes;
        const neededBytes = addedBytes + this.#workspaceWith(grant, accelerator);
        worst = { accelerator, neededBytes, availableBytes: Math.max(0, neededBytes - overBytes), cause: "room" };
      }
    }
    return worst;
  }

  /** Only accelerators that claims exceed can keep anybody waiting. */
  #lackOfOrder(holder: H | null, grant: Grant): Shortage | null {
    const touched = new Set<AcceleratorIndex>();
    for (const part of [grant.claim, grant.take, grant.workspaceBytes]) {
      if (part === null) continue;
      for (let i = 0; i < part.bytes.length; i++) {
        if (part.bytes[i] === 0) continue;
        const a = part.accelerators[i] as number;
        const claimedBytes = grant.claim === null ? 0 : bytesOn(grant.claim, a);
        if (this.#isContended(a, grant, claimedBytes)) touched.add(a);
      }
    }
    if (touched.size === 0) return null;
    if (holder === null) {
      addSparse(this.#reserved, grant.take);
      addSparse(this.#taken, grant.take);
    } else this.#count(holder, grant);
    const stuck = this.#stuckWith(holder, grant, touched);
    if (holder === null) {
      subtractSparse(this.#reserved, grant.take);
      subtractSparse(this.#taken, grant.take);
    } else this.#uncount(holder, grant);
    return stuck;
  }

  /**
   * With the grant counted. A holder is in the way only of those that claim something on an accelerator which claims exceed, as it does, or
   * of whom those are in the way: all others could end before, and can.
   */
  #stuckWith(holder: H | null, grant: Grant, touched: ReadonlySet<AcceleratorIndex>): Shortage | null {
    const isContended = (a: AcceleratorIndex) => this.#isContended(a, grant, 0);
    const newcomer = holder?.growing === true && !this.#growing.has(holder) ? holder : null;
    const holders = this.#concerned(touched, newcomer, isContended, grant);
    const places = holders.map((each) => this.#growing.get(each) as number);
    const all = newcomer === null ? holders : [newcomer, ...holders];
    const { order, stuck } = orderWithin(all, this.#free, isContended);
    if (stuck !== null) return this.#shown(stuck, holder, isContended);
    if (newcomer === null) {
      order.forEach((each, i) => {
        if (each === holders[i]) return;
        this.#growing.set(each, places[i] as number);
        this.#inOrder = false;
      });
    }
    return null;
  }

  /** Growing ones in their order, and `#free` filled in where any of them could have to wait. */
  #concerned(
    touched: ReadonlySet<AcceleratorIndex>,
    newcomer: H | null,
    isContended: (accelerator: AcceleratorIndex) => boolean,
    grant: Grant,
  ): H[] {
    const holders = new Set<H>();
    const reached = new Set(touched);
    for (const a of newcomer?.accelerators ?? []) if (isContended(a)) reached.add(a);
    // A set that grows while it is gone through is gone through to its end.
    for (const a of reached) {
      this.#free[a] = this.#freeBytes(a, grant);
      for (const each of this.#growingOn[a] ?? []) {
        if (holders.has(each)) continue;
        holders.add(each);
        for (const other of each.accelerators) if (isContended(other)) reached.add(other);
      }
    }
    return [...holders].sort((a, b) => (this.#growing.get(a) as number) - (this.#growing.get(b) as number));
  }

  #shown(
    { holders, freeBytes }: Stuck<H>,
    holder: H | null,
    isContended: (accelerator: AcceleratorIndex) => boolean,
  ): Shortage {
    const shown = holders.find((each) => each === holder) ?? (holders[0] as H);
    let worst = { accelerator: shown.accelerators[0] ?? 0, neededBytes: 0, availableBytes: 0 };
    for (const a of shown.accelerators) {
      if (!isContended(a)) continue;
      const neededBytes = (shown.reservedBytes[a] as number) - (shown.usedBytes[a] as number);
      const availableBytes = Math.max(0, freeBytes[a] as number);
      if (neededBytes - availableBytes > worst.neededBytes - worst.availableBytes) {
        worst = { accelerator: a, neededBytes, availableBytes };
      }
    }
    return { ...worst, cause: "order" };
  }

  #isContended(accelerator: AcceleratorIndex, grant: Grant, claimedBytes: number): boolean {
    const roomBytes = this.#roomBytes(accelerator) - this.#workspaceWith(grant, accelerator);
    return (this.#reserved[accelerator] as number) + claimedBytes > roomBytes;
  }

  #freeBytes(accelerator: AcceleratorIndex, grant: Grant): number {
    return (
      this.#roomBytes(accelerator) - this.#workspaceWith(grant, accelerator) - (this.#taken[accelerator] as number)
    );
  }

  #workspaceWith({ workspaceBytes }: Grant, accelerator: AcceleratorIndex): number {
    const ownBytes = workspaceBytes === null ? 0 : bytesOn(workspaceBytes, accelerator);
    return Math.max(this.workspaceBytes(accelerator), ownBytes);
  }
}
