import { type Cover, shareOf } from "./cover.ts";

/**
 * What a cover bounds while holdings are freed: the most that those not yet freed can have at once, from now on. Within a
 * chain they are freed in order, so that what is left of it is its rest. Building costs as much as `coverBytes`; all frees
 * together cost no more than that.
 */
export class CoverProgress {
  readonly #cover: Cover;
  /** Per position in the cover's members: the most that the chain can have at once from there on. */
  readonly #rest: Float64Array;
  /** Per chain: the position of its first holding not freed, or its end. */
  readonly #at: Int32Array;
  /** Per position: the chain it is in. */
  readonly #chainsOf: readonly (readonly number[])[];
  readonly #freed: Uint8Array;
  #bytes = 0;

  /** @param permanent per holding, 1 where it may stay. */
  constructor(cover: Cover, bytes: ArrayLike<number>, permanent: ArrayLike<number>) {
    this.#cover = cover;
    const { chainStart, members, shares } = cover;
    this.#rest = new Float64Array(members.length);
    this.#at = chainStart.slice(0, -1);
    this.#freed = new Uint8Array(cover.holdings);
    this.#chainsOf = chainsOfHoldings(cover);
    for (let chain = 0; chain < this.#at.length; chain++) {
      const start = chainStart[chain] as number;
      let later = 0;
      for (let i = (chainStart[chain + 1] as number) - 1; i >= start; i--) {
        const x = members[i] as number;
        const part = shareOf(bytes[x] as number, shares[i] as number);
        later = permanent[x] === 1 ? part + later : Math.max(part, later);
        this.#rest[i] = later;
      }
      this.#bytes += later;
    }
  }

  /** The most that is possible from now on, in whole bytes. */
  get remainingBytes(): number {
    return this.#bytes;
  }

  /** A holding has gone for good, or will never be. A second call changes nothing. */
  free(holding: number): void {
    if (this.#freed[holding] !== 0) return;
    this.#freed[holding] = 1;
    for (const chain of this.#chainsOf[holding] as readonly number[]) this.#advance(chain);
  }

  #advance(chain: number): void {
    const { chainStart, members } = this.#cover;
    const end = chainStart[chain + 1] as number;
    const from = this.#at[chain] as number;
    let at = from;
    while (at < end && this.#freed[members[at] as number] === 1) at++;
    if (at === from) return;
    this.#at[chain] = at;
    this.#bytes += (at < end ? (this.#rest[at] as number) : 0) - (this.#rest[from] as number);
  }
}

const known = new WeakMap<Cover, readonly (readonly number[])[]>();

/** Per holding: its chains. Worked out once per cover. */
function chainsOfHoldings(cover: Cover): readonly (readonly number[])[] {
  const found = known.get(cover);
  if (found !== undefined) return found;
  const { chainStart, members } = cover;
  const chainsOf: number[][] = Array.from({ length: cover.holdings }, () => []);
  for (let chain = 0; chain + 1 < chainStart.length; chain++) {
    for (let i = chainStart[chain] as number; i < (chainStart[chain + 1] as number); i++) {
      chainsOf[members[i] as number]?.push(chain);
    }
  }
  known.set(cover, chainsOf);
  return chainsOf;
}
