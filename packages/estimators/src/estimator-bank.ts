import { DurationModel } from "./duration-model.ts";
import { EstimatorError } from "./errors.ts";
import { BANK_MODELS_MAX, checkOptions, DURATION_MAX_NS } from "./limits.ts";
import { readBankState } from "./saved-state.ts";
import { SpeedFactors } from "./speed-factors.ts";
import type { EstimatorBankState, EstimatorOptions, OperatorObservation } from "./types.ts";

type Models = Map<string, Map<string, DurationModel>>;

/** A model that is less sure of a duration than this, and has observed less than that, says nothing about the accelerator's speed. */
const SPEED_CONFIDENCE_MIN = 0.75;
const SPEED_MODEL_SAMPLES_MIN = 12;

/**
 * The duration models of a cluster: one per (duration model's name, accelerator kind), and one per ordered pair of accelerators. Within a kind each
 * accelerator has a speed factor, learned over all models of its kind.
 */
export class EstimatorBank {
  readonly #options: Required<EstimatorOptions>;
  readonly #operators: Models = new Map();
  readonly #transfers: Models = new Map();
  /** By kind. */
  readonly #speeds = new Map<string, SpeedFactors>();
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

  /**
   * What `accelerator` takes ÷ what the models of its `kind` predict, so that predictions are to be multiplied by it; 3 is three times as slow.
   * Exactly 1 while nothing else is known, or the difference is below 10 % or within noise.
   */
  speedFactor(kind: string, accelerator: string): number {
    return this.#speeds.get(kind)?.factor(accelerator) ?? 1;
  }

  /**
   * Teaches the accelerator's speed factor and, with what the work would have taken on an accelerator like most of its kind, the kind's model.
   * Throws as `operator` and `DurationModel.observe`, and `TOO_MANY_ACCELERATORS`.
   */
  observeOperator({ model, kind, accelerator, features, observedNs, priorNs }: OperatorObservation): void {
    const ofKind = this.operator(model, kind);
    const { durationNs, confidence } = ofKind.predict(features, priorNs);
    const isValid = observedNs > 0 && observedNs <= DURATION_MAX_NS;
    const isSure = confidence >= SPEED_CONFIDENCE_MIN || ofKind.accuracy().samples >= SPEED_MODEL_SAMPLES_MIN;
    if (isValid && isSure) {
      const log = Math.log(Math.max(observedNs, 1) / durationNs);
      this.#speedsOf(kind).observe(accelerator, log);
    }
    const factor = isValid ? this.speedFactor(kind, accelerator) : 1;
    ofKind.observe(features, factor === 1 ? observedNs : Math.min(observedNs / factor, DURATION_MAX_NS), priorNs);
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
      version: 2,
      ...this.#options,
      operators: flat(this.#operators).map(([model, kind, it]) => ({ model, kind, state: it.save() })),
      transfers: flat(this.#transfers).map(([source, destination, it]) => ({ source, destination, state: it.save() })),
      speeds: [...this.#speeds].map(([kind, it]) => ({ kind, ...it.save() })),
    };
  }

  /** Throws `STATE_INVALID` for what `save` cannot have written, `STATE_VERSION` for another version than 2 or 1, which had no speed factors. */
  static load(value: unknown): EstimatorBank {
    const { options, operators, transfers, speeds } = readBankState(value);
    const bank = new EstimatorBank(options);
    for (const { first, second, state } of operators) bank.#restore(bank.#operators, first, second, state);
    for (const { first, second, state } of transfers) bank.#restore(bank.#transfers, first, second, state);
    for (const { kind, ...state } of speeds) bank.#speeds.set(kind, SpeedFactors.load(state));
    return bank;
  }

  #speedsOf(kind: string): SpeedFactors {
    let speeds = this.#speeds.get(kind);
    if (speeds === undefined) {
      speeds = new SpeedFactors();
      this.#speeds.set(kind, speeds);
    }
    return speeds;
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
