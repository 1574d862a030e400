import { grown } from "../arrays.ts";
import { SimulatorError } from "../errors.ts";
import type { AcceleratorState, SimOperator, SimTensor, SimulatorOptions } from "../types.ts";
import * as calls from "./calls.ts";
import { TransferTable } from "./transfer-table.ts";

/**
 * One state and the candidates over it, written down as numbers: `begin`, the calls that declare the base, then for each candidate
 * `candidate()` and the calls that add to it. Calls are those of `Simulator`, with the same handles; they are checked when the
 * round is evaluated, where what is wrong with a candidate is told in its place. Every call costs O(1) amortised.
 *
 * `transferNs` is asked here, on the caller's thread, for each input that may need a transfer, and once for equal ones; what it
 * throws leaves the call undone. A round may be written anew while what was written before is being evaluated.
 */
export class Round {
  readonly #options: Pick<SimulatorOptions, "topology" | "transferNs">;
  readonly #transfers = new TransferTable();
  #words = new Float64Array(1024);
  #used = 0;
  #starts = new Float64Array(16);
  #candidates = -1;

  // What the questions to `transferNs` need; handles of a candidate begin where the base ends.
  #operators = 0;
  #operatorAccelerator = new Float64Array(64);
  #tensors = 0;
  #tensorHome = new Float64Array(64);
  #tensorBytes = new Float64Array(64);
  #baseOperators = 0;
  #baseTensors = 0;

  constructor(options: Pick<SimulatorOptions, "topology" | "transferNs">) {
    this.#options = options;
  }

  /** Candidates begun so far. */
  get candidates(): number {
    return Math.max(0, this.#candidates);
  }

  /** Forgets everything and starts anew at `nowNs`, with one state per accelerator of the topology. */
  begin(nowNs: number, accelerators: readonly AcceleratorState[]): void {
    this.#transfers.clear();
    this.#used = this.#operators = this.#tensors = 0;
    this.#baseOperators = this.#baseTensors = this.#candidates = 0;
    const { length } = accelerators;
    this.#words = grown(this.#words, 3 + 3 * length);
    this.#write3(calls.BEGIN, nowNs, length);
    for (const { capacityBytes, fixedBytes, granularityBytes = 1 } of accelerators) {
      this.#write3(capacityBytes, fixedBytes, granularityBytes);
    }
  }

  /** What is added from now on belongs to a further candidate, whose index is returned. */
  candidate(): number {
    this.#reserve(0);
    if (this.#candidates === 0) {
      this.#baseOperators = this.#operators;
      this.#baseTensors = this.#tensors;
    }
    this.#operators = this.#baseOperators;
    this.#tensors = this.#baseTensors;
    this.#starts = grown(this.#starts, this.#candidates + 1);
    this.#starts[this.#candidates] = this.#used;
    return this.#candidates++;
  }

  /** As `Simulator.addTensor`. */
  addTensor(accelerator: number, bytes: number, held: boolean, aliases: SimTensor | -1 = -1): SimTensor {
    this.#reserve(5);
    this.#write3(calls.ADD_TENSOR, accelerator, bytes);
    this.#write2(held ? 1 : 0, aliases);
    return this.#newTensor(accelerator, bytes);
  }

  /** As `Simulator.addCopy`. */
  addCopy(tensor: SimTensor, accelerator: number, held: boolean, aliases: SimTensor | -1 = -1): void {
    this.#reserve(5);
    this.#write3(calls.ADD_COPY, tensor, accelerator);
    this.#write2(held ? 1 : 0, aliases);
  }

  /** As `Simulator.addOperator`. */
  addOperator(
    accelerator: number,
    durationNs: number,
    rank: number,
    issueNumber: number,
    workspaceBytes: number,
  ): SimOperator {
    this.#reserve(6);
    this.#write3(calls.ADD_OPERATOR, accelerator, durationNs);
    this.#write3(rank, issueNumber, workspaceBytes);
    this.#operatorAccelerator = grown(this.#operatorAccelerator, this.#operators + 1);
    this.#operatorAccelerator[this.#operators] = accelerator;
    return this.#operators++ as SimOperator;
  }

  /** As `Simulator.addInput`. */
  addInput(operator: SimOperator, tensor: SimTensor, source = -1): void {
    this.#reserve(4);
    if (operator >= 0 && operator < this.#operators && tensor >= 0 && tensor < this.#tensors) {
      const from = source === -1 ? (this.#tensorHome[tensor] as number) : source;
      this.#ask(from, this.#operatorAccelerator[operator] as number, this.#tensorBytes[tensor] as number);
    }
    this.#write2(calls.ADD_INPUT, operator);
    this.#write2(tensor, source);
  }

  /** As `Simulator.addOutput`. */
  addOutput(operator: SimOperator, bytes: number, held: boolean, aliases: SimTensor | -1 = -1): SimTensor {
    this.#reserve(5);
    this.#write3(calls.ADD_OUTPUT, operator, bytes);
    this.#write2(held ? 1 : 0, aliases);
    return this.#newTensor(this.#operatorAccelerator[operator] ?? -1, bytes);
  }

  /** As `Simulator.setRunning`. */
  setRunning(operator: SimOperator, remainingNs: number): void {
    this.#reserve(3);
    this.#write3(calls.SET_RUNNING, operator, remainingNs);
  }

  /** As `Simulator.setReadySince`. */
  setReadySince(operator: SimOperator, sinceNs: number): void {
    this.#reserve(3);
    this.#write3(calls.SET_READY_SINCE, operator, sinceNs);
  }

  /** As `Simulator.addTransfer`. */
  addTransfer(tensor: SimTensor, source: number, destination: number, rank: number): void {
    this.#reserve(5);
    if (tensor >= 0 && tensor < this.#tensors) this.#ask(source, destination, this.#tensorBytes[tensor] as number);
    this.#write3(calls.ADD_TRANSFER, tensor, source);
    this.#write2(destination, rank);
  }

  /** As `Simulator.setTransferring`. */
  setTransferring(tensor: SimTensor, source: number, destination: number, remainingNs: number): void {
    this.#reserve(5);
    this.#write3(calls.SET_TRANSFERRING, tensor, source);
    this.#write2(destination, remainingNs);
  }

  /** As `Simulator.setIntentSince`. */
  setIntentSince(tensor: SimTensor, destination: number, sinceNs: number): void {
    this.#reserve(4);
    this.#write2(calls.SET_INTENT_SINCE, tensor);
    this.#write2(destination, sinceNs);
  }

  /** As `Simulator.setHeld`. */
  setHeld(tensor: SimTensor, accelerator: number, held: boolean): void {
    this.#reserve(4);
    this.#write2(calls.SET_HELD, tensor);
    this.#write2(accelerator, held ? 1 : 0);
  }

  /** What was written: views that the next call may change. Throws NOT_BEGUN. */
  written(): WrittenRound {
    this.#reserve(0);
    return {
      words: this.#words.subarray(0, this.#used),
      starts: this.#starts.subarray(0, this.#candidates),
      transfers: this.#transfers.table,
    };
  }

  #newTensor(home: number, bytes: number): SimTensor {
    this.#tensorHome = grown(this.#tensorHome, this.#tensors + 1);
    this.#tensorBytes = grown(this.#tensorBytes, this.#tensors + 1);
    this.#tensorHome[this.#tensors] = home;
    this.#tensorBytes[this.#tensors] = bytes;
    return this.#tensors++ as SimTensor;
  }

  /** What is no transfer is not asked for; it shows when the round is evaluated. */
  #ask(source: number, destination: number, bytes: number): void {
    if (source === destination) return;
    const { topology, transferNs } = this.#options;
    const { accelerators } = topology;
    if (!isIndex(source, accelerators) || !isIndex(destination, accelerators) || !Number.isSafeInteger(bytes)) return;
    const pair = source * accelerators + destination;
    if (this.#transfers.has(pair, bytes) || topology.route(source, destination) === undefined) return;
    this.#transfers.add(pair, bytes, transferNs(source, destination, bytes));
  }

  #reserve(words: number): void {
    if (this.#candidates === -1) throw new SimulatorError("NOT_BEGUN", "nothing is declared yet; call begin() first");
    if (this.#words.length < this.#used + words) this.#words = grown(this.#words, this.#used + words);
  }

  #write2(first: number, second: number): void {
    this.#words[this.#used++] = first;
    this.#words[this.#used++] = second;
  }

  #write3(first: number, second: number, third: number): void {
    this.#write2(first, second);
    this.#words[this.#used++] = third;
  }
}

/** A round in the form of calls.ts. */
export interface WrittenRound {
  readonly words: Float64Array;
  /** By candidate: its first word. */
  readonly starts: Float64Array;
  /** For `lookUpNs`. */
  readonly transfers: Float64Array;
}

function isIndex(value: number, count: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < count;
}
