import type { IssuedInput, IssuedOutput, IssueInstruction } from "@slicescheduler/executor";
import { ELEMENT_BYTES, type Kind, SHAPES, templateName } from "./world.ts";

/** How an operator is issued, where it differs from the usual: the most urgent class, activated, no workspace. */
export interface WorkOptions {
  readonly rank?: number;
  /** Not activated at issue. */
  readonly held?: boolean;
  readonly scratchBytes?: number;
}

/** Tensor of an operator's output; −1 where it has none there. */
export function made({ outputs }: IssueInstruction, at = 0): number {
  return outputs[at]?.tensor ?? -1;
}

/** What numbers begin at: ranges apart from each other, so that one kind is not taken for another. */
export interface FirstNumbers {
  readonly issue: number;
  readonly tensor: number;
  readonly transfer: number;
  readonly instance: number;
}

const FIRST: FirstNumbers = { issue: 10, tensor: 400, transfer: 70, instance: 2_000 };

/** Makes instructions about the suite's templates, with numbers that rise by one. */
export class WorkNumbers {
  readonly #bytesOf = new Map<number, number>();
  #issue: number;
  #tensor: number;
  #transfer: number;
  #instance: number;

  constructor(first: FirstNumbers = FIRST) {
    this.#issue = first.issue;
    this.#tensor = first.tensor;
    this.#transfer = first.transfer;
    this.#instance = first.instance;
  }

  /** A tensor that is on the operator's accelerator, or will be by something issued before. */
  here(tensor: number): IssuedInput {
    return { tensor, transfer: null, source: -1 };
  }

  /** A tensor that a new transfer brings. */
  bring(tensor: number, source: number): IssuedInput {
    return { tensor, transfer: this.#transfer++, source };
  }

  /** No input, no output. */
  work(on: number, options: WorkOptions = {}): IssueInstruction {
    return this.#make("work", on, [], [], options);
  }

  source(on: number, bytes: number, options: WorkOptions = {}): IssueInstruction {
    return this.#make("source", on, [], [bytes], options);
  }

  /** Two outputs of new tensors, the second's number follows the first's. */
  pair(on: number, bytes: readonly [number, number], options: WorkOptions = {}): IssueInstruction {
    return this.#make("pair", on, [], bytes, options);
  }

  sink(on: number, read: IssuedInput, options: WorkOptions = {}): IssueInstruction {
    return this.#make("sink", on, [read], [], options);
  }

  map(on: number, read: IssuedInput, bytes: number, options: WorkOptions = {}): IssueInstruction {
    return this.#make("map", on, [read], [bytes], options);
  }

  join(
    on: number,
    reads: readonly [IssuedInput, IssuedInput],
    bytes: number,
    options: WorkOptions = {},
  ): IssueInstruction {
    return this.#make("join", on, reads, [bytes], options);
  }

  /** Its output continues its input, up to so many bytes. */
  grow(on: number, read: IssuedInput, bytes: number, options: WorkOptions = {}): IssueInstruction {
    return this.#make("grow", on, [read], [bytes], options);
  }

  /** As the tensor was made. */
  bytesOf(tensor: number): number {
    return this.#bytesOf.get(tensor) ?? 0;
  }

  #make(
    kind: Kind,
    on: number,
    inputs: readonly IssuedInput[],
    bytes: readonly number[],
    { rank = 0, held = false, scratchBytes = 0 }: WorkOptions,
  ): IssueInstruction {
    const { reads, makes } = SHAPES[kind];
    const aliases = kind === "grow" ? (inputs[0]?.tensor ?? null) : null;
    const outputs = bytes.map((size): IssuedOutput => ({ tensor: this.#newTensor(size), bytes: size, aliases }));
    const taken = reads.map((symbol, at) => [symbol, this.bytesOf(inputs[at]?.tensor ?? -1) / ELEMENT_BYTES] as const);
    const made = makes.map((symbol, at) => [symbol, (bytes[at] ?? 0) / ELEMENT_BYTES] as const);
    return {
      type: "issue",
      issueNumber: this.#issue++,
      accelerator: on,
      instance: this.#instance++,
      template: templateName(kind),
      operator: 0,
      symbols: Object.fromEntries([...taken, ...made, ["scratch", scratchBytes] as const]),
      rank,
      activated: !held,
      inputs,
      outputs,
      workspaceBytes: scratchBytes,
    };
  }

  #newTensor(bytes: number): number {
    this.#bytesOf.set(this.#tensor, bytes);
    return this.#tensor++;
  }
}
