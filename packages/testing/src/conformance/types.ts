import type { Executor, ExecutorManifest } from "@slicescheduler/executor";
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";

/** What a backend is made for: one check, and then it is closed. */
export interface ConformanceContext {
  /** The cluster that it will be opened with. */
  readonly cluster: ClusterSpec;
  /** The templates whose operators it will be asked to run. */
  readonly templates: readonly TemplateSpec[];
}

/** A fresh backend that is not open, and what only its author can do with it. */
export interface ConformanceBackend {
  readonly executor: Executor;
  /**
   * For a backend whose time is simulated: lets the next thing happen, and returns false when nothing is left to happen.
   * Without it the suite waits for time to pass by itself.
   */
  step?(): boolean | Promise<boolean>;
  /** Lets the operator of this issue number, which is not issued yet, fail when it runs. Needed by a manifest with `failsOperators`. */
  failOperator?(issueNumber: number): void;
  /** Lets this transfer, which is not planned yet, fail when its data move. Needed by a manifest with `failsTransfers`. */
  failTransfer?(transfer: number): void;
  /** Takes an accelerator away now, with everything on it, also from within an event. Needed by a manifest with `losesAccelerators`. */
  loseAccelerator?(accelerator: number): void;
  /** Brings it back now, empty, also from within an event. Needed by a manifest with `losesAccelerators`. */
  returnAccelerator?(accelerator: number): void;
  /**
   * Keeps the operator of this issue number, which is not issued yet, from ending once it has started; what it returns lets it end. Needed by a
   * manifest with `runsAhead`, where the operator, and others after it, could be over before the event of its start is answered.
   */
  holdOperator?(issueNumber: number): () => void;
  /** The contents of a copy that is there. Needed by a manifest with `holdsData`. */
  read?(tensor: number, accelerator: number): ArrayLike<number> | Promise<ArrayLike<number>>;
  /** Called after the check, and after `executor.close`. */
  dispose?(): void | Promise<void>;
}

export interface ConformanceOptions {
  /** Registers a test: `test` of vitest, of node:test, of Jest, or anything like them. */
  readonly test: (name: string, body: () => Promise<void>) => unknown;
  /** What the backend states of itself. It says which rules there are to check. */
  readonly manifest: ExecutorManifest;
  /** Called at least once for each check. */
  readonly create: (context: ConformanceContext) => ConformanceBackend | Promise<ConformanceBackend>;
  /**
   * Adapts the suite's cluster to what the backend can drive: kinds, rates, names of links. Accelerators, their order, memory and
   * granularity, and which pairs are linked, have to stay. Default: as it is.
   */
  readonly cluster?: (cluster: ClusterSpec) => ClusterSpec;
  /**
   * Adapts one of the suite's templates: what a backend needs to find its kernels. Symbols, sizes, and the order of inputs and outputs have
   * to stay. Default: as it is.
   */
  readonly template?: (template: TemplateSpec) => TemplateSpec;
  /** How long one thing may take that has to happen, in milliseconds; unused with `step`. Default 10 000. */
  readonly timeoutMs?: number;
  /** How long nothing has to happen until nothing more is expected, in milliseconds; unused with `step`. Default 30. */
  readonly quietMs?: number;
}

/** A feature that a manifest states or not. */
export type Feature =
  | "failsOperators"
  | "failsTransfers"
  | "losesAccelerators"
  | "probes"
  | "keepsAccounts"
  | "holdsData";
