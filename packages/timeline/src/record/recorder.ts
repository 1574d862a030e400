import { type ClusterSpec, compileCluster } from "@slicescheduler/gmg";
import type { Decision } from "@slicescheduler/scheduler";
import type { MasterEvent, Notice, Notices } from "slicescheduler";
import { checkWhole, TimelineError } from "../errors.ts";
import type { RecordedAccelerator, RecordedDecisions, RecordedNotice, RunRecord } from "../run-record.ts";
import { type HbmAccount, HbmBook } from "./hbm-book.ts";
import { Names } from "./names.ts";
import { wordsOf } from "./notice-texts.ts";
import { OperatorBook } from "./operator-book.ts";
import { RequestBook } from "./request-book.ts";
import { ThinnedList } from "./thinned-list.ts";
import { TransferBook } from "./transfer-book.ts";

/** How much is kept, each a whole number from 1; of what is more the oldest quarter goes, and `RunRecord.dropped` counts it. */
export interface RecorderLimits {
  /** About 100 bytes each. Default 1,000,000. */
  readonly operatorsMax?: number;
  /** Default 1,000,000. */
  readonly transfersMax?: number;
  /** Per accelerator, 16 bytes each. Default 1,000,000. */
  readonly hbmStepsMax?: number;
  /** Default 200,000. */
  readonly requestsMax?: number;
  /** Default 10,000. */
  readonly noticesMax?: number;
  /** Of all decisions, and again of those that rejected a candidate: they are thinned, see `RecordedDecisions`. Default 2,000. */
  readonly decisionsMax?: number;
}

export interface RecorderOptions extends RecorderLimits {
  /** Of the scheduler that is recorded. */
  readonly cluster: ClusterSpec;
  /** As the scheduler has them. Default `["online", "offline"]`. */
  readonly priorities?: readonly string[];
  /** Free text for the record. Default empty. */
  readonly label?: string;
  /** When recording begins, by the executor's clock. Default 0. */
  readonly startNs?: number;
}

/** What a recorder listens to; a `SliceScheduler` is one. */
export interface RecordedScheduler extends HbmAccount {
  on<Name extends keyof Notices>(event: Name, listener: (value: Notices[Name]) => void): unknown;
  off<Name extends keyof Notices>(event: Name, listener: (value: Notices[Name]) => void): unknown;
}

const LIMITS: Required<RecorderLimits> = {
  operatorsMax: 1_000_000,
  transfersMax: 1_000_000,
  hbmStepsMax: 1_000_000,
  requestsMax: 200_000,
  noticesMax: 10_000,
  decisionsMax: 2_000,
};

/** All of them, so that a notice that is added to the master is not forgotten here. */
const NOTICES: Readonly<Record<keyof Notices, true>> = {
  operatorIssued: true,
  operatorStarted: true,
  operatorDone: true,
  operatorFailed: true,
  operatorWithdrawn: true,
  transferDone: true,
  transferQuarantined: true,
  transferReleased: true,
  instanceDone: true,
  instanceFailed: true,
  instanceCancelled: true,
  decision: true,
  standstill: true,
  acceleratorLost: true,
  acceleratorReturned: true,
  acceleratorSuspect: true,
  acceleratorCleared: true,
  acceleratorDraining: true,
  acceleratorDrained: true,
};

/**
 * Records what a scheduler does, on any executor, in memory that `RecorderLimits` bound: `attach` hears its notices, and `onEvent`, given to
 * it as the option of that name, tells classes and tenants of requests and every change of HBM. Without `onEvent` ranks and tenants are −1, and
 * HBM is read when it is told that an operator started or ended or a transfer arrived.
 */
export class RunRecorder {
  /** For `SliceSchedulerOptions.onEvent`. */
  readonly onEvent: (event: MasterEvent, nowNs: number) => void;
  readonly #options: RecorderOptions;
  readonly #accelerators: readonly RecordedAccelerator[];
  readonly #acceleratorNames: readonly string[];
  readonly #tenants = new Names();
  readonly #operatorNames = new Names();
  readonly #requests: RequestBook;
  readonly #operators: OperatorBook;
  readonly #transfers: TransferBook;
  readonly #hbm: HbmBook;
  readonly #decisions: ThinnedList<Decision>;
  readonly #rejecting: ThinnedList<Decision>;
  readonly #noticesMax: number;
  readonly #startNs: number;
  #notices: RecordedNotice[] = [];
  #noticesDropped = 0;
  #endNs: number;
  /** Of the decision that was told last: the issues that follow carry it out. */
  #round = -1;
  #hearsEvents: boolean = false;
  #detach: (() => void) | null = null;

  /** Throws CLUSTER_INVALID, INVALID_OPTION. */
  constructor(options: RecorderOptions) {
    const limits = limitsOf(options);
    const { startNs = 0 } = options;
    checkWhole("startNs", startNs, 0);
    this.#options = options;
    this.#accelerators = compileCluster(options.cluster).accelerators.map(
      ({ name, kind, capacityBytes, baselineBytes }) => ({ name, kind, capacityBytes, baselineBytes }),
    );
    this.#acceleratorNames = this.#accelerators.map(({ name }) => name);
    this.#requests = new RequestBook(limits.requestsMax, this.#tenants);
    this.#operators = new OperatorBook(limits.operatorsMax, this.#operatorNames, this.#requests);
    this.#transfers = new TransferBook(limits.transfersMax);
    this.#hbm = new HbmBook(this.#accelerators.length, limits.hbmStepsMax);
    this.#decisions = new ThinnedList(limits.decisionsMax);
    this.#rejecting = new ThinnedList(limits.decisionsMax);
    this.#noticesMax = limits.noticesMax;
    this.#startNs = startNs;
    this.#endNs = startNs;
    this.onEvent = (event, nowNs) => this.#event(event, nowNs);
  }

  /** Listens from now on, best before anything is registered. Throws ALREADY_ATTACHED. */
  attach(scheduler: RecordedScheduler): void {
    if (this.#detach !== null) {
      const message = "the recorder listens to a scheduler already; finish() it first, or use one recorder for each";
      throw new TimelineError("ALREADY_ATTACHED", message);
    }
    const detachments = (Object.keys(NOTICES) as (keyof Notices)[]).map((name) => {
      const listener = (value: Notices[typeof name]) => this.notice({ name, value } as Notice);
      scheduler.on(name, listener);
      return () => scheduler.off(name, listener);
    });
    this.#detach = () => {
      for (const detach of detachments) detach();
    };
    this.readHbm(scheduler);
  }

  /** Where HBM is read from, for notices that come from elsewhere than an attached scheduler. */
  readHbm(account: HbmAccount): void {
    this.#hbm.read(account, this.#endNs);
  }

  /** One notice, for a master that is not a `SliceScheduler`; those of one come by themselves. */
  notice(notice: Notice): void {
    if (notice.name === "decision") {
      this.#decided(notice.value);
      return;
    }
    this.#heard(notice.value.atNs);
    this.#keep(notice);
    this.#book(notice);
  }

  /** The application tells of one output token of a request, by its number. */
  token(request: number, atNs: number): void {
    this.#heard(atNs);
    this.#requests.token(request, atNs);
  }

  /** What is recorded so far; the recording goes on. Linear in what is kept. */
  record(): RunRecord {
    return {
      label: this.#options.label ?? "",
      startNs: this.#startNs,
      endNs: this.#endNs,
      priorities: [...(this.#options.priorities ?? ["online", "offline"])],
      tenants: [...this.#tenants.list],
      accelerators: this.#accelerators,
      operatorNames: [...this.#operatorNames.list],
      operators: this.#operators.columns(),
      transfers: this.#transfers.columns(),
      hbm: this.#hbm.columns(),
      requests: this.#requests.columns(),
      decisions: this.#recordedDecisions(),
      notices: [...this.#notices],
      dropped: {
        operators: this.#operators.dropped,
        transfers: this.#transfers.dropped,
        hbmSteps: this.#hbm.dropped,
        requests: this.#requests.dropped,
        notices: this.#noticesDropped,
      },
    };
  }

  /** Stops listening. Returns what was recorded. */
  finish(): RunRecord {
    this.#detach?.();
    this.#detach = null;
    return this.record();
  }

  #event(event: MasterEvent, nowNs: number): void {
    this.#hearsEvents = true;
    this.#heard(nowNs);
    if (event.type === "requestOpened") this.#requests.opened(event);
    else if (event.type === "instanceSubmitted") this.#requests.submitted(event, nowNs);
    else if (event.type === "withdrawn") this.#operators.withdrawn(event.issueNumber);
    if (event.type !== "intentsRaised" && event.type !== "timePassed") this.#hbm.sampleAll(nowNs);
  }

  #heard(atNs: number): void {
    if (atNs > this.#endNs) this.#endNs = atNs;
  }

  #decided(decision: Decision): void {
    this.#round = decision.round;
    this.#heard(decision.atNs);
    this.#decisions.add(decision);
    if (decision.candidates.some(({ shortage, outOfMemory }) => shortage !== null || outOfMemory !== null))
      this.#rejecting.add(decision);
  }

  #keep(notice: Notice): void {
    const words = wordsOf(notice, this.#acceleratorNames);
    if (words === null) return;
    if (this.#notices.length === this.#noticesMax) {
      const gone = Math.max(1, this.#noticesMax >> 2);
      this.#notices = this.#notices.slice(gone);
      this.#noticesDropped += gone;
    }
    this.#notices.push(words);
  }

  #book({ name, value }: Exclude<Notice, { name: "decision" }>): void {
    switch (name) {
      case "operatorIssued":
        this.#operators.issued(value, this.#round);
        return;
      case "operatorStarted":
        this.#requests.started(value.request, value.atNs);
        this.#operators.started(value);
        break;
      case "operatorDone":
        this.#operators.ended(value, "done");
        break;
      case "operatorFailed":
        this.#operators.ended(value, "failed");
        break;
      case "operatorWithdrawn":
        this.#operators.withdrawn(value.issueNumber);
        return;
      case "transferDone":
        this.#transfers.done(value, this.#startNs);
        break;
      case "transferQuarantined":
        this.#transfers.quarantined(value);
        return;
      case "instanceDone":
        this.#requests.ended(value.request, value.instance, "done", value.atNs);
        return;
      case "instanceFailed":
        this.#requests.ended(value.request, value.instance, "failed", value.atNs);
        return;
      case "instanceCancelled":
        this.#requests.ended(value.request, value.instance, "cancelled", value.atNs);
        return;
      case "acceleratorLost":
        this.#operators.lost(value.accelerator, value.atNs);
        break;
      case "transferReleased":
      case "standstill":
      case "acceleratorReturned":
      case "acceleratorSuspect":
      case "acceleratorCleared":
      case "acceleratorDraining":
      case "acceleratorDrained":
        return;
    }
    if (!this.#hearsEvents) this.#hbm.sampleAll(value.atNs);
  }

  #recordedDecisions(): RecordedDecisions {
    const kept = new Map<number, Decision>();
    for (const decision of [...this.#decisions.kept, ...this.#rejecting.kept]) kept.set(decision.round, decision);
    return {
      seen: this.#decisions.seen,
      stride: this.#decisions.stride,
      rejectingSeen: this.#rejecting.seen,
      rejectingStride: this.#rejecting.stride,
      kept: [...kept.values()].sort((a, b) => a.round - b.round),
    };
  }
}

function limitsOf(options: RecorderLimits): Required<RecorderLimits> {
  const limits = { ...LIMITS };
  for (const name of Object.keys(LIMITS) as (keyof RecorderLimits)[]) {
    const value = options[name];
    if (value === undefined) continue;
    checkWhole(name, value, 1);
    limits[name] = value;
  }
  return limits;
}
