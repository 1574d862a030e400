import { DurationModel } from "./duration-model.ts";
import { EstimatorError } from "./errors.ts";
import { BANK_MODELS_MAX, checkOptions } from "./limits.ts";
import { readBankState } from "./saved-state.ts";
import type { EstimatorBankState, EstimatorOptions } from "./types.ts";

type Models = Map<string, Map<string, DurationModel>>;

/** The duration models of a cluster: one per (duration model's name, accelerator kind), and one per ordered pair of accelerators. */
export class EstimatorBank {
  readonly #options: Required<EstimatorOptions>;
  readonly #operators: Models = new Map();
  readonly #transfers: Models = new Map();
  #size = 0;

  /** `options` hold for every model. Throws `OPTIONS_INVALID`. */
  constructor(options?: EstimatorOptions) {
    this.#options = checkOptions(options);
  }

  /** Models so far, operators and transfers together. */
  get size(): number {
    return this.#size;
  }

  /** The model of operators that name `model`, on accelerators of `kind`; empty at first. Throws `TOO_MANY_MODELS`. */
  operator(model: string, kind: string): DurationModel {
    return this.findOperator(model, kind) ?? this.#create(this.#operators, model, kind);
  }

  /** The model of transfers from accelerator `source` to `destination`; its feature is `[bytes]`. Throws `TOO_MANY_MODELS`. */
  transfer(source: string, destination: string): DurationModel {
    return this.findTransfer(source, destination) ?? this.#create(this.#transfers, source, destination);
  }

  /** As `operator`, for looking: undefined where nothing was asked yet. */
  findOperator(model: string, kind: string): DurationModel | undefined {
    return this.#operators.get(model)?.get(kind);
  }

  /** As `transfer`, for looking. */
  findTransfer(source: string, destination: string): DurationModel | undefined {
    return this.#transfers.get(source)?.get(destination);
  }

  /** Everything learned, as a plain value that survives JSON: a bank loaded from it predicts and learns the same. */
  save(): EstimatorBankState {
    return {
      format: "slicescheduler/estimators",
      version: 1,
      ...this.#options,
      operators: flat(this.#operators).map(([model, kind, it]) => ({ model, kind, state: it.save() })),
      transfers: flat(this.#transfers).map(([source, destination, it]) => ({ source, destination, state: it.save() })),
    };
  }

  /** Throws `STATE_INVALID` for what `save` cannot have written, `STATE_VERSION` for another version. */
  static load(value: unknown): EstimatorBank {
    const { options, operators, transfers } = readBankState(value);
    const bank = new EstimatorBank(options);
    for (const { first, second, state } of operators) bank.#restore(bank.#operators, first, second, state);
    for (const { first, second, state } of transfers) bank.#restore(bank.#transfers, first, second, state);
    return bank;
  }

  #create(models: Models, first: string, second: string): DurationModel {
    if (this.#size >= BANK_MODELS_MAX) {
      const message = `no room for a model of ${JSON.stringify(first)}, ${JSON.stringify(second)}: the bank holds ${this.#size}, its maximum; let operators share duration models`;
      throw new EstimatorError("TOO_MANY_MODELS", message, { first, second, size: this.#size });
    }
    const model = new DurationModel(this.#options);
    this.#put(models, first, second, model);
    return model;
  }

  #restore(models: Models, first: string, second: string, state: unknown): void {
    if (models.get(first)?.has(second)) {
      const message = `the saved bank has the model ${JSON.stringify(first)}, ${JSON.stringify(second)} twice`;
      throw new EstimatorError("STATE_INVALID", message, { first, second });
    }
    this.#put(models, first, second, DurationModel.load(state));
  }

  #put(models: Models, first: string, second: string, model: DurationModel): void {
    const inner = models.get(first) ?? new Map<string, DurationModel>();
    models.set(first, inner);
    inner.set(second, model);
    this.#size++;
  }
}

function flat(models: Models): [string, string, DurationModel][] {
  return [...models].flatMap(([first, inner]) =>
    [...inner].map(([second, model]): [string, string, DurationModel] => [first, second, model]),
  );
}
