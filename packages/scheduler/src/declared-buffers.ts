import type { AcceleratorIndex, LedgerBuffer, OperatorNode, ResidencyLedger, TensorNode } from "@slicescheduler/gmg";
import type { SimTensor, Simulator } from "@slicescheduler/simulator";

/** A buffer of which at least one copy is declared. */
interface Declared {
  readonly accelerator: AcceleratorIndex;
  /** A tensor declared in it. */
  readonly tensor: SimTensor;
  /** How many of its copies are declared, and the rounded bytes of the largest. */
  copies: number;
  largestBytes: number;
}

/**
 * The memory in use at begin, as the ledger has it: which declared copies share a buffer, how large buffers are that outlived the
 * copy they got their size from, and all that is in memory and is not declared, which stays.
 */
export class DeclaredBuffers {
  readonly #ledger: ResidencyLedger;
  readonly #simulator: Simulator;
  readonly #buffers = new Map<LedgerBuffer, Declared>();
  /** Per accelerator, bytes of all buffers here and workspace. */
  readonly #declaredBytes: Float64Array;

  constructor(ledger: ResidencyLedger, simulator: Simulator, accelerators: number) {
    this.#ledger = ledger;
    this.#simulator = simulator;
    this.#declaredBytes = new Float64Array(accelerators);
  }

  clear(): void {
    this.#buffers.clear();
    this.#declaredBytes.fill(0);
  }

  /** A declared tensor that shares a copy's buffer, or −1. */
  sharedBy(tensor: TensorNode, accelerator: AcceleratorIndex): SimTensor | -1 {
    const buffer = this.#ledger.bufferOf(tensor.id, accelerator);
    return buffer === null ? -1 : (this.#buffers.get(buffer)?.tensor ?? -1);
  }

  /** A copy is declared. Does nothing while it takes no memory. */
  add(tensor: TensorNode, accelerator: AcceleratorIndex, declared: SimTensor, roundedBytes: number): void {
    const buffer = this.#ledger.bufferOf(tensor.id, accelerator);
    if (buffer === null) return;
    const known = this.#buffers.get(buffer);
    if (known !== undefined) {
      known.copies += 1;
      known.largestBytes = Math.max(known.largestBytes, roundedBytes);
      return;
    }
    this.#buffers.set(buffer, { accelerator, tensor: declared, copies: 1, largestBytes: roundedBytes });
    (this.#declaredBytes[accelerator] as number) += buffer.bytes;
  }

  /** An operator is declared that runs. */
  addWorkspace({ accelerator }: OperatorNode): void {
    (this.#declaredBytes[accelerator] as number) += this.#ledger.workspaceBytes(accelerator);
  }

  /** To be called when all else is declared. What is left over is a held tensor; it takes part in nothing. */
  finish(): void {
    for (const [{ bytes, copies }, { accelerator, tensor, copies: declared, largestBytes }] of this.#buffers) {
      // A copy that is not declared is read and sent by nobody, so it is there because it is held.
      const isKept = copies.size > declared;
      if (isKept || bytes > largestBytes) this.#simulator.addTensor(accelerator, bytes, isKept, tensor);
    }
    this.#declaredBytes.forEach((declaredBytes, accelerator) => {
      const restBytes = this.#ledger.usedBytes(accelerator) - this.#ledger.fixedBytes(accelerator) - declaredBytes;
      if (restBytes > 0) this.#simulator.addTensor(accelerator, restBytes, true);
    });
  }
}
