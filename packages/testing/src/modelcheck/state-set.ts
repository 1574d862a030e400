/** Tuples of whole numbers below 2^31, each once, numbered as they come. Compared in full: two states are never taken for one. */
export class StateSet {
  readonly #width: number;
  /** `size · width` numbers, one state after the other. */
  #values: Int32Array;
  /** Open addressing, at most half full: numbers of states plus one, 0 where free. */
  #slots: Int32Array;
  #size = 0;

  constructor(width: number) {
    this.#width = width;
    this.#values = new Int32Array(1024 * width);
    this.#slots = new Int32Array(4096);
  }

  get size(): number {
    return this.#size;
  }

  at(id: number): number[] {
    return Array.from(this.#values.subarray(id * this.#width, (id + 1) * this.#width));
  }

  /** The number of the state; it is new when that is the size before. */
  add(state: readonly number[]): number {
    if (2 * (this.#size + 1) > this.#slots.length) this.#grow();
    const slot = this.#slotOf(state);
    const found = this.#slots[slot] as number;
    if (found > 0) return found - 1;
    const id = this.#size++;
    if (this.#size * this.#width > this.#values.length) {
      const values = new Int32Array(2 * this.#values.length);
      values.set(this.#values);
      this.#values = values;
    }
    for (let at = 0; at < this.#width; at++) this.#values[id * this.#width + at] = state[at] as number;
    this.#slots[slot] = id + 1;
    return id;
  }

  #slotOf(state: ArrayLike<number>): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(state, this.#width) & mask;
    for (;;) {
      const found = this.#slots[slot] as number;
      if (found === 0 || this.#isAt(found - 1, state)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #isAt(id: number, state: ArrayLike<number>): boolean {
    const from = id * this.#width;
    for (let at = 0; at < this.#width; at++) if (this.#values[from + at] !== state[at]) return false;
    return true;
  }

  #grow(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    for (let id = 0; id < this.#size; id++) {
      const state = this.#values.subarray(id * this.#width, (id + 1) * this.#width);
      this.#slots[this.#slotOf(state)] = id + 1;
    }
  }
}

/** FNV-1a by whole numbers, scrambled at the end. */
function hashOf(state: ArrayLike<number>, width: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < width; at++) hash = Math.imul(hash ^ (state[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** A list of whole numbers below 2^31 that grows. */
export class IntList {
  #values = new Int32Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const values = new Int32Array(2 * this.length);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.length++] = value;
  }

  at(index: number): number {
    return this.#values[index] as number;
  }
}
