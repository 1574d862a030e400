import { IntentQueue } from "@slicescheduler/arbitration";
import { grown } from "./arrays.ts";
import { HELD, NEED_ALL, Nodes, PLACE, SHARED } from "./nodes.ts";
import type { Problem } from "./problem.ts";
import type { AcceleratorState, SimulatorOptions } from "./types.ts";

// Arrays whose elements an overlay may change.
const NODES = 0;
const EDGES = 1;
const PLANNED_COPY = 2;

/**
 * A problem made ready to run: nodes with every duration, every buffer and every successor resolved, and what the accelerators
 * hold at begin. `plan` fills it; runs leave it as they found it. What is not in the records of the nodes is read seldom.
 */
export class Planned {
  readonly options: SimulatorOptions;
  readonly problem: Problem;
  readonly nodes = new Nodes();
  /** Pending intents and the ports taken: the same code as the arbiter's. */
  readonly intents: IntentQueue;

  beginNs = 0;
  readonly accelerators: number;
  readonly capacityBytes: Float64Array;
  readonly fixedBytes: Float64Array;
  readonly granularityBytes: Float64Array;
  /** In use at begin: fixed, present and needed, outputs and workspace of what runs, receive buffers. */
  initialBytes: Float64Array;

  /** How much of the problem is planned: handles below these. */
  operators = 0;
  tensors = 0;
  copies = 0;
  /** Grows with each operator planned. */
  uses = 0;

  /** First accelerator that holds more at begin than it has, −1 = none. */
  overfull = -1;
  /** Operators that count for the score. */
  targets = 0;

  /** Handles in the order of issue numbers. */
  order = new Int32Array(0);
  /** The highest. */
  lastIssueNumber = -1;
  /** By handle. */
  operatorNode = new Int32Array(0);
  /** Ranks too large for the records. */
  manyRanks = false as boolean;

  // By node.
  /** Handle, −1 for what is no operator. */
  operatorOf = new Int32Array(0);
  /** Of its own copy, −1 = none. */
  tensorOf = new Int32Array(0);
  rank = new Float64Array(0);
  /** Of further outputs: the operator. −1 for all others. */
  producer = new Int32Array(0);
  /** Stamp of the operator that was last to name its own copy as an input. */
  lastUser = new Int32Array(0);
  /** Next older transfer planned of the same tensor. */
  olderPlanned = new Int32Array(0);
  /** The copy whose buffer its own copy continues, −1 = none. */
  aliasOf = new Int32Array(0);
  /** Where its own copy lives, if SHARED. */
  bufferOf = new Int32Array(0);

  /** By declared copy; −1 = nothing brings it. */
  copyNode = new Int32Array(0);
  /** By tensor: the newest transfer planned to where no copy was declared. */
  newestPlanned = new Int32Array(0);
  /** Nodes of transfers by transfer number. */
  transfers = 0;
  transferNode = new Int32Array(0);

  /** Buffers that several copies share. At begin: bytes, and copies that need it. */
  buffers = 0;
  bufferBytes = new Float64Array(0);
  bufferCopies = new Int32Array(0);

  /** Operators that are ready at begin, least (since when, node) first. */
  ready = 0;
  readyNode = new Int32Array(0);
  readyNs = new Float64Array(0);
  /** What runs and moves at begin. */
  underway = 0;
  underwayNode = new Int32Array(0);
  /** By accelerator: the plan in which an operator runs there at begin. */
  readonly runningIn: Int32Array;
  plans = 0;
  /** Transfers that are intents at begin. */
  raised = 0;
  raisedNode = new Int32Array(0);
  raisedNs = new Float64Array(0);

  /** While an overlay is planned: nodes below are the base's, and changes to them are logged as (array, index, value). */
  baseNodes = 0;
  baseOperators = 0;
  baseTensors = 0;
  baseCopies = 0;
  baseEdges = 0;
  baseTransfers = 0;
  baseBuffers = 0;
  /** Nodes of the base whose own copy the overlay holds, or holds no longer. */
  changedHolds = 0;
  changedNode = new Int32Array(0);
  baseReady = 0;
  baseRaised = 0;
  /** `initialBytes` of the base. */
  readonly baseBytes: Float64Array;
  readonly #changes: number[] = [];

  /** @param like Another plan of the same problem, whose accelerators it shares. */
  constructor(options: SimulatorOptions, problem: Problem, like?: Planned) {
    this.options = options;
    this.problem = problem;
    this.intents = new IntentQueue(options.topology, options);
    this.accelerators = options.topology.accelerators;
    this.capacityBytes = like?.capacityBytes ?? new Float64Array(this.accelerators);
    this.fixedBytes = like?.fixedBytes ?? new Float64Array(this.accelerators);
    this.granularityBytes = like?.granularityBytes ?? new Float64Array(this.accelerators);
    this.runningIn = new Int32Array(this.accelerators);
    this.baseBytes = new Float64Array(this.accelerators);
    this.initialBytes = new Float64Array(this.accelerators);
  }

  begin(nowNs: number, accelerators: readonly AcceleratorState[]): void {
    this.beginNs = nowNs;
    for (let a = 0; a < accelerators.length; a++) {
      const state = accelerators[a] as AcceleratorState;
      this.capacityBytes[a] = state.capacityBytes;
      this.fixedBytes[a] = state.fixedBytes;
      this.granularityBytes[a] = state.granularityBytes ?? 1;
    }
  }

  /** Room for everything declared and for every transfer that it can need. */
  reserve(): void {
    const { operators, inputs, copies, tensors } = this.problem;
    const nodes = operators + copies + inputs;
    // Each input is a successor of a copy, and its transfer one of another; a list of one is turned into edges.
    this.nodes.reserve(nodes, 4 * inputs + 2 * copies);
    this.order = grown(this.order, operators);
    this.operatorNode = grown(this.operatorNode, operators);
    this.operatorOf = grown(this.operatorOf, nodes);
    this.tensorOf = grown(this.tensorOf, nodes);
    this.rank = grown(this.rank, nodes);
    this.producer = grown(this.producer, nodes);
    this.lastUser = grown(this.lastUser, nodes);
    this.olderPlanned = grown(this.olderPlanned, nodes);
    this.aliasOf = grown(this.aliasOf, nodes);
    this.bufferOf = grown(this.bufferOf, nodes);
    this.copyNode = grown(this.copyNode, copies);
    this.newestPlanned = grown(this.newestPlanned, tensors);
    this.transferNode = grown(this.transferNode, inputs + copies);
    this.bufferBytes = grown(this.bufferBytes, nodes);
    this.bufferCopies = grown(this.bufferCopies, nodes);
    this.readyNode = grown(this.readyNode, operators);
    this.readyNs = grown(this.readyNs, operators);
    this.underwayNode = grown(this.underwayNode, this.accelerators + copies);
    this.raisedNode = grown(this.raisedNode, inputs + copies);
    this.raisedNs = grown(this.raisedNs, inputs + copies);
  }

  addNode(place: number, operator: number, tensor: number): number {
    const node = this.nodes.add(place);
    this.operatorOf[node] = operator;
    this.tensorOf[node] = tensor;
    this.producer[node] = -1;
    this.lastUser[node] = -1;
    this.olderPlanned[node] = -1;
    this.aliasOf[node] = -1;
    this.bufferOf[node] = -1;
    return node;
  }

  /** The declared copy of a tensor on an accelerator, among those that are planned, or −1. */
  find(tensor: number, accelerator: number): number {
    return this.problem.find(tensor, accelerator, this.copies);
  }

  accelerator(node: number): number {
    return (this.nodes.i32[(node << 4) + PLACE] as number) & 0xffff;
  }

  /** Whether its own copy stays when everything declared has ended, or is waited for by something. */
  isNeeded(node: number): boolean {
    const { i32 } = this.nodes;
    const at = node << 4;
    return (i32[at + NEED_ALL] as number) > 0 || ((i32[at + PLACE] as number) & HELD) !== 0;
  }

  isShared(node: number): boolean {
    return ((this.nodes.i32[(node << 4) + PLACE] as number) & SHARED) !== 0;
  }

  /** Writes to a field of a node that may be the base's. */
  write(node: number, field: number, value: number): void {
    const at = (node << 4) + field;
    if (node < this.baseNodes) this.#changes.push(NODES, at, this.nodes.i32[at] as number);
    this.nodes.i32[at] = value;
  }

  /** Writes where an edge of the base may be. */
  writeEdge(edge: number, next: number): void {
    const at = 2 * edge + 1;
    if (this.baseNodes > 0) this.#changes.push(EDGES, at, this.nodes.edges[at] as number);
    this.nodes.edges[at] = next;
  }

  writeNewestPlanned(tensor: number, node: number): void {
    if (this.baseNodes > 0) this.#changes.push(PLANNED_COPY, tensor, this.newestPlanned[tensor] as number);
    this.newestPlanned[tensor] = node;
  }

  /** Takes back, from the newest to the oldest, what an overlay changed in the base. */
  undo(): void {
    const changes = this.#changes;
    const { i32, edges } = this.nodes;
    for (let at = changes.length - 3; at >= 0; at -= 3) {
      const array = changes[at];
      const index = changes[at + 1] as number;
      const value = changes[at + 2] as number;
      if (array === NODES) i32[index] = value;
      else if (array === EDGES) edges[index] = value;
      else this.newestPlanned[index] = value;
    }
    changes.length = 0;
  }

  forgetChanges(): void {
    this.#changes.length = 0;
  }
}
