import { type Estimate, type EstimatorBank, rooflineNs } from "@slicescheduler/estimators";
import type { AcceleratorIndex, Cluster, OperatorNode } from "@slicescheduler/gmg";

/** Predicted durations of operators and transfers, and the way what was observed gets back to the estimators. */
export class Predictor {
  readonly #cluster: Cluster;
  readonly #bank: EstimatorBank;

  constructor(cluster: Cluster, bank: EstimatorBank) {
    this.#cluster = cluster;
    this.#bank = bank;
  }

  /** Whole nanoseconds, at least 1. */
  operatorNs(operator: OperatorNode, accelerator: AcceleratorIndex): number {
    return this.operatorEstimate(operator, accelerator).durationNs;
  }

  operatorEstimate(operator: OperatorNode, accelerator: AcceleratorIndex): Estimate {
    const { features } = operator.instance.binding;
    return this.#model(operator, accelerator).predict(features, this.#priorNs(operator, accelerator));
  }

  transferNs(source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number): number {
    const declaredNs = this.#cluster.transferNs(source, destination, bytes);
    return this.#link(source, destination).predict([bytes], declaredNs).durationNs;
  }

  operatorObserved(operator: OperatorNode, observedNs: number): void {
    const { accelerator, instance } = operator;
    // Sizes that were only assumed teach nothing.
    if (instance.binding.assumed.length > 0) return;
    const prior = this.#priorNs(operator, accelerator);
    this.#model(operator, accelerator).observe(instance.binding.features, observedNs, prior);
  }

  transferObserved(source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number, observedNs: number): void {
    this.#link(source, destination).observe([bytes], observedNs, this.#cluster.transferNs(source, destination, bytes));
  }

  #model(operator: OperatorNode, accelerator: AcceleratorIndex): ReturnType<EstimatorBank["operator"]> {
    const name = operator.instance.template.operators[operator.index]?.durationModel ?? "";
    return this.#bank.operator(name, this.#cluster.accelerators[accelerator]?.kind ?? "");
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
