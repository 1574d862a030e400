import { grown } from "./arrays.ts";
import type { Mark } from "./mark.ts";

/** Present when the simulation begins. */
export const PRESENT = 1;
/** An output: present when its operator ends. */
export const PRODUCED = 2;
/** A transfer brings it, if one is in flight or an operator asks for it. */
export const EXPECTED = 3;

/**
 * What was declared, one array per field, appended to and cut back only; nothing here changes while a simulation runs.
 *
 * A *copy* is a tensor on an accelerator. All lists are linked through `…Next…` arrays and end with −1. `copyNext` lists
 * a tensor's copies from the newest to its home, so that dropping the newest copies restores every list.
 */
export class Problem {
  operators = 0;
  operatorAccelerator = new Int32Array(0);
  operatorDurationNs = new Float64Array(0);
  operatorRank = new Float64Array(0);
  operatorIssueNumber = new Float64Array(0);
  /** Rounded. */
  operatorWorkspaceBytes = new Float64Array(0);
  /** When it became ready, NaN = at begin. */
  operatorReadySinceNs = new Float64Array(0);
  /** What is left of it when it runs at begin, 0 = it does not run. */
  operatorRemainingNs = new Float64Array(0);
  /** Input edges in declared order. */
  operatorFirstInput = new Int32Array(0);
  operatorLastInput = new Int32Array(0);
  /** Copies it writes, in declared order. */
  operatorFirstOutput = new Int32Array(0);
  operatorLastOutput = new Int32Array(0);

  inputs = 0;
  inputTensor = new Int32Array(0);
  /** Accelerator a transfer would come from, −1 = the tensor's home. */
  inputSource = new Int32Array(0);
  inputNext = new Int32Array(0);

  tensors = 0;
  /** Its own size, which transfers move; not rounded. */
  tensorBytes = new Float64Array(0);
  /** The copy it was declared with. */
  tensorHome = new Int32Array(0);
  tensorNewestCopy = new Int32Array(0);

  copies = 0;
  copyTensor = new Int32Array(0);
  copyAccelerator = new Int32Array(0);
  /** PRESENT, PRODUCED or EXPECTED. */
  copyKind = new Uint8Array(0);
  copyHeld = new Uint8Array(0);
  /** Rounded to the accelerator's granularity. */
  copyBytes = new Float64Array(0);
  /** Tensor whose buffer on the same accelerator it continues, or −1. */
  copyAliases = new Int32Array(0);
  copyNext = new Int32Array(0);
  copyNextOutput = new Int32Array(0);
  /** Accelerator that a declared transfer brings an EXPECTED copy from, −1 = none is declared. */
  copySource = new Int32Array(0);
  /** Of that transfer. */
  copyRank = new Float64Array(0);
  /** What is left of it when it is in flight at begin, 0 = it is not. */
  copyRemainingNs = new Float64Array(0);
  /** When the transfer that brings an EXPECTED copy became an intent, NaN = not before begin. */
  copyRaisedNs = new Float64Array(0);

  /** Declared transfers, as the copies that they bring. */
  transfers = 0;
  transferCopy = new Int32Array(0);

  /** Holds of copies that were changed after `mark`, and what they were. */
  changedHolds = 0;
  changedCopy = new Int32Array(0);
  changedHeld = new Uint8Array(0);

  /** Forgets everything. */
  clear(): void {
    this.operators = this.inputs = this.tensors = this.copies = this.transfers = this.changedHolds = 0;
  }

  /** The copy of a tensor on an accelerator, or −1, among the first `copies`. O(copies of the tensor). */
  find(tensor: number, accelerator: number, copies: number = this.copies): number {
    let copy = this.tensorNewestCopy[tensor] as number;
    while (copy !== -1 && (this.copyAccelerator[copy] !== accelerator || copy >= copies))
      copy = this.copyNext[copy] as number;
    return copy;
  }

  addOperator(accelerator: number, durationNs: number, rank: number, issueNumber: number, workspace: number): number {
    const operator = this.operators++;
    if (this.operatorAccelerator.length <= operator) this.#growOperators();
    this.operatorAccelerator[operator] = accelerator;
    this.operatorDurationNs[operator] = durationNs;
    this.operatorRank[operator] = rank;
    this.operatorIssueNumber[operator] = issueNumber;
    this.operatorWorkspaceBytes[operator] = workspace;
    this.operatorReadySinceNs[operator] = Number.NaN;
    this.operatorRemainingNs[operator] = 0;
    this.operatorFirstInput[operator] = -1;
    this.operatorLastInput[operator] = -1;
    this.operatorFirstOutput[operator] = -1;
    this.operatorLastOutput[operator] = -1;
    return operator;
  }

  addInput(operator: number, tensor: number, source: number): void {
    const input = this.inputs++;
    if (this.inputTensor.length <= input) this.#growInputs();
    this.inputTensor[input] = tensor;
    this.inputSource[input] = source;
    this.inputNext[input] = -1;
    const last = this.operatorLastInput[operator] as number;
    if (last === -1) this.operatorFirstInput[operator] = input;
    else this.inputNext[last] = input;
    this.operatorLastInput[operator] = input;
  }

  /** The tensor's first copy is its home. */
  addTensor(bytes: number): number {
    const tensor = this.tensors++;
    if (this.tensorBytes.length <= tensor) {
      this.tensorBytes = grown(this.tensorBytes, tensor + 1);
      this.tensorHome = grown(this.tensorHome, tensor + 1);
      this.tensorNewestCopy = grown(this.tensorNewestCopy, tensor + 1);
    }
    this.tensorBytes[tensor] = bytes;
    this.tensorHome[tensor] = -1;
    this.tensorNewestCopy[tensor] = -1;
    return tensor;
  }

  addCopy(tensor: number, accelerator: number, kind: number, held: boolean, bytes: number, aliases: number): number {
    const copy = this.copies++;
    if (this.copyTensor.length <= copy) this.#growCopies();
    this.copyTensor[copy] = tensor;
    this.copyAccelerator[copy] = accelerator;
    this.copyKind[copy] = kind;
    this.copyHeld[copy] = held ? 1 : 0;
    this.copyBytes[copy] = bytes;
    this.copyAliases[copy] = aliases;
    this.copyNext[copy] = this.tensorNewestCopy[tensor] as number;
    this.copyNextOutput[copy] = -1;
    this.copySource[copy] = -1;
    this.copyRank[copy] = 0;
    this.copyRemainingNs[copy] = 0;
    this.copyRaisedNs[copy] = Number.NaN;
    this.tensorNewestCopy[tensor] = copy;
    if (this.tensorHome[tensor] === -1) this.tensorHome[tensor] = copy;
    return copy;
  }

  appendOutput(operator: number, copy: number): void {
    const last = this.operatorLastOutput[operator] as number;
    if (last === -1) this.operatorFirstOutput[operator] = copy;
    else this.copyNextOutput[last] = copy;
    this.operatorLastOutput[operator] = copy;
  }

  /** An EXPECTED copy that no declared transfer brings yet. */
  addTransfer(copy: number, source: number, rank: number): void {
    const transfer = this.transfers++;
    this.transferCopy = grown(this.transferCopy, this.transfers);
    this.transferCopy[transfer] = copy;
    this.copySource[copy] = source;
    this.copyRank[copy] = rank;
  }

  mark(): Mark {
    const { operators, inputs, tensors, copies, transfers } = this;
    return { operators, inputs, tensors, copies, transfers };
  }

  /** Drops everything declared since. */
  truncate({ operators, inputs, tensors, copies, transfers }: Mark): void {
    while (this.copies > copies) {
      const copy = --this.copies;
      this.tensorNewestCopy[this.copyTensor[copy] as number] = this.copyNext[copy] as number;
    }
    this.operators = operators;
    this.inputs = inputs;
    this.tensors = tensors;
    this.transfers = transfers;
    this.swapHolds();
    this.changedHolds = 0;
  }

  /** Notes what a hold was before it is changed for the first time. */
  noteHold(copy: number): void {
    for (let at = 0; at < this.changedHolds; at++) if (this.changedCopy[at] === copy) return;
    const at = this.changedHolds++;
    this.changedCopy = grown(this.changedCopy, this.changedHolds);
    this.changedHeld = grown(this.changedHeld, this.changedHolds);
    this.changedCopy[at] = copy;
    this.changedHeld[at] = this.copyHeld[copy] as number;
  }

  /** Holds as they were before they were noted, or, called again, as they were changed to. */
  swapHolds(): void {
    for (let at = 0; at < this.changedHolds; at++) {
      const copy = this.changedCopy[at] as number;
      const held = this.copyHeld[copy] as number;
      this.copyHeld[copy] = this.changedHeld[at] as number;
      this.changedHeld[at] = held;
    }
  }

  #growOperators(): void {
    const needed = this.operators;
    this.operatorAccelerator = grown(this.operatorAccelerator, needed);
    this.operatorDurationNs = grown(this.operatorDurationNs, needed);
    this.operatorRank = grown(this.operatorRank, needed);
    this.operatorIssueNumber = grown(this.operatorIssueNumber, needed);
    this.operatorWorkspaceBytes = grown(this.operatorWorkspaceBytes, needed);
    this.operatorReadySinceNs = grown(this.operatorReadySinceNs, needed);
    this.operatorRemainingNs = grown(this.operatorRemainingNs, needed);
    this.operatorFirstInput = grown(this.operatorFirstInput, needed);
    this.operatorLastInput = grown(this.operatorLastInput, needed);
    this.operatorFirstOutput = grown(this.operatorFirstOutput, needed);
    this.operatorLastOutput = grown(this.operatorLastOutput, needed);
  }

  #growInputs(): void {
    this.inputTensor = grown(this.inputTensor, this.inputs);
    this.inputSource = grown(this.inputSource, this.inputs);
    this.inputNext = grown(this.inputNext, this.inputs);
  }

  #growCopies(): void {
    const needed = this.copies;
    this.copyTensor = grown(this.copyTensor, needed);
    this.copyAccelerator = grown(this.copyAccelerator, needed);
    this.copyKind = grown(this.copyKind, needed);
    this.copyHeld = grown(this.copyHeld, needed);
    this.copyBytes = grown(this.copyBytes, needed);
    this.copyAliases = grown(this.copyAliases, needed);
    this.copyNext = grown(this.copyNext, needed);
    this.copyNextOutput = grown(this.copyNextOutput, needed);
    this.copySource = grown(this.copySource, needed);
    this.copyRank = grown(this.copyRank, needed);
    this.copyRemainingNs = grown(this.copyRemainingNs, needed);
    this.copyRaisedNs = grown(this.copyRaisedNs, needed);
  }
}
