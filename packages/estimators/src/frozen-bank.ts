import { DurationModel } from "./duration-model.ts";
import { EstimatorBank } from "./estimator-bank.ts";
import type { Accuracy, DurationModelState, Estimate, EstimatorBankState, OperatorObservation } from "./types.ts";

/**
 * A view of a bank that answers what the bank would and learns nothing, nor does the bank learn of it. For trying things out: what the bank
 * itself learns later shows.
 */
export class FrozenBank extends EstimatorBank {
  readonly #bank: EstimatorBank;
  readonly #views = new Map<DurationModel, DurationModel>();
  /** Answers with priors, as a model does that has observed nothing. */
  readonly #unknown = new FrozenModel(new DurationModel());

  constructor(bank: EstimatorBank) {
    super();
    this.#bank = bank;
  }

  override get size(): number {
    return this.#bank.size;
  }

  override operator(model: string, kind: string): DurationModel {
    return this.#view(this.#bank.findOperator(model, kind));
  }

  override transfer(source: string, destination: string): DurationModel {
    return this.#view(this.#bank.findTransfer(source, destination));
  }

  override findOperator(model: string, kind: string): DurationModel | undefined {
    const found = this.#bank.findOperator(model, kind);
    return found === undefined ? undefined : this.#view(found);
  }

  override findTransfer(source: string, destination: string): DurationModel | undefined {
    const found = this.#bank.findTransfer(source, destination);
    return found === undefined ? undefined : this.#view(found);
  }

  override speedFactor(kind: string, accelerator: string): number {
    return this.#bank.speedFactor(kind, accelerator);
  }

  override observeOperator(_observed: OperatorObservation): void {}

  override save(): EstimatorBankState {
    return this.#bank.save();
  }

  #view(model: DurationModel | undefined): DurationModel {
    if (model === undefined) return this.#unknown;
    let view = this.#views.get(model);
    if (view === undefined) {
      view = new FrozenModel(model);
      this.#views.set(model, view);
    }
    return view;
  }
}

class FrozenModel extends DurationModel {
  readonly #model: DurationModel;

  constructor(model: DurationModel) {
    super({ historyKeysMax: 0 });
    this.#model = model;
  }

  override predict(features: readonly number[], priorNs: number): Estimate {
    return this.#model.predict(features, priorNs);
  }

  override observe(): void {}

  override accuracy(): Accuracy {
    return this.#model.accuracy();
  }

  override save(): DurationModelState {
    return this.#model.save();
  }
}
