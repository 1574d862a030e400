/**
 * The bytes of all accelerators as granted to holders. A *growing* holder takes memory step by step up to its claim; the claims of growing
 * holders may together exceed an accelerator as long as a safe order exists. For any other holder the whole claim is *set
 * aside*. On every accelerator
 *
 *   fixed (baseline + weights) + the largest workspace + Σ claims set aside + Σ taken by growing holders ≤ capacity
 */
import { addInto, subtractFrom } from "./byte-vectors.ts";
import { Largest } from "./largest.ts";
import { type Holder, safeOrder } from "./safe-order.ts";
import type { AcceleratorIndex } from "./types.ts";

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

/** Bytes per accelerator of the cluster. */
export interface Grant {
  /** Added to what the holder may come to take; null for nothing. */
  readonly claim: Float64Array | null;
  /** Taken at once, within the claim. */
  readonly take: Float64Array;
  /** Scratch memory that its operators may need, one at a time; null for no more than before. */
  readonly workspaceBytes: Float64Array | null;
}

export class GrantBook<H extends GrantHolder = GrantHolder> {
  readonly #roomBytes: (accelerator: AcceleratorIndex) => number;
  readonly #isGuaranteed: boolean;
  /** Growing ones in the order that was safe when it was last looked for. */
  #growing = new Set<H>();
  readonly #setAside = new Set<H>();
  /** Σ claims. */
  readonly #reserved: Float64Array;
  /** Of them: all of a claim set aside, what a growing holder uses. */
  readonly #taken: Float64Array;
  /** Of the holders' workspaces. */
  readonly #workspace: readonly Largest[];

  /**
   * @param roomBytes What an accelerator has beside baseline and weights.
   * @param isGuaranteed False to grant everything, and only keep count.
   */
  constructor(accelerators: number, roomBytes: (accelerator: AcceleratorIndex) => number, isGuaranteed: boolean) {
    this.#roomBytes = roomBytes;
    this.#isGuaranteed = isGuaranteed;
    this.#reserved = new Float64Array(accelerators);
    this.#taken = new Float64Array(accelerators);
    this.#workspace = Array.from({ length: accelerators }, () => new Largest());
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

  /** Null when the grant leaves everybody's bytes within the accelerators, and a safe order. Changes nothing. */
  lackFor(holder: H, grant: Grant): Shortage | null {
    if (!this.#isGuaranteed) return null;
    const inexact = this.#pastExact(grant);
    if (inexact !== null) return inexact;
    this.#count(holder, grant);
    const lack = this.#lackOfRoom(holder, grant) ?? this.#lackOfOrder(holder, grant);
    subtractFrom(holder.usedBytes, grant.take);
    if (holder.growing) subtractFrom(this.#taken, grant.take);
    if (grant.claim !== null) this.unreserve(holder, grant.claim);
    return lack;
  }

  /** Null when so many bytes, taken for good by nobody, leave the same. */
  lackForOthers(bytes: Float64Array): Shortage | null {
    if (!this.#isGuaranteed) return null;
    addInto(this.#reserved, bytes);
    addInto(this.#taken, bytes);
    const grant = { claim: bytes, take: bytes, workspaceBytes: null };
    const lack = this.#lackOfRoom(null, grant) ?? this.#lackOfOrder(null, grant);
    subtractFrom(this.#reserved, bytes);
    subtractFrom(this.#taken, bytes);
    return lack;
  }

  /** The caller has seen that nothing is lacking. */
  grant(holder: H, grant: Grant): void {
    (holder.growing ? this.#growing : this.#setAside).add(holder);
    this.#count(holder, grant);
    if (grant.workspaceBytes !== null) this.#setWorkspace(holder, grant.workspaceBytes);
  }

  /** What a holder has taken falls; its claim stays. */
  giveBack(holder: H, accelerator: AcceleratorIndex, bytes: number): void {
    holder.usedBytes[accelerator] = (holder.usedBytes[accelerator] as number) - bytes;
    if (holder.growing) this.#taken[accelerator] = (this.#taken[accelerator] as number) - bytes;
  }

  /** A claim that is set aside falls. */
  unreserve(holder: H, bytes: Float64Array): void {
    subtractFrom(holder.reservedBytes, bytes);
    holder.accelerators = whereAny(holder.reservedBytes);
    subtractFrom(this.#reserved, bytes);
    if (!holder.growing) subtractFrom(this.#taken, bytes);
  }

  /** Its claim falls to what it uses, and its operators need no workspace. */
  keepOnlyUsed(holder: H): void {
    const falls = holder.reservedBytes.slice();
    subtractFrom(falls, holder.usedBytes);
    this.unreserve(holder, falls);
    this.#dropWorkspace(holder);
  }

  /** Gives everything back. Tells whether it had been granted anything. */
  remove(holder: H): boolean {
    if (!(holder.growing ? this.#growing : this.#setAside).delete(holder)) return false;
    subtractFrom(this.#reserved, holder.reservedBytes);
    subtractFrom(this.#taken, holder.growing ? holder.usedBytes : holder.reservedBytes);
    holder.reservedBytes.fill(0);
    holder.usedBytes.fill(0);
    holder.accelerators = [];
    this.#dropWorkspace(holder);
    return true;
  }

  *holders(): IterableIterator<H> {
    yield* this.#growing;
    yield* this.#setAside;
  }

  /** Claims add up to more than an accelerator has, but never to more than is counted exactly. */
  #pastExact({ claim }: Grant): Shortage | null {
    if (claim === null) return null;
    const accelerator = claim.findIndex(
      (bytes, a) => bytes > 0 && bytes > Number.MAX_SAFE_INTEGER - (this.#reserved[a] as number),
    );
    if (accelerator < 0) return null;
    const availableBytes = Number.MAX_SAFE_INTEGER - (this.#reserved[accelerator] as number);
    return { accelerator, neededBytes: claim[accelerator] as number, availableBytes, cause: "room" };
  }

  #setWorkspace(holder: H, workspaceBytes: Float64Array): void {
    for (let a = 0; a < workspaceBytes.length; a++) {
      const [before, after] = [holder.workspaceBytes[a] as number, workspaceBytes[a] as number];
      if (after <= before) continue;
      if (before > 0) this.#workspace[a]?.remove(before);
      this.#workspace[a]?.add(after);
      holder.workspaceBytes[a] = after;
    }
  }

  #dropWorkspace({ workspaceBytes }: H): void {
    workspaceBytes.forEach((bytes, a) => {
      if (bytes > 0) this.#workspace[a]?.remove(bytes);
    });
    workspaceBytes.fill(0);
  }

  #count(holder: H, { claim, take }: Grant): void {
    if (claim !== null) {
      addInto(holder.reservedBytes, claim);
      holder.accelerators = whereAny(holder.reservedBytes);
      addInto(this.#reserved, claim);
      if (!holder.growing) addInto(this.#taken, claim);
    }
    addInto(holder.usedBytes, take);
    if (holder.growing) addInto(this.#taken, take);
  }

  /** With the grant counted: the accelerator that lacks the most. */
  #lackOfRoom(holder: H | null, grant: Grant): Shortage | null {
    let worst: Shortage | null = null;
    let worstBytes = 0;
    for (let a = 0; a < this.#taken.length; a++) {
      if (!concerns(grant, a)) continue;
      const overBytes = -this.#freeBytes(a, grant);
      if (overBytes <= worstBytes) continue;
      worstBytes = overBytes;
      const takenBytes = (holder === null || holder.growing ? grant.take[a] : grant.claim?.[a]) ?? 0;
      const neededBytes = takenBytes + this.#workspaceWith(grant, a);
      const availableBytes = Math.max(0, neededBytes - overBytes);
      worst = { accelerator: a, neededBytes, availableBytes, cause: "room" };
    }
    return worst;
  }

  /** With the grant counted: only accelerators that claims exceed can keep anybody waiting. */
  #lackOfOrder(holder: H | null, grant: Grant): Shortage | null {
    const isContended = (a: AcceleratorIndex) =>
      (this.#reserved[a] as number) > this.#roomBytes(a) - this.#workspaceWith(grant, a);
    const touched = this.#taken.some((_, a) => concerns(grant, a) && isContended(a));
    if (!touched) return null;
    const newcomer = holder?.growing === true && !this.#growing.has(holder) ? [holder] : [];
    const free = this.#taken.map((_, a) => this.#freeBytes(a, grant));
    const { order, stuck } = safeOrder([...newcomer, ...this.#growing], free, isContended);
    if (stuck === null) {
      if (newcomer.length === 0) this.#growing = new Set(order);
      return null;
    }
    const shown = stuck.holders.find((each) => each === holder) ?? (stuck.holders[0] as H);
    let worst = { accelerator: shown.accelerators[0] ?? 0, neededBytes: 0, availableBytes: 0 };
    for (const a of shown.accelerators) {
      if (!isContended(a)) continue;
      const neededBytes = (shown.reservedBytes[a] as number) - (shown.usedBytes[a] as number);
      const availableBytes = Math.max(0, stuck.freeBytes[a] as number);
      if (neededBytes - availableBytes > worst.neededBytes - worst.availableBytes) {
        worst = { accelerator: a, neededBytes, availableBytes };
      }
    }
    return { ...worst, cause: "order" };
  }

  #freeBytes(accelerator: AcceleratorIndex, grant: Grant): number {
    return (
      this.#roomBytes(accelerator) - this.#workspaceWith(grant, accelerator) - (this.#taken[accelerator] as number)
    );
  }

  #workspaceWith({ workspaceBytes }: Grant, accelerator: AcceleratorIndex): number {
    return Math.max(this.workspaceBytes(accelerator), workspaceBytes?.[accelerator] ?? 0);
  }
}

/** Whether it takes, or may come to take, anything there. */
function concerns({ claim, take, workspaceBytes }: Grant, accelerator: AcceleratorIndex): boolean {
  return (take[accelerator] ?? 0) > 0 || (claim?.[accelerator] ?? 0) > 0 || (workspaceBytes?.[accelerator] ?? 0) > 0;
}

function whereAny(bytes: Float64Array): AcceleratorIndex[] {
  const accelerators: AcceleratorIndex[] = [];
  for (let a = 0; a < bytes.length; a++) if ((bytes[a] as number) > 0) accelerators.push(a);
  return accelerators;
}
