import { IntentQueue } from "@slicescheduler/arbitration";
import { grown } from "./arrays.ts";
import type { Problem } from "./problem.ts";
import { EventHeap, ReadyQueues } from "./queues.ts";
import type { AcceleratorState, OutOfMemory, SimulatorOptions } from "./types.ts";

/**
 * Everything that changes while a simulation runs, apart from the declared problem. `plan` fills it from a problem, the
 * kernel advances it; arrays grow in `reserve` only.
 */
export class RunState {
  readonly options: SimulatorOptions;
  /** Pending intents and the ports taken: the same code as the arbiter's. */
  readonly intents: IntentQueue;
  readonly events = new EventHeap();
  readonly ready = new ReadyQueues();

  beginNs = 0;
  /** Of the event being processed. */
  nowNs = 0;
  /** Of the last event processed. */
  endNs = 0;
  operatorsDone = 0;
  outOfMemory: OutOfMemory | null = null;

  accelerators = 0;
  capacityBytes = new Float64Array(0);
  fixedBytes = new Float64Array(0);
  granularityBytes = new Float64Array(0);
  usedBytes = new Float64Array(0);
  peakBytes = new Float64Array(0);
  busyNs = new Float64Array(0);
  /** Place of the running operator, or −1. */
  running = new Int32Array(0);

  /** Operators are numbered by *place*, their order by issue number; the two maps between place and handle. */
  operators = 0;
  placeOf = new Int32Array(0);
  operatorAt = new Int32Array(0);
  /** By place, as are all fields of operators below. */
  accelerator = new Int32Array(0);
  missing = new Int32Array(0);
  startNs = new Float64Array(0);
  doneNs = new Float64Array(0);
  readyNs = new Float64Array(0);
  /** What is left of one that runs at begin, else its whole duration. */
  durationNs = new Float64Array(0);

  /** Per input edge: the copy on the operator's accelerator, −1 = the operator names that tensor twice. */
  inputCopy = new Int32Array(0);
  /** The operator's place. */
  inputPlace = new Int32Array(0);
  /** Next consumer of the same copy. */
  inputNextConsumer = new Int32Array(0);

  /** 1 once its bytes are written. */
  present = new Uint8Array(0);
  uses = new Int32Array(0);
  sends = new Int32Array(0);
  held = new Uint8Array(0);
  firstConsumer = new Int32Array(0);
  lastConsumer = new Int32Array(0);
  /** Transfers out of it, in the order of their numbers. */
  firstTransfer = new Int32Array(0);
  lastTransfer = new Int32Array(0);
  /** The transfer that brings it, or −1. */
  arrival = new Int32Array(0);
  /** Copy whose buffer it lives in; unset before it is allocated. */
  buffer = new Int32Array(0);
  /** By the copy that began the buffer. */
  bufferBytes = new Float64Array(0);
  bufferCopies = new Int32Array(0);

  transfers = 0;
  transferTensor = new Int32Array(0);
  transferSource = new Int32Array(0);
  transferDestination = new Int32Array(0);
  transferDurationNs = new Float64Array(0);
  transferRank = new Float64Array(0);
  /** NaN before it is an intent, selected, done. */
  transferRaisedNs = new Float64Array(0);
  transferStartNs = new Float64Array(0);
  transferDoneNs = new Float64Array(0);
  /** Next transfer out of the same copy. */
  transferNext = new Int32Array(0);

  /** Operators from this handle on are targets. */
  firstTarget = 0;
  targetsLeft = 0;
  /** Sum over the targets that ended, counted from begin. */
  targetsDoneNs = 0;

  /** Changes of the bytes in use, when asked for. */
  keepsTimeline = false as boolean;
  samples = 0;
  sampleNs = new Float64Array(0);
  sampleBytes = new Float64Array(0);
  sampleAccelerator = new Int32Array(0);

  constructor(options: SimulatorOptions) {
    this.options = options;
    this.intents = new IntentQueue(options.topology, options);
  }

  begin(nowNs: number, accelerators: readonly AcceleratorState[]): void {
    this.beginNs = nowNs;
    this.accelerators = accelerators.length;
    this.capacityBytes = Float64Array.from(accelerators, (it) => it.capacityBytes);
    this.fixedBytes = Float64Array.from(accelerators, (it) => it.fixedBytes);
    this.granularityBytes = Float64Array.from(accelerators, (it) => it.granularityBytes ?? 1);
    this.usedBytes = new Float64Array(accelerators.length);
    this.peakBytes = new Float64Array(accelerators.length);
    this.busyNs = new Float64Array(accelerators.length);
    this.running = new Int32Array(accelerators.length);
  }

  /** Room for the problem and every transfer it can plan. */
  reserve(problem: Problem, keepsTimeline: boolean): void {
    this.#reserveOperators(problem.operators);
    this.inputCopy = grown(this.inputCopy, problem.inputs);
    this.inputPlace = grown(this.inputPlace, problem.inputs);
    this.inputNextConsumer = grown(this.inputNextConsumer, problem.inputs);
    this.#reserveCopies(problem.copies + problem.inputs);
    const transfers = problem.inputs + problem.copies;
    this.#reserveTransfers(transfers);
    this.events.reserve(this.accelerators + transfers);
    this.keepsTimeline = keepsTimeline;
    if (keepsTimeline) {
      // A start and an end each change one accelerator, the end of a transfer two.
      const samples = this.accelerators + 2 * problem.operators + 3 * transfers;
      this.sampleNs = grown(this.sampleNs, samples);
      this.sampleBytes = grown(this.sampleBytes, samples);
      this.sampleAccelerator = grown(this.sampleAccelerator, samples);
    }
  }

  #reserveOperators(operators: number): void {
    this.placeOf = grown(this.placeOf, operators);
    this.operatorAt = grown(this.operatorAt, operators);
    this.accelerator = grown(this.accelerator, operators);
    this.missing = grown(this.missing, operators);
    this.startNs = grown(this.startNs, operators);
    this.doneNs = grown(this.doneNs, operators);
    this.readyNs = grown(this.readyNs, operators);
    this.durationNs = grown(this.durationNs, operators);
  }

  #reserveCopies(copies: number): void {
    this.present = grown(this.present, copies);
    this.uses = grown(this.uses, copies);
    this.sends = grown(this.sends, copies);
    this.held = grown(this.held, copies);
    this.firstConsumer = grown(this.firstConsumer, copies);
    this.lastConsumer = grown(this.lastConsumer, copies);
    this.firstTransfer = grown(this.firstTransfer, copies);
    this.lastTransfer = grown(this.lastTransfer, copies);
    this.arrival = grown(this.arrival, copies);
    this.buffer = grown(this.buffer, copies);
    this.bufferBytes = grown(this.bufferBytes, copies);
    this.bufferCopies = grown(this.bufferCopies, copies);
  }

  #reserveTransfers(transfers: number): void {
    this.transferTensor = grown(this.transferTensor, transfers);
    this.transferSource = grown(this.transferSource, transfers);
    this.transferDestination = grown(this.transferDestination, transfers);
    this.transferDurationNs = grown(this.transferDurationNs, transfers);
    this.transferRank = grown(this.transferRank, transfers);
    this.transferRaisedNs = grown(this.transferRaisedNs, transfers);
    this.transferStartNs = grown(this.transferStartNs, transfers);
    this.transferDoneNs = grown(this.transferDoneNs, transfers);
    this.transferNext = grown(this.transferNext, transfers);
  }
}
