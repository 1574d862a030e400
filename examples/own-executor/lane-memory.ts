/** The tensors of one lane: what a device's allocator and its pointers are elsewhere. */
export class LaneMemory {
  readonly #tensors = new Map<number, Float64Array>();

  /** A tensor of zeros. */
  allocate(tensor: number, bytes: number): Float64Array {
    const contents = new Float64Array(bytes / Float64Array.BYTES_PER_ELEMENT);
    this.#tensors.set(tensor, contents);
    return contents;
  }

  /**
   * A tensor that continues another: it begins with the same contents. Arrays of JavaScript do not grow in place, so both are made views of a
   * larger one; a device would have reserved the room.
   */
  grow(tensor: number, from: number, bytes: number): Float64Array {
    const before = this.get(from);
    const length = bytes / Float64Array.BYTES_PER_ELEMENT;
    const buffer = new Float64Array(Math.max(length, before.length));
    buffer.set(before);
    this.#tensors.set(from, buffer.subarray(0, before.length));
    const contents = buffer.subarray(0, length);
    this.#tensors.set(tensor, contents);
    return contents;
  }

  get(tensor: number): Float64Array {
    const contents = this.#tensors.get(tensor);
    if (contents === undefined) throw new RangeError(`tensor ${tensor} is not in this memory`);
    return contents;
  }

  free(tensor: number): void {
    this.#tensors.delete(tensor);
  }

  /** Tensors that are there. */
  get size(): number {
    return this.#tensors.size;
  }
}
