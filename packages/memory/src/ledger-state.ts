import { GmgError } from "@slicescheduler/templates";
import { at, describe, Faults } from "@slicescheduler/templates/validation";
import { LedgerStateInvalidError } from "./ledger-errors.ts";
import type { TensorId } from "./ledger-memory.ts";
import { type AcceleratorMemory, type Buffer, newMemory, recount, roundedBytesOf } from "./ledger-memory.ts";

const VERSION = 1;

/** A ledger as a plain value. Buffers are numbered per accelerator. */
export interface LedgerState {
  readonly format: "slicescheduler.ledger";
  readonly version: typeof VERSION;
  readonly accelerators: readonly LedgerAcceleratorState[];
}

export interface LedgerAcceleratorState {
  readonly name: string;
  readonly capacityBytes: number;
  readonly baselineBytes: number;
  readonly granularityBytes: number;
  readonly peakBytes: number;
  readonly workspaceBytes: number;
  readonly weights: readonly { readonly name: string; readonly bytes: number }[];
  /** Rounded bytes and, in the order of their allocation, the tensors in it. */
  readonly buffers: readonly { readonly bytes: number; readonly tensors: readonly TensorId[] }[];
  readonly copies: readonly {
    readonly tensor: TensorId;
    readonly bytes: number;
    readonly present: boolean;
    readonly uses: number;
    readonly sends: number;
    readonly held: boolean;
  }[];
}

export function saveLedger(memories: readonly AcceleratorMemory[]): LedgerState {
  return { format: "slicescheduler.ledger", version: VERSION, accelerators: memories.map(saveMemory) };
}

function saveMemory(memory: AcceleratorMemory): LedgerAcceleratorState {
  const buffers = new Set<Buffer>();
  for (const { buffer } of memory.copies.values()) if (buffer !== null) buffers.add(buffer);
  return {
    name: memory.name,
    capacityBytes: memory.capacityBytes,
    baselineBytes: memory.baselineBytes,
    granularityBytes: memory.granularityBytes,
    peakBytes: memory.peakBytes,
    workspaceBytes: memory.workspaceBytes,
    weights: Array.from(memory.weights, ([name, { bytes }]) => ({ name, bytes })),
    buffers: Array.from(buffers, (buffer) => ({
      bytes: buffer.bytes,
      tensors: Array.from(buffer.copies, (copy) => copy.tensor),
    })),
    copies: Array.from(memory.copies.values(), ({ tensor, bytes, present, uses, sends, held }) => ({
      tensor,
      bytes,
      present,
      uses,
      sends,
      held,
    })),
  };
}

/** Throws LEDGER_STATE_INVALID. */
export function loadLedger(value: unknown): AcceleratorMemory[] {
  const faults = new Faults();
  const root = faults.record(value, "state", ["format", "version", "accelerators"]);
  if (root["format"] !== "slicescheduler.ledger") {
    faults.add("format", `must be "slicescheduler.ledger", is ${describe(root["format"])}`);
  } else if (root["version"] !== VERSION) {
    faults.add("version", `this release reads version ${VERSION}, found ${describe(root["version"])}`);
  }
  if (!faults.none) throw new LedgerStateInvalidError(faults.list);
  const memories = faults
    .array(root["accelerators"], "accelerators")
    .map((entry, i) => loadMemory(faults, entry, i, `accelerators[${i}]`));
  if (!faults.none) throw new LedgerStateInvalidError(faults.list);
  return memories.filter((memory) => memory !== null);
}

/** Null after a fault. */
function loadMemory(faults: Faults, value: unknown, index: number, path: string): AcceleratorMemory | null {
  const before = faults.count;
  const entry = faults.record(value, path);
  const bytes = (field: string, min = 0) => faults.whole(entry[field], at(path, field), min, "bytes");
  const accelerator = {
    name: faults.name(entry["name"], at(path, "name")),
    capacityBytes: bytes("capacityBytes"),
    baselineBytes: bytes("baselineBytes"),
    granularityBytes: bytes("granularityBytes", 1),
  };
  const peakBytes = bytes("peakBytes");
  const workspaceBytes = bytes("workspaceBytes");
  if (faults.count > before) return null;
  try {
    const memory = newMemory(accelerator, index);
    memory.peakBytes = peakBytes;
    memory.workspaceBytes = workspaceBytes;
    loadWeights(faults, entry["weights"], at(path, "weights"), memory);
    loadCopies(faults, entry["copies"], at(path, "copies"), memory);
    const bufferBytes = loadBuffers(faults, entry["buffers"], at(path, "buffers"), memory);
    memory.usedBytes = memory.fixedBytes + bufferBytes + workspaceBytes;
    if (faults.count > before) return null;
    recount(memory);
    return memory;
  } catch (error) {
    if (!(error instanceof GmgError) && !(error instanceof TypeError)) throw error;
    faults.add(path, error.message);
    return null;
  }
}

function loadWeights(faults: Faults, value: unknown, path: string, memory: AcceleratorMemory): void {
  faults.array(value, path).forEach((item, i) => {
    const entry = faults.record(item, `${path}[${i}]`);
    const name = faults.name(entry["name"], `${path}[${i}].name`);
    const bytes = faults.whole(entry["bytes"], `${path}[${i}].bytes`, 0, "bytes");
    if (memory.weights.has(name)) faults.add(`${path}[${i}].name`, `${describe(name)} stands twice`);
    const roundedBytes = roundedBytesOf(memory, bytes);
    memory.weights.set(name, { bytes, roundedBytes });
    memory.fixedBytes += roundedBytes;
  });
}

function loadCopies(faults: Faults, value: unknown, path: string, memory: AcceleratorMemory): void {
  faults.array(value, path).forEach((item, i) => {
    const entry = faults.record(item, `${path}[${i}]`);
    const whole = (field: string, unit: string) => faults.whole(entry[field], `${path}[${i}].${field}`, 0, unit);
    const flag = (field: string) => {
      if (typeof entry[field] !== "boolean") {
        faults.add(`${path}[${i}].${field}`, `must be true or false, is ${describe(entry[field])}`);
      }
      return entry[field] === true;
    };
    const tensor = whole("tensor", "a tensor number");
    if (memory.copies.has(tensor)) faults.add(`${path}[${i}].tensor`, `tensor ${tensor} stands twice`);
    memory.copies.set(tensor, {
      tensor,
      bytes: whole("bytes", "bytes"),
      buffer: null,
      present: flag("present"),
      uses: whole("uses", "uses"),
      sends: whole("sends", "sends"),
      held: flag("held"),
    });
  });
}

/** Puts the copies into their buffers and returns the bytes of all buffers. */
function loadBuffers(faults: Faults, value: unknown, path: string, memory: AcceleratorMemory): number {
  let bufferBytes = 0;
  faults.array(value, path).forEach((item, i) => {
    const entry = faults.record(item, `${path}[${i}]`);
    const buffer: Buffer = {
      bytes: faults.whole(entry["bytes"], `${path}[${i}].bytes`, 0, "bytes"),
      copies: new Set(),
    };
    const tensors = faults.array(entry["tensors"], `${path}[${i}].tensors`);
    if (tensors.length === 0) faults.add(`${path}[${i}].tensors`, "must not be empty");
    tensors.forEach((tensor, j) => {
      const copy = memory.copies.get(tensor as TensorId);
      if (copy === undefined) faults.add(`${path}[${i}].tensors[${j}]`, `no copy of tensor ${describe(tensor)}`);
      else if (copy.buffer !== null) faults.add(`${path}[${i}].tensors[${j}]`, `tensor ${copy.tensor} has two buffers`);
      else {
        copy.buffer = buffer;
        buffer.copies.add(copy);
      }
    });
    bufferBytes += buffer.bytes;
  });
  return bufferBytes;
}
