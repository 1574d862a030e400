import { CONTROL_WORDS } from "./protocol.ts";
import { RECORD, type WrittenError } from "./results.ts";
import type { WrittenRound } from "./round.ts";
import { sharedFloats, sharedInts, withRoom } from "./shared.ts";

/** Shared memory for one round at a time: grows to the largest and stays, so that rounds of one kind allocate none. */
export class Arena {
  readonly control = sharedInts(CONTROL_WORDS);
  records = sharedFloats([]);
  #words = sharedFloats([]);
  #starts = sharedFloats([]);
  #transfers = sharedFloats([]);

  count = 0;
  /** Candidates no worker has told of yet. */
  left = 0;
  readonly errors = new Map<number, WrittenError>();

  /** Only while no worker looks at it. Returns what was written, in shared memory. */
  fill({ words, starts, transfers }: WrittenRound): WrittenRound {
    this.control.fill(0);
    this.errors.clear();
    this.count = this.left = starts.length;
    this.records = withRoom(this.records, RECORD * starts.length);
    this.#words = withRoom(this.#words, words.length);
    this.#starts = withRoom(this.#starts, starts.length);
    this.#transfers = withRoom(this.#transfers, transfers.length);
    return {
      words: copied(this.#words, words),
      starts: copied(this.#starts, starts),
      transfers: copied(this.#transfers, transfers),
    };
  }
}

function copied(to: Float64Array, from: Float64Array): Float64Array {
  to.set(from);
  return to.subarray(0, from.length);
}
