import { type Estimate, type EstimatorBank, rooflineNs } from "@slicescheduler/estimators";
import type { AcceleratorIndex, Cluster, OperatorNode } from "@slicescheduler/gmg";

/** Predicted durations of operators and transfers, and the way what was observed gets back to the estimators. */
export class Predictor {
  readonly #cluster: Cluster;
  readonly #bank: EstimatorBank;
  /** An accelerator of each kind. */
  readonly #kinds: ReadonlyMap<string, AcceleratorIndex>;

  constructor(cluster: Cluster, bank: EstimatorBank) {
    this.#cluster = cluster;
    this.#bank = bank;
    this.#kinds = new Map(cluster.accelerators.map(({ kind, index }) => [kind, index]));
  }

  /** Whole nanoseconds, at least 1. */
  operatorNs(operator: OperatorNode, accelerator: AcceleratorIndex): number {
    return this.operatorEstimate(operator, accelerator).durationNs;
  }

  /**
   * By the model of the accelerator's kind and its own speed factor, which also holds for work that was never observed on it.
   *
   * Where nothing was observed on that kind of accelerator, as on the kind where it is fastest, by the ratio of their rooflines: a kind that is
   * not known is tried, and not taken to be so fast that everything goes there before the first result.
   */
  operatorEstimate(operator: OperatorNode, accelerator: AcceleratorIndex): Estimate {
    const { features } = operator.instance.binding;
    const priorNs = this.#priorNs(operator, accelerator);
    const estimate = this.#model(operator, accelerator).predict(features, priorNs);
    const elsewhereNs = estimate.source === "prior" ? this.#elsewhereNs(operator, accelerator, priorNs) : null;
    const durationNs = this.#atItsSpeed(elsewhereNs ?? estimate.durationNs, accelerator);
    return durationNs === estimate.durationNs ? estimate : { ...estimate, durationNs };
  }

  #atItsSpeed(durationNs: number, accelerator: AcceleratorIndex): number {
    const device = this.#cluster.accelerators[accelerator];
    const factor = device === undefined ? 1 : this.#bank.speedFactor(device.kind, device.name);
    return factor === 1 ? durationNs : Math.min(Math.max(1, Math.round(durationNs * factor)), Number.MAX_SAFE_INTEGER);
  }

  /** By what other kinds of accelerators have told; null where none has. */
  #elsewhereNs(operator: OperatorNode, accelerator: AcceleratorIndex, priorNs: number): number | null {
    const { features } = operator.instance.binding;
    const { accelerators } = this.#cluster;
    let leastNs: number | null = null;
    for (const [kind, other] of this.#kinds) {
      if (kind === accelerators[accelerator]?.kind) continue;
      const model = this.#bank.findOperator(modelName(operator), kind);
      const otherPriorNs = this.#priorNs(operator, other);
      const estimate = model?.predict(features, otherPriorNs);
      if (estimate === undefined || estimate.source === "prior") continue;
      const scaledNs = Math.max(1, Math.round((estimate.durationNs / otherPriorNs) * priorNs));
      leastNs = Math.min(leastNs ?? scaledNs, scaledNs);
    }
    return leastNs;
  }

  transferNs(source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number): number {
    const declaredNs = this.#cluster.transferNs(source, destination, bytes);
    return this.#link(source, destination).predict([bytes], declaredNs).durationNs;
  }

  operatorObserved(operator: OperatorNode, observedNs: number): void {
    const { accelerator, instance } = operator;
    // Sizes that were only assumed teach nothing.
    if (instance.binding.assumed.length > 0) return;
    const device = this.#cluster.accelerators[accelerator];
    this.#bank.observeOperator({
      model: modelName(operator),
      kind: device?.kind ?? "",
      accelerator: device?.name ?? "",
      features: instance.binding.features,
      observedNs,
      priorNs: this.#priorNs(operator, accelerator),
    });
  }

  transferObserved(source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number, observedNs: number): void {
    this.#link(source, destination).observe([bytes], observedNs, this.#cluster.transferNs(source, destination, bytes));
  }

  #model(operator: OperatorNode, accelerator: AcceleratorIndex): ReturnType<EstimatorBank["operator"]> {
    return this.#bank.operator(modelName(operator), this.#cluster.accelerators[accelerator]?.kind ?? "");
  }

  #link(source: AcceleratorIndex, destination: AcceleratorIndex): ReturnType<EstimatorBank["transfer"]> {
    const { accelerators } = this.#cluster;
    return this.#bank.transfer(accelerators[source]?.name ?? "", accelerators[destination]?.name ?? "");
  }

  #priorNs(operator: OperatorNode, accelerator: AcceleratorIndex): number {
    const { binding } = operator.instance;
    const device = this.#cluster.accelerators[accelerator];
    return rooflineNs({
      flops: binding.flops(operator.index),
      movedBytes: binding.movedBytes(operator.index),
      ...(device?.flopsPerSecond === undefined ? {} : { flopsPerSecond: device.flopsPerSecond }),
      ...(device?.hbmBytesPerSecond === undefined ? {} : { hbmBytesPerSecond: device.hbmBytesPerSecond }),
    });
  }
}

function modelName({ instance, index }: OperatorNode): string {
  return instance.template.operators[index]?.durationModel ?? "";
}
