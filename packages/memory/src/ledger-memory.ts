import { type AcceleratorIndex, InvariantBrokenError, roundUpBytes } from "@slicescheduler/templates";
import { LedgerError, MemoryExceededError } from "./ledger-errors.ts";

/** Number of a tensor (one output of one operator of one instance), unique for the life of a graph. */
export type TensorId = number;

/** What the ledger needs to know of an accelerator; a `CompiledAccelerator` is one. */
export interface LedgerAccelerator {
  /** For messages. Default: its index. */
  readonly name?: string;
  /** Bytes that may be in use at most: HBM − margin. */
  readonly capacityBytes: number;
  /** Bytes others use; rounded up to the granularity. */
  readonly baselineBytes: number;
  readonly granularityBytes: number;
}

/** The storage of one or more copies on one accelerator. It grows, and is freed when the last copy in it is. */
export interface Buffer {
  /** Rounded up to the granularity. */
  bytes: number;
  /** In the order of their allocation. */
  readonly copies: Set<Copy>;
}

/** A tensor on an accelerator. */
export interface Copy {
  readonly tensor: TensorId;
  /** As allocated, not rounded; 0 before. */
  bytes: number;
  /** Null while only expected. */
  buffer: Buffer | null;
  present: boolean;
  uses: number;
  sends: number;
  held: boolean;
}

/** Everything known of one accelerator. `usedBytes` = baseline + weights + buffers + workspace ≤ `capacityBytes`. */
export interface AcceleratorMemory {
  readonly index: AcceleratorIndex;
  readonly name: string;
  readonly capacityBytes: number;
  readonly granularityBytes: number;
  /** Rounded up. */
  readonly baselineBytes: number;
  /** Rounded bytes by name. */
  readonly weights: Map<string, { readonly bytes: number; readonly roundedBytes: number }>;
  readonly copies: Map<TensorId, Copy>;
  fixedBytes: number;
  usedBytes: number;
  peakBytes: number;
  workspaceBytes: number;
}

/** An empty accelerator: nothing but its baseline. Programmer misuse of the numbers is a TypeError. */
export function newMemory(accelerator: LedgerAccelerator, index: AcceleratorIndex): AcceleratorMemory {
  const { capacityBytes, granularityBytes } = accelerator;
  const name = accelerator.name ?? `accelerator ${index}`;
  if (
    !isSize(capacityBytes) ||
    !isSize(accelerator.baselineBytes) ||
    !isSize(granularityBytes) ||
    granularityBytes === 0
  ) {
    throw new TypeError(
      `${name}: capacity ${capacityBytes}, baseline ${accelerator.baselineBytes} and granularity ${granularityBytes} must be whole bytes, the granularity above 0`,
    );
  }
  const baselineBytes = roundUpBytes(accelerator.baselineBytes, granularityBytes);
  if (baselineBytes > capacityBytes) {
    throw new TypeError(`${name}: baseline of ${baselineBytes} bytes is over its capacity of ${capacityBytes} bytes`);
  }
  return {
    index,
    name,
    capacityBytes,
    granularityBytes,
    baselineBytes,
    weights: new Map(),
    copies: new Map(),
    fixedBytes: baselineBytes,
    usedBytes: baselineBytes,
    peakBytes: baselineBytes,
    workspaceBytes: 0,
  };
}

function isSize(bytes: number): boolean {
  return Number.isSafeInteger(bytes) && bytes >= 0;
}

/** Bytes that came from a caller, rounded up to the accelerator's granularity. Throws INVALID_BYTES, BYTES_OVERFLOW. */
export function roundedBytesOf(memory: AcceleratorMemory, bytes: number): number {
  if (!isSize(bytes)) throw new LedgerError("INVALID_BYTES", memory, -1, `${bytes} is not a whole number of bytes`);
  return roundUpBytes(bytes, memory.granularityBytes);
}

/** Counts rounded bytes as used, or throws MEMORY_EXCEEDED and counts nothing. */
export function takeBytes(memory: AcceleratorMemory, bytes: number, purpose: string, tensor: TensorId | -1 = -1): void {
  if (bytes > memory.capacityBytes - memory.usedBytes) throw new MemoryExceededError(memory, bytes, purpose, tensor);
  memory.usedBytes += bytes;
  if (memory.usedBytes > memory.peakBytes) memory.peakBytes = memory.usedBytes;
}

/** Throws UNKNOWN_COPY. */
export function copyOf(memory: AcceleratorMemory, tensor: TensorId): Copy {
  const copy = memory.copies.get(tensor);
  if (copy === undefined) throw new LedgerError("UNKNOWN_COPY", memory, tensor, "is not expected or present there");
  return copy;
}

/** Counts one accelerator again from its copies and weights. Throws INVARIANT_BROKEN with both numbers. */
export function recount(memory: AcceleratorMemory): void {
  let fixedBytes = memory.baselineBytes;
  for (const { bytes, roundedBytes } of memory.weights.values()) {
    check(memory, "rounded bytes of weights", roundedBytes, roundUpBytes(bytes, memory.granularityBytes));
    fixedBytes += roundedBytes;
  }
  const buffers = new Map<Buffer, Copy[]>();
  for (const [tensor, copy] of memory.copies) {
    check(memory, "tensor number of a copy", copy.tensor, tensor);
    recountCopy(memory, copy);
    if (copy.buffer === null) continue;
    const sharing = buffers.get(copy.buffer);
    if (sharing === undefined) buffers.set(copy.buffer, [copy]);
    else sharing.push(copy);
  }
  let bufferBytes = 0;
  for (const [buffer, sharing] of buffers) {
    check(memory, "copies in a buffer", buffer.copies.size, sharing.length);
    check(
      memory,
      "copies in a buffer that are known",
      sharing.filter((copy) => buffer.copies.has(copy)).length,
      sharing.length,
    );
    const largestBytes = Math.max(...sharing.map((copy) => roundUpBytes(copy.bytes, memory.granularityBytes)));
    check(memory, "bytes by which a buffer is too small", Math.max(largestBytes - buffer.bytes, 0), 0);
    check(memory, "bytes of a buffer over a multiple of the granularity", buffer.bytes % memory.granularityBytes, 0);
    bufferBytes += buffer.bytes;
  }
  check(memory, "fixed bytes", memory.fixedBytes, fixedBytes);
  check(memory, "used bytes", memory.usedBytes, fixedBytes + bufferBytes + memory.workspaceBytes);
  check(memory, "bytes over capacity", Math.max(memory.usedBytes - memory.capacityBytes, 0), 0);
  check(memory, "bytes used over the peak", Math.max(memory.usedBytes - memory.peakBytes, 0), 0);
  check(memory, "bytes of the peak over capacity", Math.max(memory.peakBytes - memory.capacityBytes, 0), 0);
}

function recountCopy(memory: AcceleratorMemory, copy: Copy): void {
  const wrong =
    !isSize(copy.uses) ||
    !isSize(copy.sends) ||
    !isSize(copy.bytes) ||
    (copy.present && copy.buffer === null) ||
    (copy.buffer === null && copy.bytes > 0) ||
    (copy.present && !copy.held && copy.uses + copy.sends === 0);
  if (!wrong) return;
  const { tensor, bytes, uses, sends, held, present } = copy;
  throw new InvariantBrokenError(
    `${memory.name}: tensor ${tensor} of ${bytes} bytes, ${present ? "present" : "not present"}, ${uses} uses, ${sends} sends, ${held ? "held" : "not held"}, should not be there like this`,
    { accelerator: memory.index, tensor, bytes, uses, sends, held, present },
  );
}

function check(memory: AcceleratorMemory, what: string, kept: number, recounted: number): void {
  if (kept === recounted) return;
  throw new InvariantBrokenError(`${memory.name}: ${what} is ${kept}, recounted ${recounted}`, {
    accelerator: memory.index,
    what,
    kept,
    recounted,
  });
}
