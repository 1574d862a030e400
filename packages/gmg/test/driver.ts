/** An executor and a scheduler that do the next thing there is to do: enough to run a graph to its end, step by step. */
import type { GlobalMappingGraph, OperatorNode, TransferNode } from "@slicescheduler/gmg";

export class Driver {
  readonly graph: GlobalMappingGraph;
  /** Instances and how they ended, in order. */
  readonly outcomes: string[] = [];
  /** How often each operator ran to its end, by `instance/operator`. */
  readonly runs = new Map<string, number>();
  nowNs = 0;
  readonly #withdrawals: number[] = [];
  readonly #overtaking: boolean;
  /** By accelerator: what it has done and nobody has heard yet, in order. */
  readonly #unheard: (() => void)[][];
  /** Of the operators given back and the transfers cancelled, those of which nobody has heard yet. */
  readonly #gone = new Set<OperatorNode | TransferNode>();

  /** @param overtaking What comes of a withdrawal is heard of each accelerator in order, and of one before or after the other. */
  constructor(graph: GlobalMappingGraph, overtaking = false) {
    this.graph = graph;
    this.#overtaking = overtaking;
    this.#unheard = graph.cluster.accelerators.map(() => []);
  }

  /** One thing; false when there is nothing to do. `pick` chooses among what could be done. */
  step(pick = 0): boolean {
    this.nowNs += 1;
    this.effects();
    const things = this.#things();
    const thing = things[pick % Math.max(1, things.length)];
    thing?.();
    this.effects();
    return thing !== undefined;
  }

  run(steps = Number.POSITIVE_INFINITY, pick = 0): void {
    for (let count = 0; count < steps && this.step(pick); count++);
  }

  lose(accelerator: number): void {
    this.graph.loseAccelerator(accelerator, this.nowNs);
    this.effects();
  }

  effects(): void {
    const { withdrawals, settled } = this.graph.takeEffects();
    this.#withdrawals.push(...withdrawals);
    for (const { instance, outcome } of settled) this.outcomes.push(`${instance.id} ${outcome}`);
    this.graph.validate();
  }

  #things(): (() => void)[] {
    const { graph, nowNs } = this;
    const [withdrawal] = this.#withdrawals;
    if (withdrawal !== undefined) return [() => this.#withdraw(withdrawal)];
    const things: (() => void)[] = [];
    const isHeard = (accelerator: number) => this.#unheard[accelerator]?.length === 0;
    const busy = new Set<number>();
    for (const operator of graph.issuedOperators()) if (operator.startedNs >= 0) busy.add(operator.accelerator);
    for (const transfer of graph.transfers()) {
      if (!isHeard(transfer.destination)) continue;
      if (transfer.state === "receiving") things.push(() => graph.transferDone(transfer, nowNs));
      else if (graph.ledger.isPresent(transfer.tensor.id, transfer.source)) {
        things.push(() => graph.transferReceiving(transfer));
      }
    }
    for (const operator of graph.issuedOperators()) {
      if (!isHeard(operator.accelerator)) continue;
      if (operator.startedNs >= 0) things.push(() => this.#complete(operator));
      else if (operator.missingInputs === 0 && !busy.has(operator.accelerator)) {
        things.push(() => graph.operatorStarted(operator, nowNs));
      }
    }
    for (const operator of graph.unscheduledFrontier) {
      const option = graph.placementOptions(operator).find(({ shortage }) => shortage === null);
      if (option !== undefined) things.push(() => graph.issue(operator, option.partition, nowNs));
    }
    // Late, as a rule.
    for (const reports of this.#unheard.toReversed()) if (reports.length > 0) things.push(() => reports.shift()?.());
    return things;
  }

  #complete(operator: OperatorNode): void {
    const key = `${operator.instance.id}/${operator.index}`;
    this.runs.set(key, (this.runs.get(key) ?? 0) + 1);
    this.graph.operatorDone(operator, this.nowNs);
  }

  /** What has started ends as usual; a queue drops the planned transfers that only this one waited for, and those of its results. */
  #withdraw(issueNumber: number): void {
    this.#withdrawals.shift();
    const operator = this.graph.issued(issueNumber);
    if (operator === undefined || operator.startedNs >= 0 || this.#gone.has(operator)) return;
    const isPlanned = ({ tensor, source }: TransferNode) => !this.graph.ledger.isPresent(tensor.id, source);
    for (const transfer of [...this.graph.transfers()]) {
      if (this.#gone.has(transfer)) continue;
      const waiting = transfer.waiting.filter((each) => !this.#gone.has(each));
      const only = waiting.length === 1 && waiting[0] === operator && isPlanned(transfer);
      if (only || transfer.tensor.producer === operator)
        this.#report(transfer.destination, transfer, () => this.graph.transferCancelled(transfer, this.nowNs));
    }
    this.#report(operator.accelerator, operator, () => this.graph.operatorWithdrawn(operator, this.nowNs));
  }

  #report(accelerator: number, about: OperatorNode | TransferNode, hear: () => void): void {
    if (!this.#overtaking) {
      hear();
      return;
    }
    this.#gone.add(about);
    this.#unheard[accelerator]?.push(() => {
      this.#gone.delete(about);
      hear();
    });
  }
}
