import type { SymbolValues, TemplateSpec } from "@slicescheduler/gmg";

export type SymbolsOf<Spec extends TemplateSpec> = Spec["symbols"][number];
/** Symbols that have a bound. */
type BoundedOf<Spec extends TemplateSpec> = keyof NonNullable<Spec["bounds"]> & SymbolsOf<Spec>;
export type InputsOf<Spec extends TemplateSpec> = keyof NonNullable<Spec["inputs"]> & string;
export type OutputsOf<Spec extends TemplateSpec> = keyof Spec["outputs"] & string;

/** A registered template; carries its symbol, input and output names for the type checker. */
export interface TemplateHandle<Spec extends TemplateSpec = TemplateSpec> {
  readonly name: string;
  readonly spec: Spec;
}

/** An output of a submitted instance, to be given as an input of a later one. */
export interface OutputHandle {
  readonly instance: number;
  readonly output: string;
}

export interface InstanceResult {
  readonly instance: number;
  readonly submittedNs: number;
  readonly doneNs: number;
}

export interface InstanceHandle<Spec extends TemplateSpec = TemplateSpec> {
  readonly id: number;
  /**
   * Resolves when its last operator is done; rejects with INSTANCE_FAILED, INSTANCE_CANCELLED, QUEUE_TIMEOUT, DEADLINE_EXCEEDED,
   * TRANSFER_OVERDUE or CLOSED.
   */
  readonly done: Promise<InstanceResult>;
  output(name: OutputsOf<Spec>): OutputHandle;
  /** No instance submitted from now on refers to this output, which was retained. Releasing twice changes nothing. */
  release(name: OutputsOf<Spec>): void;
  /** Settles it at once; instances that need its results fail. Nothing happens when it has ended. */
  cancel(): void;
}

export interface RequestHandle {
  readonly id: number;
  /** No further instance follows. Closing twice changes nothing. */
  close(): void;
}

/** Names of priority classes are the application's; `Limits` are the largest instance per template. */
export interface RequestOptions {
  /** One of the scheduler's `priorities`. Default: the most urgent. */
  readonly priority?: string;
  /** One of the names in the scheduler's `tenants`. Default: nobody's, with a weight of 1 and no limits. */
  readonly tenant?: string;
  /** Nanoseconds of the executor's clock; earlier ones go first within a class. Default: none. */
  readonly deadlineNs?: number;
  /**
   * What is not done at `deadlineNs` fails then with DEADLINE_EXCEEDED, also while an operator of it runs, and nothing more can be
   * submitted. Default false: the deadline only orders.
   */
  readonly failAtDeadline?: boolean;
  /**
   * Fails with QUEUE_TIMEOUT when the first operator of the request has not started so long after its submission. A whole number of
   * nanoseconds above 0. Default: it may wait for ever.
   */
  readonly queueTimeoutNs?: number;
  readonly label?: string;
  /** Names of partitions that its instances may be laid on. Default: all of their templates'. */
  readonly partitions?: readonly string[];
}

export interface OpenRequestOptions extends RequestOptions {
  /**
   * Per template the largest symbols it may submit. The most memory such instances can hold is claimed when the request
   * starts, so that it can always go on. Default: it claims what it has submitted.
   */
  readonly limits?: readonly {
    readonly template: TemplateHandle;
    readonly symbols: Readonly<Record<string, number>>;
  }[];
  /** Instances alive at the same time that the claim covers, a whole number from 1. Default 2: one runs, one waits. */
  readonly concurrentInstances?: number;
  /**
   * Sequences of instances that continue one another, or instances that stand alone, at the same time, each with what it retains.
   * A whole number from 1. Default 1.
   */
  readonly chains?: number;
  /**
   * Whether it may stand still with results that it holds, such as a chat between two turns. Then the most that it may come to need is
   * set aside. Otherwise it takes memory as it grows, and promises to go on without a pause once it has started: to submit its
   * next instance, or to release what it retained and close. Default false.
   */
  readonly mayPause?: boolean;
}

/**
 * Options of a request hold for the one that the instance gets. Where it joins one, by `request` or by its inputs, `priority` and `deadlineNs`
 * are its own, by default those of the request; what it needs of less urgent instances becomes as urgent as it is, and the others cannot be given.
 */
export interface SubmitOptions<Spec extends TemplateSpec = TemplateSpec> extends RequestOptions {
  /** Values of the template's symbols; one with a declared bound may be left out. */
  readonly symbols: SymbolValues<SymbolsOf<Spec>, BoundedOf<Spec>>;
  /** Outputs of earlier instances. An input without bytes under these symbols need not be bound. */
  readonly inputs?: Readonly<Partial<Record<InputsOf<Spec>, OutputHandle>>>;
  /** Default: the request of its inputs, or one of its own. */
  readonly request?: RequestHandle;
  /** Outputs that instances submitted after its end may refer to, until they are released. All others: until its end. */
  readonly retain?: readonly OutputsOf<Spec>[];
  /**
   * Called once, with the number that the instance gets, before anything of it can start: to give the executor what belongs to the instance.
   * What it throws comes out of `submit`, and nothing is submitted. It may not submit itself. The submission may still be refused after it;
   * `whatIf` does not call it.
   */
  readonly prepare?: (instance: number) => void;
}
