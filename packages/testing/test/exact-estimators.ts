import { DurationModel, type Estimate, EstimatorBank } from "@slicescheduler/estimators";
import { type Durations, operatorNs } from "../src/index.ts";

/** Estimators that know the true durations of a world from the start; of transfers, what its links declare. */
export class ExactEstimators extends EstimatorBank {
  readonly #durations: Durations;

  constructor(durations: Durations) {
    super();
    this.#durations = durations;
  }

  override operator(model: string, kind: string): DurationModel {
    return new TrueModel((features) => {
      const [template = "", name = ""] = model.split("/");
      const work = { template, operator: Number(name.slice(1)), accelerator: { kind }, symbols: { ...features } };
      return operatorNs(this.#durations, work as unknown as Parameters<typeof operatorNs>[1]);
    });
  }

  override findOperator(model: string, kind: string): DurationModel {
    return this.operator(model, kind);
  }

  override transfer(): DurationModel {
    return new TrueModel((_, declaredNs) => declaredNs);
  }

  override findTransfer(): DurationModel {
    return this.transfer();
  }
}

class TrueModel extends DurationModel {
  readonly #trueNs: (features: readonly number[], priorNs: number) => number;

  constructor(trueNs: (features: readonly number[], priorNs: number) => number) {
    super();
    this.#trueNs = trueNs;
  }

  override predict(features: readonly number[], priorNs: number): Estimate {
    return { durationNs: Math.max(1, Math.round(this.#trueNs(features, priorNs))), confidence: 1, source: "history" };
  }

  override observe(): void {}
}
