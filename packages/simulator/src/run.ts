import { grown } from "./arrays.ts";
import { Events } from "./events.ts";
import type { Nodes } from "./nodes.ts";
import type { Planned } from "./planned.ts";
import { ReadyQueues } from "./ready.ts";
import { ReadyHeaps } from "./ready-heaps.ts";

// In `Run.clock`. A number that changes in a field of an object would be allocated anew at each change.
export const NOW = 0;
export const TARGETS_DONE = 1;
export const TURNS = 2;

/** What changes while a simulation runs, apart from the counters and times in the records of the nodes. */
export class Run {
  readonly planned: Planned;
  readonly nodes: Nodes;
  readonly events: Events;
  readonly ready: ReadyQueues;
  readonly heaps: ReadyHeaps;

  /**
   * At NOW: of the event being processed, or the last one that was. At TARGETS_DONE: sum over the targets that ended, counted
   * from begin. At TURNS: no pending intent's place in the order changes through time before (turns.ts).
   */
  readonly clock = new Float64Array(3);
  /** An intent's place in the order changed through time while it waited. */
  turned = false as boolean;
  /** By node: when it became an intent, unless it was selected at once. */
  sinceNs = new Float64Array(0);
  operatorsDone = 0;
  targets = 0;
  targetsLeft = 0;
  /** The only transfer that the event being processed has raised so far, while no intent is pending; −1 = none. */
  raisedAlone = -1;
  /** Accelerator of the first allocation that did not fit, −1 = all did; the node that wanted it, −1 = at begin. */
  failedAccelerator = -1;
  failedNode = -1;

  // By accelerator.
  readonly usedBytes: Float64Array;
  readonly peakBytes: Float64Array;
  /** Of the operators that started. */
  readonly busyNs: Float64Array;
  /** Node that runs, −1 = idle. */
  readonly running: Int32Array;

  /** By shared buffer, valid in the load that `bufferLoad` says. */
  bufferBytes = new Float64Array(0);
  bufferCopies = new Int32Array(0);
  bufferLoad = new Int32Array(0);
  load = 0;

  /** Changes of the bytes in use, when asked for. */
  keepsTimeline = false as boolean;
  samples = 0;
  sampleNs = new Float64Array(0);
  sampleBytes = new Float64Array(0);
  sampleAccelerator = new Int32Array(0);

  get nowNs(): number {
    return this.clock[NOW] as number;
  }

  constructor(planned: Planned) {
    const { nodes, accelerators } = planned;
    this.planned = planned;
    this.nodes = nodes;
    this.events = new Events(nodes);
    this.ready = new ReadyQueues(nodes, accelerators);
    this.heaps = new ReadyHeaps(nodes);
    this.usedBytes = new Float64Array(accelerators);
    this.peakBytes = new Float64Array(accelerators);
    this.busyNs = new Float64Array(accelerators);
    this.running = new Int32Array(accelerators);
  }

  /** Room for what is planned, an overlay too. */
  reserve(): void {
    const { buffers, accelerators, nodes, operators, transfers } = this.planned;
    this.sinceNs = grown(this.sinceNs, nodes.count);
    this.bufferBytes = grown(this.bufferBytes, buffers);
    this.bufferCopies = grown(this.bufferCopies, buffers);
    this.bufferLoad = grown(this.bufferLoad, buffers);
    if (!this.keepsTimeline) return;
    // A start and an end each change one accelerator, the end of a transfer two.
    const samples = accelerators + 2 * operators + 3 * transfers;
    this.sampleNs = grown(this.sampleNs, samples);
    this.sampleBytes = grown(this.sampleBytes, samples);
    this.sampleAccelerator = grown(this.sampleAccelerator, samples);
  }

  sample(accelerator: number): void {
    const at = this.samples++;
    this.sampleNs[at] = this.clock[NOW] as number;
    this.sampleBytes[at] = this.usedBytes[accelerator] as number;
    this.sampleAccelerator[at] = accelerator;
  }
}
