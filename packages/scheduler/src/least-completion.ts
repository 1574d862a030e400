import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  OperatorNode,
  TensorNode,
} from "@slicescheduler/gmg";
import { type DurationModel, isInBase, remainingNs } from "./reconstruction.ts";

/**
 * The least that a candidate's score can be, without simulating it: each operator of the batch waits for those before it in the batch and
 * for the results it reads, and on its accelerator for what runs and for what is ready and goes first. On an accelerator where nothing else comes
 * between it is the score itself. By the same durations and the same arithmetic as the simulation, so that it never is a rounding error above.
 */
export class LeastCompletion {
  readonly #graph: GlobalMappingGraph;
  readonly #durations: DurationModel;
  readonly #issuedOn: OperatorNode[][];
  /** What is ahead of the batch on an accelerator, in ns from now; −1 where it was not worked out. */
  readonly #aheadNs: Float64Array;
  #batch: readonly OperatorNode[] = [];
  readonly #placeOf = new Map<OperatorNode, number>();
  /** By place in the batch: when an operator can be done, in ns from now. */
  readonly #doneNs: number[] = [];
  #nowNs = 0;
  #rank = 0;

  constructor(graph: GlobalMappingGraph, durations: DurationModel) {
    this.#graph = graph;
    this.#durations = durations;
    this.#issuedOn = graph.cluster.accelerators.map(() => []);
    this.#aheadNs = new Float64Array(graph.cluster.accelerators.length);
  }

  /**
   * A batch that is to be laid. Linear in accelerators and issued operators.
   * @param rankMax Of the simulation: less urgent operators are left out of it unless they run.
   */
  begin(nowNs: number, batch: readonly OperatorNode[], rankMax: number): void {
    this.#nowNs = nowNs;
    this.#batch = batch;
    this.#rank = batch.reduce((least, { rank }) => Math.min(least, rank), rankMax);
    this.#placeOf.clear();
    for (const [place, operator] of batch.entries()) this.#placeOf.set(operator, place);
    this.#aheadNs.fill(-1);
    for (const issued of this.#issuedOn) issued.length = 0;
    for (const operator of this.#graph.issuedOperators()) {
      if (isInBase(operator, this.#rank)) this.#issuedOn[operator.accelerator]?.push(operator);
    }
  }

  /** In ns of the run's time. Linear in the batch and its inputs, and once per accelerator in what is issued there. */
  on({ acceleratorOf }: CompiledPartition): number {
    const batch = this.#batch;
    let sumNs = 0;
    for (let place = 0; place < batch.length; place++) {
      const operator = batch[place] as OperatorNode;
      const accelerator = acceleratorOf[operator.index] as number;
      let startNs = this.#ahead(accelerator);
      for (const tensor of operator.inputs)
        startNs = Math.max(startNs, this.#arrivesNs(tensor, accelerator, acceleratorOf));
      const doneNs = startNs + this.#durations.operatorNs(operator, accelerator);
      this.#doneNs[place] = doneNs;
      sumNs += doneNs;
    }
    return this.#nowNs + sumNs / batch.length;
  }

  #arrivesNs(tensor: TensorNode, accelerator: AcceleratorIndex, acceleratorOf: readonly AcceleratorIndex[]): number {
    const { producer, bytes, copies, transfers } = tensor;
    const place = this.#placeOf.get(producer);
    if (place !== undefined) {
      const from = acceleratorOf[producer.index] as number;
      const doneNs = this.#doneNs[place] as number;
      return from === accelerator ? doneNs : doneNs + this.#durations.transferNs(from, accelerator, bytes);
    }
    // What is there, or already on its way to anywhere, may be there at once.
    if (transfers.length > 0 || copies.some((copy) => copy.accelerator === accelerator)) return 0;
    let leastNs = Number.POSITIVE_INFINITY;
    for (const { accelerator: from } of copies)
      leastNs = Math.min(leastNs, this.#durations.transferNs(from, accelerator, bytes));
    return leastNs === Number.POSITIVE_INFINITY ? 0 : leastNs;
  }

  /** What runs, and what is ready: of its class or a more urgent one, and has been for as long as anything of the batch can be, or longer. */
  #ahead(accelerator: AcceleratorIndex): number {
    const known = this.#aheadNs[accelerator] as number;
    if (known >= 0) return known;
    let aheadNs = 0;
    for (const operator of this.#issuedOn[accelerator] ?? []) {
      const { startedNs, missingInputs, inputs } = operator;
      if (startedNs < 0 && missingInputs > 0) continue;
      if (!inputs.every(({ id }) => this.#graph.ledger.isPresent(id, accelerator))) continue;
      const durationNs = this.#durations.operatorNs(operator, accelerator);
      aheadNs += startedNs < 0 ? durationNs : remainingNs(startedNs + durationNs - this.#nowNs);
    }
    this.#aheadNs[accelerator] = aheadNs;
    return aheadNs;
  }
}
