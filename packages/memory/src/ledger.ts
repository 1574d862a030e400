import { type AcceleratorIndex, UnknownAcceleratorError } from "@slicescheduler/templates";
import { LedgerError, WeightsMismatchError } from "./ledger-errors.ts";
import type { TensorId } from "./ledger-memory.ts";
import {
  type AcceleratorMemory,
  type Copy,
  copyOf,
  type LedgerAccelerator,
  newMemory,
  recount,
  roundedBytesOf,
  takeBytes,
} from "./ledger-memory.ts";
import { type LedgerState, loadLedger, saveLedger } from "./ledger-state.ts";

/** Why a copy of a tensor is still there. It is freed when it is not `producing` and nothing else holds. */
export interface ResidencyReasons {
  /** Issued consumers on the accelerator that are not done. */
  readonly uses: number;
  /** Transfers out of the accelerator that have not ended. */
  readonly sends: number;
  /** The master holds it. */
  readonly held: boolean;
  /** Expected or being written: not present yet. */
  readonly producing: boolean;
}

/** One copy, for inspection. */
export interface ResidentCopy extends ResidencyReasons {
  readonly tensor: TensorId;
  /** Its own size as allocated, not rounded; 0 while only expected. */
  readonly bytes: number;
  readonly allocated: boolean;
  /** Rounded bytes of the buffer it lives in, which aliases share; 0 while only expected. */
  readonly bufferBytes: number;
  /** The tensors that share its buffer, itself among them, in the order of their allocation. */
  readonly sharedWith: readonly TensorId[];
}

/** One buffer is one object as long as it is there. */
export interface LedgerBuffer {
  /** Rounded. */
  readonly bytes: number;
  readonly copies: { readonly size: number };
}

export interface LedgerOptions {
  /** Called once for each copy that leaves the ledger, freed or abandoned, after all numbers are up to date. */
  readonly onFreed?: (tensor: TensorId, accelerator: AcceleratorIndex) => void;
}

/**
 * Which tensor copies are on which accelerator, why each is still held, and how many bytes that takes: the rules of
 * "Memory" in docs/execution-model.md. The graph of the master and the queues of the executors keep one each.
 *
 * A copy lives like this: `expect` (planned; held) → `allocate` (its producer starts, or its receive buffer is taken) →
 * `markPresent` (written) → freed as soon as no use and no send is pending and the hold is dropped by `release`.
 * `addUse`, `addSend`, `hold` and `release` are legal from `expect` on. `abandon` ends a copy that will never be written.
 *
 * Every call costs O(1) (`copies`, `validate`, `save` and `load` cost O(copies)) and is refused before anything changes:
 * UNKNOWN_ACCELERATOR, MEMORY_EXCEEDED, BYTES_OVERFLOW, or a `LedgerError` with a code of its own.
 */
export class ResidencyLedger {
  #memories: readonly AcceleratorMemory[];
  readonly #onFreed: ((tensor: TensorId, accelerator: AcceleratorIndex) => void) | undefined;

  constructor(accelerators: readonly LedgerAccelerator[], options: LedgerOptions = {}) {
    this.#memories = accelerators.map(newMemory);
    this.#onFreed = options.onFreed;
  }

  /**
   * Takes memory for weights that stay for good. Weights of the same name are there once per accelerator: a second call
   * changes nothing. Throws MEMORY_EXCEEDED; WEIGHTS_MISMATCH when the bytes differ from those already there.
   */
  loadWeights(accelerator: AcceleratorIndex, name: string, bytes: number): void {
    const memory = this.#memory(accelerator);
    const loaded = memory.weights.get(name);
    if (loaded !== undefined) {
      if (loaded.bytes !== bytes) throw new WeightsMismatchError(memory, name, loaded.bytes, bytes);
      return;
    }
    const roundedBytes = roundedBytesOf(memory, bytes);
    takeBytes(memory, roundedBytes, `weights ${JSON.stringify(name)}`);
    memory.fixedBytes += roundedBytes;
    memory.weights.set(name, { bytes, roundedBytes });
  }

  /** Whether these weights are loaded there. */
  hasWeights(accelerator: AcceleratorIndex, name: string): boolean {
    return this.#memory(accelerator).weights.has(name);
  }

  /** Plans a copy: it is held, and takes no memory yet. Throws COPY_EXISTS, INVALID_TENSOR. */
  expect(tensor: TensorId, accelerator: AcceleratorIndex): void {
    const memory = this.#memory(accelerator);
    if (!Number.isSafeInteger(tensor) || tensor < 0)
      throw new LedgerError("INVALID_TENSOR", memory, tensor, "is not a tensor number");
    if (memory.copies.has(tensor)) throw new LedgerError("COPY_EXISTS", memory, tensor, "is expected there already");
    memory.copies.set(tensor, { tensor, bytes: 0, buffer: null, present: false, uses: 0, sends: 0, held: true });
  }

  /**
   * Takes memory for an expected copy: a buffer of its own, or, with `aliases` a tensor allocated on the same accelerator,
   * that tensor's buffer, grown if need be. `bytes` are the copy's own size; rounding is done here. Returns the bytes added.
   * Throws MEMORY_EXCEEDED, UNKNOWN_COPY, ALREADY_ALLOCATED, NOT_ALLOCATED (the aliased copy), INVALID_BYTES.
   */
  allocate(tensor: TensorId, accelerator: AcceleratorIndex, bytes: number, aliases: TensorId | -1 = -1): number {
    const memory = this.#memory(accelerator);
    const copy = copyOf(memory, tensor);
    if (copy.buffer !== null)
      throw new LedgerError("ALREADY_ALLOCATED", memory, tensor, `has ${copy.bytes} bytes there already`);
    const roundedBytes = roundedBytesOf(memory, bytes);
    const shared = aliases === -1 ? null : copyOf(memory, aliases).buffer;
    if (aliases !== -1 && shared === null) {
      throw new LedgerError("NOT_ALLOCATED", memory, aliases, `has no buffer that tensor ${tensor} could continue`);
    }
    const addedBytes = Math.max(roundedBytes - (shared?.bytes ?? 0), 0);
    takeBytes(memory, addedBytes, "tensor", tensor);
    const buffer = shared ?? { bytes: 0, copies: new Set<Copy>() };
    buffer.bytes += addedBytes;
    buffer.copies.add(copy);
    copy.buffer = buffer;
    copy.bytes = bytes;
    return addedBytes;
  }

  /** Its producer or its transfer has ended. Frees it at once if nothing needs it. Throws NOT_ALLOCATED, ALREADY_PRESENT. */
  markPresent(tensor: TensorId, accelerator: AcceleratorIndex): void {
    const memory = this.#memory(accelerator);
    const copy = copyOf(memory, tensor);
    if (copy.buffer === null)
      throw new LedgerError("NOT_ALLOCATED", memory, tensor, "cannot become present before it has a buffer");
    if (copy.present) throw new LedgerError("ALREADY_PRESENT", memory, tensor, "is present already");
    copy.present = true;
    this.#freeIfUnneeded(memory, copy);
  }

  /** An issued consumer on this accelerator will read it. */
  addUse(tensor: TensorId, accelerator: AcceleratorIndex): void {
    copyOf(this.#memory(accelerator), tensor).uses += 1;
  }

  /** That consumer is done, or will never run. Throws COUNT_BELOW_ZERO. */
  endUse(tensor: TensorId, accelerator: AcceleratorIndex): void {
    const memory = this.#memory(accelerator);
    const copy = copyOf(memory, tensor);
    if (copy.uses === 0) throw new LedgerError("COUNT_BELOW_ZERO", memory, tensor, "has no pending use to end");
    copy.uses -= 1;
    this.#freeIfUnneeded(memory, copy);
  }

  /** A transfer will read it from here. */
  addSend(tensor: TensorId, accelerator: AcceleratorIndex): void {
    copyOf(this.#memory(accelerator), tensor).sends += 1;
  }

  /** That transfer has ended, or will never start. Throws COUNT_BELOW_ZERO. */
  endSend(tensor: TensorId, accelerator: AcceleratorIndex): void {
    const memory = this.#memory(accelerator);
    const copy = copyOf(memory, tensor);
    if (copy.sends === 0) throw new LedgerError("COUNT_BELOW_ZERO", memory, tensor, "has no pending send to end");
    copy.sends -= 1;
    this.#freeIfUnneeded(memory, copy);
  }

  /** The master needs it no longer. A second release changes nothing. */
  release(tensor: TensorId, accelerator: AcceleratorIndex): void {
    const memory = this.#memory(accelerator);
    const copy = copyOf(memory, tensor);
    copy.held = false;
    this.#freeIfUnneeded(memory, copy);
  }

  /** The master needs it again, or still. Throws UNKNOWN_COPY when it has gone. */
  hold(tensor: TensorId, accelerator: AcceleratorIndex): void {
    copyOf(this.#memory(accelerator), tensor).held = true;
  }

  /** The accelerator has lost everything: nothing is left but the baseline. O(copies). */
  loseEverything(accelerator: AcceleratorIndex): void {
    const memory = this.#memory(accelerator);
    memory.weights.clear();
    memory.fixedBytes = memory.baselineBytes;
    memory.usedBytes = memory.baselineBytes;
    memory.workspaceBytes = 0;
    const copies = [...memory.copies.keys()];
    memory.copies.clear();
    for (const tensor of copies) this.#onFreed?.(tensor, memory.index);
  }

  /**
   * Forgets a copy that will never be written, or one that is lost, with whatever pends on it. A buffer it continued keeps
   * its size. Throws COPY_IN_USE for one that is present and still read; end its uses and sends first.
   */
  abandon(tensor: TensorId, accelerator: AcceleratorIndex): void {
    const memory = this.#memory(accelerator);
    const copy = copyOf(memory, tensor);
    if (copy.present && copy.uses + copy.sends > 0) {
      throw new LedgerError("COPY_IN_USE", memory, tensor, `has ${copy.uses} uses and ${copy.sends} sends pending`);
    }
    this.#forget(memory, copy);
  }

  /** Takes the scratch memory of an operator that starts. Throws MEMORY_EXCEEDED, INVALID_BYTES. */
  beginWorkspace(accelerator: AcceleratorIndex, bytes: number): void {
    const memory = this.#memory(accelerator);
    const roundedBytes = roundedBytesOf(memory, bytes);
    takeBytes(memory, roundedBytes, "workspace");
    memory.workspaceBytes += roundedBytes;
  }

  /** Gives it back. Throws WORKSPACE_MISMATCH when less than that is in use. */
  endWorkspace(accelerator: AcceleratorIndex, bytes: number): void {
    const memory = this.#memory(accelerator);
    const roundedBytes = roundedBytesOf(memory, bytes);
    if (roundedBytes > memory.workspaceBytes) {
      throw new LedgerError(
        "WORKSPACE_MISMATCH",
        memory,
        -1,
        `ends ${roundedBytes} bytes of ${memory.workspaceBytes} in use`,
      );
    }
    memory.workspaceBytes -= roundedBytes;
    memory.usedBytes -= roundedBytes;
  }

  /** Whether so many more bytes, already rounded, are free. */
  fits(accelerator: AcceleratorIndex, bytes: number): boolean {
    const memory = this.#memory(accelerator);
    return bytes <= memory.capacityBytes - memory.usedBytes;
  }

  /** Whether no tensor is there in any state, expected included. */
  isEmpty(accelerator: AcceleratorIndex): boolean {
    return this.#memory(accelerator).copies.size === 0;
  }

  /** Whether the tensor is there in any state, expected included. */
  has(tensor: TensorId, accelerator: AcceleratorIndex): boolean {
    return this.#memory(accelerator).copies.has(tensor);
  }

  isPresent(tensor: TensorId, accelerator: AcceleratorIndex): boolean {
    return this.#memory(accelerator).copies.get(tensor)?.present ?? false;
  }

  isHeld(tensor: TensorId, accelerator: AcceleratorIndex): boolean {
    return this.#memory(accelerator).copies.get(tensor)?.held ?? false;
  }

  /** The copy's own size as allocated, not rounded; 0 while only expected. */
  bytesOf(tensor: TensorId, accelerator: AcceleratorIndex): number {
    return copyOf(this.#memory(accelerator), tensor).bytes;
  }

  /** The memory that a copy lives in, perhaps with others; null while it is only expected, or not there. */
  bufferOf(tensor: TensorId, accelerator: AcceleratorIndex): LedgerBuffer | null {
    return this.#memory(accelerator).copies.get(tensor)?.buffer ?? null;
  }

  reasons(tensor: TensorId, accelerator: AcceleratorIndex): ResidencyReasons {
    const { uses, sends, held, present } = copyOf(this.#memory(accelerator), tensor);
    return { uses, sends, held, producing: !present };
  }

  /** Every copy on the accelerator, in the order in which they were first expected. */
  copies(accelerator: AcceleratorIndex): readonly ResidentCopy[] {
    return Array.from(this.#memory(accelerator).copies.values(), residentCopy);
  }

  usedBytes(accelerator: AcceleratorIndex): number {
    return this.#memory(accelerator).usedBytes;
  }

  /** The most that was ever in use. */
  peakBytes(accelerator: AcceleratorIndex): number {
    return this.#memory(accelerator).peakBytes;
  }

  /** Baseline and weights. */
  fixedBytes(accelerator: AcceleratorIndex): number {
    return this.#memory(accelerator).fixedBytes;
  }

  workspaceBytes(accelerator: AcceleratorIndex): number {
    return this.#memory(accelerator).workspaceBytes;
  }

  /** Counts everything again from scratch. Throws INVARIANT_BROKEN. */
  validate(): void {
    for (const memory of this.#memories) recount(memory);
  }

  /** The whole state as a plain, versioned value that JSON and structured clone carry unchanged. */
  save(): LedgerState {
    return saveLedger(this.#memories);
  }

  /** Restores what `save` gave. Throws LEDGER_STATE_INVALID for a foreign, other-versioned or contradictory value. */
  static load(state: unknown, options: LedgerOptions = {}): ResidencyLedger {
    const ledger = new ResidencyLedger([], options);
    ledger.#memories = loadLedger(state);
    return ledger;
  }

  #memory(accelerator: AcceleratorIndex): AcceleratorMemory {
    const memory = this.#memories[accelerator];
    if (memory === undefined) throw new UnknownAcceleratorError(accelerator, this.#memories.length);
    return memory;
  }

  #freeIfUnneeded(memory: AcceleratorMemory, copy: Copy): void {
    if (copy.present && !copy.held && copy.uses === 0 && copy.sends === 0) this.#forget(memory, copy);
  }

  /** The callback comes last: it may call the ledger, and may throw without leaving it half changed. */
  #forget(memory: AcceleratorMemory, copy: Copy): void {
    memory.copies.delete(copy.tensor);
    if (copy.buffer !== null) {
      copy.buffer.copies.delete(copy);
      if (copy.buffer.copies.size === 0) memory.usedBytes -= copy.buffer.bytes;
    }
    this.#onFreed?.(copy.tensor, memory.index);
  }
}

function residentCopy({ tensor, bytes, buffer, uses, sends, held, present }: Copy): ResidentCopy {
  return {
    tensor,
    bytes,
    allocated: buffer !== null,
    bufferBytes: buffer?.bytes ?? 0,
    sharedWith: buffer === null ? [tensor] : Array.from(buffer.copies, (copy) => copy.tensor),
    uses,
    sends,
    held,
    producing: !present,
  };
}
