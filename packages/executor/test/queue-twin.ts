import type { IssueInstruction, QueueState } from "../src/index.ts";

export interface TwinOperator {
  readonly instruction: IssueInstruction;
  rank: number;
  activated: boolean;
  /** −1 until no input is missing. */
  readyNs: number;
  /** Where its life ended, or null while it is in the queue. */
  ended: QueueState | null;
  readonly lost: Set<number>;
}

export interface TwinTensor {
  readonly bytes: number;
  state: "expected" | "present" | "gone";
  held: boolean;
}

/** The queue of one accelerator as a list that is searched and sorted every time. Shares no code with the queue. */
export class QueueTwin {
  readonly capacityBytes: number;
  readonly operators: TwinOperator[] = [];
  readonly tensors = new Map<number, TwinTensor>();
  running: TwinOperator | null = null;

  constructor(capacityBytes: number) {
    this.capacityBytes = capacityBytes;
  }

  get queued(): TwinOperator[] {
    return this.operators.filter(({ ended }) => ended === null);
  }

  thatAre(condition: (tensor: TwinTensor) => boolean): number[] {
    return [...this.tensors].filter(([, tensor]) => condition(tensor)).map(([number]) => number);
  }

  isPresent(tensor: number): boolean {
    return this.tensors.get(tensor)?.state === "present";
  }

  stateOf(operator: TwinOperator): QueueState {
    if (operator === this.running) return "running";
    const misses = operator.instruction.inputs.some(
      ({ tensor }) => operator.lost.has(tensor) || !this.isPresent(tensor),
    );
    return misses ? "blocked" : operator.activated ? "activated" : "ready";
  }

  issue(instruction: IssueInstruction, nowNs: number): void {
    for (const { tensor, bytes } of instruction.outputs)
      this.tensors.set(tensor, { bytes, state: "expected", held: true });
    const { activated, rank } = instruction;
    this.operators.push({ instruction, rank, activated, readyNs: -1, ended: null, lost: new Set() });
    this.settle(nowNs);
  }

  arrive(tensor: number, nowNs: number): void {
    const found = this.tensors.get(tensor);
    if (found !== undefined) found.state = "present";
    this.settle(nowNs);
  }

  next(): TwinOperator | undefined {
    if (this.running !== null) return undefined;
    return this.queued
      .filter((operator) => this.stateOf(operator) === "activated")
      .sort(
        (a, b) => a.rank - b.rank || a.readyNs - b.readyNs || a.instruction.issueNumber - b.instruction.issueNumber,
      )[0];
  }

  /** Whether it started; false when it was refused. */
  start(operator: TwinOperator, nowNs: number): boolean {
    const { outputs, workspaceBytes } = operator.instruction;
    const neededBytes = outputs.reduce((sum, { bytes }) => sum + bytes, workspaceBytes);
    const fits = this.usedBytes() + neededBytes <= this.capacityBytes;
    if (fits) this.running = operator;
    else this.abort(operator, "failed", nowNs);
    return fits;
  }

  end(nowNs: number): void {
    const operator = this.running;
    if (operator === null) return;
    this.running = null;
    operator.ended = "done";
    for (const { tensor } of operator.instruction.outputs) this.arrive(tensor, nowNs);
    this.settle(nowNs);
  }

  abort(operator: TwinOperator, to: "failed" | "withdrawn", nowNs: number): void {
    if (operator === this.running) this.running = null;
    operator.ended = to;
    for (const { tensor } of operator.instruction.outputs) {
      const found = this.tensors.get(tensor);
      if (found !== undefined) found.state = "gone";
      for (const consumer of this.queued)
        if (consumer.instruction.inputs.some((input) => input.tensor === tensor)) consumer.lost.add(tensor);
    }
    this.settle(nowNs);
  }

  loseEverything(): void {
    for (const operator of this.queued) operator.ended = "lost";
    for (const tensor of this.tensors.values()) tensor.state = "gone";
    this.running = null;
  }

  usedBytes(): number {
    let usedBytes = this.running?.instruction.workspaceBytes ?? 0;
    for (const { state, bytes } of this.tensors.values()) if (state === "present") usedBytes += bytes;
    for (const { bytes } of this.running?.instruction.outputs ?? []) usedBytes += bytes;
    return usedBytes;
  }

  settle(nowNs: number): void {
    for (const operator of this.queued)
      if (operator.readyNs === -1 && this.stateOf(operator) !== "blocked") operator.readyNs = nowNs;
    for (const [tensor, found] of this.tensors) {
      const used = this.queued.some(({ instruction }) => instruction.inputs.some((input) => input.tensor === tensor));
      if (found.state === "present" && !found.held && !used) found.state = "gone";
    }
  }
}
