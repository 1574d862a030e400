import type {
  AcceleratorIndex,
  CompiledPartition,
  GlobalMappingGraph,
  OperatorNode,
  TensorNode,
} from "@slicescheduler/gmg";

/** How long a transfer takes at least; a `Predictor` tells. */
type TransferNs = (source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number) => number;

/** An input that moves, or may have to. */
interface Move {
  readonly source: AcceleratorIndex;
  readonly destination: AcceleratorIndex;
  readonly bytes: number;
}

/**
 * Accelerators that nothing issued connects, by a transfer or a link that transfers share, have nothing to do with each other: what is laid on some
 * ends when it would if the others did not exist. So a candidate is tried on its own part of the cluster.
 */
export class Parts {
  readonly #graph: GlobalMappingGraph;
  readonly #transferNs: TransferNs;
  /** Accelerators, then links: each belongs to the part of its parent. */
  readonly #parent: Int32Array;
  /** No transfer waits longer than all those of its part take together: below this none gets another turn by time alone. */
  readonly #turnNs: number;
  readonly #moves: Move[] = [];
  /** When the oldest intent became one. */
  #oldestIntentNs = Number.POSITIVE_INFINITY;

  /** @param turnNs A waiting transfer gets another turn by time alone no sooner than after this, and then events elsewhere decide when. */
  constructor(graph: GlobalMappingGraph, transferNs: TransferNs, turnNs: number) {
    this.#graph = graph;
    this.#transferNs = transferNs;
    this.#turnNs = turnNs;
    const { accelerators, linkCapacity } = graph.cluster;
    this.#parent = new Int32Array(accelerators.length + linkCapacity.length);
  }

  /** Of what is issued now. Linear in issued operators and their inputs, transfers, and accelerators. */
  look(): void {
    for (let each = 0; each < this.#parent.length; each++) this.#parent[each] = each;
    this.#moves.length = 0;
    this.#oldestIntentNs = Number.POSITIVE_INFINITY;
    for (const { source, destination, tensor, intendedNs } of this.#graph.transfers()) {
      this.#move({ source, destination, bytes: tensor.bytes });
      if (intendedNs >= 0 && intendedNs < this.#oldestIntentNs) this.#oldestIntentNs = intendedNs;
    }
    for (const { inputs, accelerator } of this.#graph.issuedOperators()) {
      for (const tensor of inputs) this.#read(tensor, accelerator);
    }
  }

  /**
   * Parts that decide how a batch fares on a partition, each by its least accelerator or link; null where all of the cluster might, since
   * transfers could wait for very long.
   */
  concerning(batch: readonly OperatorNode[], partition: CompiledPartition, nowNs: number): ReadonlySet<number> | null {
    const parts = new Set<number>();
    const moves: Move[] = [];
    for (const accelerator of partition.used) parts.add(this.#root(accelerator));
    for (const { inputs, index } of batch) {
      const destination = partition.acceleratorOf[index] as number;
      for (const { bytes, copies, producer } of inputs) {
        const sources = copies.map((copy) => copy.accelerator);
        // One that is laid with it, or is not read from anywhere else.
        if (sources.length === 0) sources.push(partition.acceleratorOf[producer.index] as number);
        for (const source of sources) if (source !== destination) moves.push({ source, destination, bytes });
      }
    }
    for (const { source, destination } of moves) {
      parts.add(this.#root(source));
      for (const link of this.#linksOf(source, destination)) parts.add(this.#root(link));
    }
    for (const move of this.#moves) if (parts.has(this.#root(move.source))) moves.push(move);
    let movingNs = Math.max(0, nowNs - this.#oldestIntentNs);
    for (const { source, destination, bytes } of moves) movingNs += this.#transferNs(source, destination, bytes);
    return movingNs >= this.#turnNs ? null : parts;
  }

  /** The part of an accelerator, as `concerning` names it. */
  partOf(accelerator: AcceleratorIndex): number {
    return this.#root(accelerator);
  }

  /** Where it is not there yet it comes, or may come, from a copy of it. */
  #read(tensor: TensorNode, destination: AcceleratorIndex): void {
    const { copies, bytes } = tensor;
    if (copies.length === 1 && copies[0]?.accelerator === destination) return;
    if (this.#graph.ledger.isPresent(tensor.id, destination)) return;
    for (const { accelerator: source } of copies)
      if (source !== destination) this.#move({ source, destination, bytes });
  }

  #move(move: Move): void {
    const { source, destination } = move;
    this.#moves.push(move);
    this.#union(source, destination);
    for (const link of this.#linksOf(source, destination)) this.#union(source, link);
  }

  /** By their place among the parents. */
  #linksOf(source: AcceleratorIndex, destination: AcceleratorIndex): number[] {
    const { accelerators } = this.#graph.cluster;
    const route = this.#graph.cluster.route(source, destination) ?? [];
    return route.map((link) => accelerators.length + link);
  }

  #root(each: number): number {
    const parent = this.#parent;
    let root = each;
    while (parent[root] !== root) {
      const above = parent[parent[root] as number] as number;
      parent[root] = above;
      root = above;
    }
    return root;
  }

  #union(one: number, other: number): void {
    const [a, b] = [this.#root(one), this.#root(other)];
    this.#parent[Math.max(a, b)] = Math.min(a, b);
  }
}
