/** Instructions for the native engine as numbers, read by native/engine_batch.cc: a code, then its fields. */
import type { ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";

const CODE = {
  issue: 1,
  activate: 2,
  rerank: 3,
  withdraw: 4,
  activateRecv: 5,
  activateSend: 6,
  cancelTransfer: 7,
  hold: 8,
  release: 9,
  lose: 10,
  giveBack: 11,
  loadWeights: 12,
  probe: 14,
} as const;

/** What an issue needs beside the instruction. */
export interface IssueDetails {
  /** The engine's number of what it computes. */
  readonly kernel: number;
  /** Per declared input: where it is among the issue's, or an empty tensor that nothing was bound to. */
  readonly declared: readonly (number | { readonly dtype: number; readonly shape: readonly number[] })[];
  /** Values of the kernel's symbols. */
  readonly symbols: readonly number[];
}

/** Grows as it is written; `clear` keeps the room. */
export class Batch {
  numbers = new Float64Array(256);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  issue(issue: IssueInstruction, { kernel, declared, symbols }: IssueDetails): void {
    const { issueNumber, accelerator, instance, rank, activated, workspaceBytes, inputs, outputs } = issue;
    this.#push(CODE.issue, issueNumber, accelerator, kernel);
    this.#push(instance, rank, activated ? 1 : 0, workspaceBytes);
    this.#push(inputs.length);
    for (const { tensor, transfer, source } of inputs) this.#push(tensor, transfer ?? -1, source);
    this.#push(outputs.length);
    for (const { tensor, bytes, aliases } of outputs) this.#push(tensor, bytes, aliases ?? -1);
    this.#push(declared.length);
    for (const input of declared) {
      if (typeof input === "number") this.#push(input);
      else {
        this.#push(-1, input.dtype, input.shape.length);
        for (const size of input.shape) this.#push(size);
      }
    }
    this.#push(symbols.length);
    for (const value of symbols) this.#push(value);
  }

  /** One that needs nothing beside itself. */
  plain(
    instruction: Exclude<ExecutorInstruction, { type: "registerTemplate" | "loadWeights" | "issue" | "giveUp" }>,
  ): void {
    const { type } = instruction;
    switch (type) {
      case "activate":
      case "withdraw":
        this.#push(CODE[type], instruction.issueNumber);
        break;
      case "rerank":
        this.#push(CODE.rerank, instruction.issueNumber, instruction.rank);
        break;
      case "activateRecv":
        this.#push(CODE.activateRecv, instruction.transfer, instruction.bytes);
        break;
      case "activateSend":
      case "cancelTransfer":
        this.#push(CODE[type], instruction.transfer);
        break;
      case "hold":
      case "release":
        this.#push(CODE[type], instruction.tensor, instruction.accelerator);
        break;
      case "probe":
        this.#push(CODE.probe, instruction.accelerator, instruction.probe);
        break;
    }
  }

  lose(accelerator: number): void {
    this.#push(CODE.lose, accelerator);
  }

  giveBack(accelerator: number): void {
    this.#push(CODE.giveBack, accelerator);
  }

  /** Counts them in the account; their contents are loaded by `NativeEngine.loadWeights`. */
  weights(accelerator: number, name: number, bytes: number): void {
    this.#push(CODE.loadWeights, accelerator, name, bytes);
  }

  /** Up to four fields; without rest parameters, since every issue takes a dozen calls. */
  #push(first: number, second?: number, third?: number, fourth?: number): void {
    if (this.length + 4 > this.numbers.length) {
      const larger = new Float64Array(2 * this.numbers.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.numbers[this.length++] = first;
    if (second !== undefined) this.numbers[this.length++] = second;
    if (third !== undefined) this.numbers[this.length++] = third;
    if (fourth !== undefined) this.numbers[this.length++] = fourth;
  }
}
