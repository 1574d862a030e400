import type { CompiledAccelerator } from "@slicescheduler/gmg";

/** A tensor on a device, expected, being written or there. */
export interface Copy {
  readonly tensor: number;
  /** Null while it is only expected. */
  buffer: Buffer | null;
  present: boolean;
  uses: number;
  sends: number;
  held: boolean;
}

/** What copies that continue each other share; it keeps the largest size that any of them had. */
interface Buffer {
  bytes: number;
}

/** The memory of one device as a plain list of copies: nothing is kept that can be counted. */
export class DeviceMemory {
  readonly index: number;
  /** Of what runs, rounded. */
  workspaceBytes = 0;
  readonly #baselineBytes: number;
  readonly #rounded: (bytes: number) => number;
  readonly #weights = new Map<string, number>();
  readonly #copies = new Map<number, Copy>();

  constructor({ index, baselineBytes }: CompiledAccelerator, rounded: (bytes: number) => number) {
    this.index = index;
    this.#baselineBytes = baselineBytes;
    this.#rounded = rounded;
  }

  /** Baseline and weights. */
  restingBytes(): number {
    let bytes = this.#baselineBytes;
    for (const weightBytes of this.#weights.values()) bytes += weightBytes;
    return bytes;
  }

  usedBytes(): number {
    const buffers = new Set<Buffer>();
    for (const { buffer } of this.#copies.values()) if (buffer !== null) buffers.add(buffer);
    let bytes = this.restingBytes() + this.workspaceBytes;
    for (const buffer of buffers) bytes += buffer.bytes;
    return bytes;
  }

  loadWeights(name: string, bytes: number): void {
    this.#weights.set(name, this.#rounded(bytes));
  }

  has(tensor: number): boolean {
    return this.#copies.has(tensor);
  }

  expect(tensor: number): void {
    this.#copies.set(tensor, { tensor, buffer: null, present: false, uses: 0, sends: 0, held: true });
  }

  /** Returns false, and changes nothing, when more than `capacityBytes` would be in use. */
  allocate(tensor: number, bytes: number, aliases: number | null, capacityBytes = Number.POSITIVE_INFINITY): boolean {
    const copy = this.#copies.get(tensor);
    if (copy === undefined) return true;
    const continued = aliases === null ? undefined : this.#copies.get(aliases);
    const buffer = continued?.buffer ?? { bytes: 0 };
    const grownBytes = Math.max(buffer.bytes, this.#rounded(bytes));
    if (this.usedBytes() + grownBytes - buffer.bytes > capacityBytes) return false;
    buffer.bytes = grownBytes;
    copy.buffer = buffer;
    return true;
  }

  markPresent(tensor: number): void {
    const copy = this.#copies.get(tensor);
    if (copy === undefined) return;
    copy.present = true;
    this.#freeIfUnneeded(copy);
  }

  /** Throws a `RangeError` for a tensor that is not there. */
  addUse(tensor: number): Copy {
    const copy = this.#copies.get(tensor);
    if (copy === undefined)
      throw new RangeError(`tensor ${tensor} is not on accelerator ${this.index}, and is to be read`);
    copy.uses += 1;
    return copy;
  }

  /** A copy that was lost took its uses with it; a later one of the same tensor is another. */
  endUse(copy: Copy): void {
    copy.uses -= 1;
    if (this.#copies.get(copy.tensor) === copy) this.#freeIfUnneeded(copy);
  }

  addSend(tensor: number): void {
    const copy = this.#copies.get(tensor);
    if (copy !== undefined) copy.sends += 1;
  }

  endSend(tensor: number): void {
    const copy = this.#copies.get(tensor);
    if (copy === undefined) return;
    copy.sends -= 1;
    this.#freeIfUnneeded(copy);
  }

  release(tensor: number): void {
    const copy = this.#copies.get(tensor);
    if (copy === undefined) return;
    copy.held = false;
    this.#freeIfUnneeded(copy);
  }

  /** What was released is needed again. */
  hold(tensor: number): void {
    const copy = this.#copies.get(tensor);
    if (copy !== undefined) copy.held = true;
  }

  /** The device is gone with everything on it. */
  loseEverything(): void {
    this.#weights.clear();
    this.#copies.clear();
    this.workspaceBytes = 0;
  }

  /** It will never be written, or is lost. */
  forget(tensor: number): void {
    this.#copies.delete(tensor);
  }

  #freeIfUnneeded(copy: Copy): void {
    const { tensor, present, held, uses, sends } = copy;
    if (present && !held && uses === 0 && sends === 0) this.#copies.delete(tensor);
  }
}
