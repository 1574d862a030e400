import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  OperatorNode,
  TensorNode,
} from "@slicescheduler/gmg";
import type { AcceleratorState, SimOperator, SimTensor, Simulator } from "@slicescheduler/simulator";
import type { Predictor } from "./predictor.ts";

export interface ReconstructionOptions {
  /**
   * "unbounded" where claims prove that memory suffices (`memorySafety: "guaranteed"`). "exact" bounds accelerators by their
   * capacity, and counts all that the ledger has in use now: what is no tensor of the simulation stays throughout. Default "unbounded".
   */
  readonly memory?: "unbounded" | "exact";
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
 * Rebuilds in the simulator what executors have at this moment (paper §3.3.2): issued operators with their predicted
 * durations, the running ones with what is left of them, present tensors, transfers on their way. Linear in the issued operators
 * and what they read.
 */
export class Reconstruction {
  readonly #graph: GlobalMappingGraph;
  readonly #predictor: Predictor;
  readonly #simulator: Simulator;
  readonly #memory: "unbounded" | "exact";
  readonly #tensors = new Map<TensorNode, SimTensor>();
  /** By handle, those of the base and then those laid over it. */
  readonly #operators: OperatorNode[] = [];
  #baseOperators = 0;
  /** What is being laid: operators that will be issued, whichever candidate is chosen. */
  #batch: ReadonlySet<OperatorNode> = new Set();
  readonly #overlay: TensorNode[] = [];
  #nowNs = 0;

  constructor(
    graph: GlobalMappingGraph,
    predictor: Predictor,
    simulator: Simulator,
    options: ReconstructionOptions = {},
  ) {
    this.#memory = options.memory ?? "unbounded";
    this.#graph = graph;
    this.#predictor = predictor;
    this.#simulator = simulator;
  }

  /**
   * The base that the candidates of a round share. `inputsOf` are the operators that will be laid over it.
   * @param rankMax Of what has not started, less urgent classes are left out.
   */
  begin(nowNs: number, inputsOf: readonly OperatorNode[], rankMax = Number.POSITIVE_INFINITY): void {
    this.#nowNs = nowNs;
    this.#tensors.clear();
    this.#overlay.length = 0;
    this.#operators.length = 0;
    this.#batch = new Set(inputsOf);
    this.#simulator.begin(nowNs, this.#accelerators());
    for (const operator of this.#graph.issuedOperators()) {
      // One that is taken back never starts, and what it reads may never be.
      if ((operator.state !== "issued" || operator.recalled) && operator.startedNs < 0) continue;
      if (operator.instance.request.rank > rankMax && operator.startedNs < 0) continue;
      const added = this.#add(operator, operator.accelerator, operator.issueNumber);
      if (operator.startedNs >= 0) {
        const leftNs = operator.startedNs + this.#predictor.operatorNs(operator, operator.accelerator) - nowNs;
        this.#simulator.setRunning(added, remainingNs(leftNs));
      } else if (operator.missingInputs === 0) this.#simulator.setReadySince(added, operator.readyNs);
    }
    for (const operator of inputsOf) {
      for (const tensor of operator.inputs) if (!this.#batch.has(tensor.producer)) this.#tensor(tensor);
    }
    this.#simulator.mark();
    this.#baseOperators = this.#operators.length;
  }

  /** What was added, by handle. */
  operators(): IterableIterator<[SimOperator, OperatorNode]> {
    return this.#operators.entries() as IterableIterator<[SimOperator, OperatorNode]>;
  }

  #accelerators(): AcceleratorState[] {
    const { cluster, ledger } = this.#graph;
    return cluster.accelerators.map(({ index, capacityBytes, granularityBytes }) =>
      this.#memory === "exact"
        ? {
            capacityBytes,
            granularityBytes,
            fixedBytes: ledger.fixedBytes(index),
            usedBytes: ledger.usedBytes(index),
          }
        : { capacityBytes: Number.MAX_SAFE_INTEGER, granularityBytes, fixedBytes: 0 },
    );
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
    for (const operator of batch) {
      this.#add(operator, partition.acceleratorOf[operator.index] as number, issueNumber++);
      this.#overlay.push(...operator.outputs);
    }
  }

  #add(operator: OperatorNode, accelerator: number, issueNumber: number): SimOperator {
    const { instance, index } = operator;
    const added = this.#simulator.addOperator(
      accelerator,
      this.#predictor.operatorNs(operator, accelerator),
      instance.request.rank,
      issueNumber,
      instance.binding.workspaceBytes(index),
    );
    this.#operators[added] = operator;
    for (const tensor of operator.inputs) {
      const transfer = tensor.transfers.find(({ destination }) => destination === accelerator);
      this.#simulator.addInput(added, this.#tensor(tensor), transfer?.source);
    }
    for (const tensor of operator.outputs) {
      const continued = tensor.aliases === null ? undefined : this.#tensors.get(tensor.aliases);
      this.#tensors.set(tensor, this.#simulator.addOutput(added, tensor.bytes, this.#isHeld(tensor), continued ?? -1));
    }
    return added;
  }

  /** A tensor of an earlier operator of the base, or one that is present somewhere already. */
  #tensor(tensor: TensorNode): SimTensor {
    const known = this.#tensors.get(tensor);
    if (known !== undefined) return known;
    const { ledger } = this.#graph;
    let added: SimTensor | undefined;
    for (const copy of tensor.copies) {
      if (!ledger.isPresent(tensor.id, copy.accelerator)) continue;
      const held = copy.held && this.#isHeld(tensor);
      if (added === undefined) added = this.#simulator.addTensor(copy.accelerator, tensor.bytes, held);
      else this.#simulator.addCopy(added, copy.accelerator, held);
    }
    if (added === undefined) throw new RangeError(`tensor ${tensor.id} is read and is neither present nor produced`);
    this.#tensors.set(tensor, added);
    for (const transfer of tensor.transfers) {
      if (transfer.state !== "receiving" && transfer.state !== "sending") continue;
      const totalNs = this.#predictor.transferNs(transfer.source, transfer.destination, tensor.bytes);
      const sinceNs = transfer.sendingNs < 0 ? 0 : this.#nowNs - transfer.sendingNs;
      this.#simulator.setTransferring(added, transfer.source, transfer.destination, remainingNs(totalNs - sinceNs));
    }
    return added;
  }

  /** Once the batch is issued: by the application, or for operators that are still to be issued. */
  #isHeld(tensor: TensorNode): boolean {
    if (tensor.retained) return true;
    for (const consumer of tensor.consumers) {
      if (consumer.recalled || (consumer.state === "unscheduled" && !this.#batch.has(consumer))) return true;
    }
    return false;
  }
}

/** What is overdue is expected to take as long again as it is overdue, so that a straggler is not awaited at every instant. */
function remainingNs(leftNs: number): number {
  return Math.max(1, Math.abs(leftNs));
}
