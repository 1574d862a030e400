import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  OperatorNode,
  TensorNode,
  TransferNode,
} from "@slicescheduler/gmg";
import type { AcceleratorState, SimOperator, SimTensor, Simulator } from "@slicescheduler/simulator";
import { DeclaredBuffers } from "./declared-buffers.ts";

export interface ReconstructionOptions {
  /**
   * "unbounded" where claims prove that memory suffices (`memorySafety: "guaranteed"`): holds and buffers make no difference and are left out.
   * "exact" bounds accelerators by their capacity; all that the ledger has in use now is in use at begin. Default "unbounded".
   */
  readonly memory?: "unbounded" | "exact";
}

/** What a reconstruction asks for durations: whole nanoseconds, at least 1. A `Predictor` is one. */
export interface DurationModel {
  operatorNs(operator: OperatorNode, accelerator: AcceleratorIndex): number;
  transferNs(source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number): number;
}

/** Where a simulated candidate ran out of memory. */
export interface PredictedShortage {
  readonly accelerator: AcceleratorIndex;
  readonly atNs: number;
  readonly bytesOver: number;
  /** The operator that did not fit; null where a receive buffer did not, or what is there at begin. */
  readonly operator: OperatorNode | null;
}

/**
 * Rebuilds in a simulator what executors have at this moment (paper §3.3.2): issued operators with their durations, the running
 * ones with what is left of them, since when others are ready, present tensors, transfers with the time they have waited or moved. With exact
 * durations, and exact memory, the simulation ends as the executors will, to the nanosecond and to the byte, if nothing else is
 * issued. Linear in the issued operators and what they read, and in pending transfers.
 */
export class Reconstruction {
  readonly #graph: GlobalMappingGraph;
  readonly #durations: DurationModel;
  readonly #simulator: Simulator;
  /** Null where memory is unbounded. */
  readonly #buffers: DeclaredBuffers | null;
  readonly #tensors = new Map<TensorNode, SimTensor>();
  /** By handle, those of the base and then those laid over it; handles are consecutive. */
  readonly #operators: OperatorNode[] = [];
  #baseOperators = 0;
  readonly #transfers: TransferNode[] = [];
  /** What is being laid: operators that will be issued, whichever candidate is chosen. */
  #batch: ReadonlySet<OperatorNode> = new Set();
  /** Inputs of the batch whose holds end when it is issued. */
  readonly #released: TensorNode[] = [];
  readonly #overlay: TensorNode[] = [];
  readonly #unbounded: readonly AcceleratorState[];
  #nowNs = 0;

  constructor(
    graph: GlobalMappingGraph,
    durations: DurationModel,
    simulator: Simulator,
    { memory = "unbounded" }: ReconstructionOptions = {},
  ) {
    this.#graph = graph;
    this.#durations = durations;
    this.#simulator = simulator;
    const { accelerators } = graph.cluster;
    this.#unbounded = accelerators.map(({ granularityBytes }) => {
      return { capacityBytes: Number.MAX_SAFE_INTEGER, granularityBytes, fixedBytes: 0 };
    });
    this.#buffers = memory === "exact" ? new DeclaredBuffers(graph.ledger, simulator, accelerators.length) : null;
  }

  /** Operators in the simulation, by rising handle. */
  operators(): IterableIterator<[SimOperator, OperatorNode]> {
    return this.#operators.entries() as IterableIterator<[SimOperator, OperatorNode]>;
  }

  /** Transfers of the base, in the order in which the simulator numbers them, which is that of their own numbers. */
  get transfers(): readonly TransferNode[] {
    return this.#transfers;
  }

  /**
   * The base that the candidates of a round share.
   * @param inputsOf Operators that will be laid over it.
   * @param rankMax Less urgent operators are left out unless they run already, and transfers for them unless they are under way.
   * @param isHeld Accelerators apart from which all is left out. Default: all of them. Only where memory is unbounded.
   */
  begin(
    nowNs: number,
    inputsOf: readonly OperatorNode[],
    rankMax: number = Number.POSITIVE_INFINITY,
    isHeld?: (accelerator: AcceleratorIndex) => boolean,
  ): void {
    this.#nowNs = nowNs;
    this.#tensors.clear();
    this.#buffers?.clear();
    this.#overlay.length = this.#operators.length = this.#transfers.length = this.#released.length = 0;
    this.#batch = new Set(inputsOf);
    this.#simulator.begin(nowNs, this.#accelerators());
    for (const operator of this.#graph.issuedOperators()) {
      if (isHeld !== undefined && !isHeld(operator.accelerator)) continue;
      if (isInBase(operator, rankMax)) this.#addIssued(operator);
    }
    for (const transfer of this.#graph.transfers()) {
      if (isHeld !== undefined && !isHeld(transfer.source)) continue;
      if (hasEnd(transfer) && (isUnderWay(transfer) || transfer.rank <= rankMax)) this.#addTransfer(transfer);
    }
    this.#addInputsOfBatch(inputsOf);
    this.#buffers?.finish();
    this.#simulator.mark();
    this.#baseOperators = this.#operators.length;
  }

  /** Why the candidate that was run last does not fit; null where it does, or accelerators have no bound. */
  shortage(): PredictedShortage | null {
    const found = this.#simulator.outOfMemory();
    if (found === null) return null;
    const { accelerator, atNs, bytesOver, operator } = found;
    return { accelerator, atNs, bytesOver, operator: this.#operators[operator] ?? null };
  }

  /** Lays a batch over the base, in place of the one laid before. */
  lay(batch: readonly OperatorNode[], partition: CompiledPartition): void {
    this.#simulator.rewind();
    for (const tensor of this.#overlay) this.#tensors.delete(tensor);
    this.#overlay.length = 0;
    this.#operators.length = this.#baseOperators;
    let issueNumber = this.#graph.nextIssueNumber;
    for (const operator of batch) this.#addLaid(operator, partition.acceleratorOf, issueNumber++);
    for (const tensor of this.#released) {
      const declared = this.#tensors.get(tensor) as SimTensor;
      for (const { accelerator, held } of tensor.copies) {
        if (held && !isQuarantinedOn(tensor, accelerator)) this.#simulator.setHeld(declared, accelerator, false);
      }
    }
  }

  #accelerators(): readonly AcceleratorState[] {
    if (this.#buffers === null) return this.#unbounded;
    const { cluster, ledger } = this.#graph;
    return cluster.accelerators.map(({ index, capacityBytes, granularityBytes }) => {
      return { capacityBytes, granularityBytes, fixedBytes: ledger.fixedBytes(index) };
    });
  }

  #addIssued(operator: OperatorNode): void {
    const { accelerator, issueNumber, startedNs, readyNs, missingInputs } = operator;
    const inputs: SimTensor[] = [];
    for (const tensor of operator.inputs) {
      const declared = this.#declare(tensor);
      // What it waits for is left out, so it is too.
      if (declared === undefined) return;
      inputs.push(declared);
    }
    const durationNs = this.#durations.operatorNs(operator, accelerator);
    const added = this.#addOperator(operator, accelerator, durationNs, issueNumber);
    for (const input of inputs) this.#simulator.addInput(added, input);
    for (const tensor of operator.outputs) {
      const declared = this.#addOutput(added, tensor, isHeldOn(tensor, accelerator));
      this.#buffers?.add(tensor, accelerator, declared, this.#graph.cluster.roundBytes(accelerator, tensor.bytes));
    }
    if (startedNs >= 0) {
      this.#simulator.setRunning(added, remainingNs(startedNs + durationNs - this.#nowNs));
      this.#buffers?.addWorkspace(operator);
    } else if (missingInputs === 0) this.#simulator.setReadySince(added, readyNs);
  }

  #addLaid(operator: OperatorNode, acceleratorOf: readonly number[], issueNumber: number): void {
    const accelerator = acceleratorOf[operator.index] as number;
    const durationNs = this.#durations.operatorNs(operator, accelerator);
    const added = this.#addOperator(operator, accelerator, durationNs, issueNumber);
    for (const tensor of operator.inputs) {
      const declared = this.#tensors.get(tensor) as SimTensor;
      this.#simulator.addInput(added, declared);
      if (this.#buffers === null || !this.#isHeldAfterwards(tensor)) continue;
      // The copy that its transfer is to make starts held, like every other.
      const home = this.#batch.has(tensor.producer) ? acceleratorOf[tensor.producer.index] : -1;
      if (home !== accelerator && !tensor.copies.some((copy) => copy.accelerator === accelerator))
        this.#simulator.setHeld(declared, accelerator, true);
    }
    for (const tensor of operator.outputs) {
      this.#addOutput(added, tensor, this.#isHeldAfterwards(tensor));
      this.#overlay.push(tensor);
    }
  }

  #addOperator(operator: OperatorNode, accelerator: number, durationNs: number, issueNumber: number): SimOperator {
    const { instance, index, rank } = operator;
    const workspaceBytes = instance.binding.workspaceBytes(index);
    const added = this.#simulator.addOperator(accelerator, durationNs, rank, issueNumber, workspaceBytes);
    this.#operators.push(operator);
    return added;
  }

  #addOutput(operator: SimOperator, tensor: TensorNode, isHeld: boolean): SimTensor {
    const continued = this.#buffers === null || tensor.aliases === null ? -1 : this.#tensors.get(tensor.aliases);
    const added = this.#simulator.addOutput(operator, tensor.bytes, isHeld, continued ?? -1);
    this.#tensors.set(tensor, added);
    return added;
  }

  /** A tensor of an earlier operator of the base, or one that is present somewhere; undefined for any other. */
  #declare(tensor: TensorNode): SimTensor | undefined {
    const known = this.#tensors.get(tensor);
    if (known !== undefined) return known;
    let added: SimTensor | undefined;
    for (const { accelerator, held } of tensor.copies) {
      if (!this.#graph.ledger.isPresent(tensor.id, accelerator)) continue;
      const shared = this.#buffers?.sharedBy(tensor, accelerator) ?? -1;
      // Without a bound a hold frees nothing and saves the simulator looking who else needs the copy.
      const isHeld = held || this.#buffers === null || isQuarantinedOn(tensor, accelerator);
      if (added === undefined) added = this.#simulator.addTensor(accelerator, tensor.bytes, isHeld, shared);
      else this.#simulator.addCopy(added, accelerator, isHeld, shared);
      this.#buffers?.add(tensor, accelerator, added, this.#graph.cluster.roundBytes(accelerator, tensor.bytes));
    }
    if (added !== undefined) this.#tensors.set(tensor, added);
    return added;
  }

  #addTransfer(transfer: TransferNode): void {
    const { tensor, source, destination, rank, intendedNs, sendingNs } = transfer;
    const declared = this.#declare(tensor);
    // Nothing here makes what it is to move.
    if (declared === undefined || !this.#isAt(tensor, source)) return;
    this.#transfers.push(transfer);
    this.#simulator.addTransfer(declared, source, destination, rank);
    if (this.#buffers !== null) {
      this.#simulator.setHeld(declared, destination, isHeldOn(tensor, destination));
      this.#buffers.add(tensor, destination, declared, this.#graph.cluster.roundBytes(destination, tensor.bytes));
    }
    // An operator's end is heard after the intents of its results: to what is known here it still runs.
    if (transfer.state === "planned" || !this.#graph.ledger.isPresent(tensor.id, source)) return;
    if (intendedNs >= 0) this.#simulator.setIntentSince(declared, destination, intendedNs);
    if (!isUnderWay(transfer)) return;
    const durationNs = this.#durations.transferNs(source, destination, tensor.bytes);
    const movedNs = sendingNs < 0 ? 0 : this.#nowNs - sendingNs;
    this.#simulator.setTransferring(declared, source, destination, remainingNs(durationNs - movedNs));
  }

  /** Of a declared tensor: present, or an output of what was declared. */
  #isAt(tensor: TensorNode, accelerator: AcceleratorIndex): boolean {
    const { producer } = tensor;
    if (this.#graph.ledger.isPresent(tensor.id, accelerator)) return true;
    return producer.accelerator === accelerator && this.#graph.issued(producer.issueNumber) === producer;
  }

  #addInputsOfBatch(batch: readonly OperatorNode[]): void {
    const seen = new Set<TensorNode>();
    for (const { inputs } of batch) {
      for (const tensor of inputs) {
        if (this.#batch.has(tensor.producer) || seen.has(tensor)) continue;
        seen.add(tensor);
        if (this.#declare(tensor) === undefined)
          throw new RangeError(`tensor ${tensor.id} is read and is neither present nor produced`);
        if (this.#buffers !== null && !this.#isHeldAfterwards(tensor)) this.#released.push(tensor);
      }
    }
  }

  /** Once the batch is issued: by the application, or for operators that are still to be issued. */
  #isHeldAfterwards(tensor: TensorNode): boolean {
    if (tensor.retained) return true;
    for (const consumer of tensor.consumers) {
      if (consumer.recalled || (consumer.state === "unscheduled" && !this.#batch.has(consumer))) return true;
    }
    return false;
  }
}

/** Of an issued operator: it runs, or will start and is of one of the classes up to `rankMax`. */
export function isInBase(operator: OperatorNode, rankMax: number): boolean {
  return operator.startedNs >= 0 || (willStart(operator) && operator.rank <= rankMax);
}

/** One that is taken back never starts, and what it reads may never be. */
function willStart({ state, recalled }: OperatorNode): boolean {
  return state === "issued" && !recalled;
}

function isUnderWay({ state }: TransferNode): boolean {
  return state === "selected" || state === "receiving" || state === "sending";
}

/** One that is given up brings nothing; a quarantined one neither, and has no ports: what is left of it is memory. */
function hasEnd({ state }: TransferNode): boolean {
  return state !== "cancelling" && state !== "quarantined";
}

/** A quarantined transfer may read the copy still: it stays, whoever else needs it. */
function isQuarantinedOn({ transfers }: TensorNode, accelerator: AcceleratorIndex): boolean {
  return transfers.some(({ state, source }) => state === "quarantined" && source === accelerator);
}

function isHeldOn(tensor: TensorNode, accelerator: AcceleratorIndex): boolean {
  return tensor.copies.some((copy) => copy.accelerator === accelerator && copy.held);
}

/** What is overdue is expected to take as long again as it is overdue, so that a straggler is not awaited at every instant. */
export function remainingNs(leftNs: number): number {
  return Math.max(1, Math.abs(leftNs));
}
