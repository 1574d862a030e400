import type { ExecutorEvent, ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";
import { type Moment, observedWords } from "./moment.ts";
import { ALWAYS, type Breach, type Rule } from "./rules.ts";
import { TransferWatch } from "./transfer-watch.ts";
import { eventWords } from "./words.ts";

interface Life {
  readonly instruction: IssueInstruction;
  readonly issued: Moment;
  rank: number;
  activated: boolean;
  /** Inputs that are not present on its accelerator. */
  readonly missing: Set<number>;
  /** An input will never come, as far as it was heard. */
  stuck: boolean;
  /** When something was last said about it. */
  saidLast: number;
  /** When it was allowed to run, by its issue or later. */
  allowed: number;
  ready: Moment | null;
  started: Moment | null;
  ended: string | null;
}

type OperatorEvent = Extract<ExecutorEvent, { readonly issueNumber: number }>;

/**
 * Holds everything that is said and heard against the rules that hold at any moment, by a slow model of its own: which operators are there,
 * what they still miss, who would be the next to start. Keeps the first breach.
 */
export class EventWatch {
  breach: Breach | null = null;
  readonly #simulated: boolean;
  readonly #runsAhead: boolean;
  readonly #lives = new Map<number, Life>();
  readonly #transfers: TransferWatch;
  /** `"tensor@accelerator"` of every copy that was there. */
  readonly #present = new Set<string>();
  readonly #absent: Set<number>;
  /** By accelerator, where it runs ahead: the newest moment of which it has shown that it had heard what was said then. */
  readonly #knows = new Map<number, number>();
  #order = 0;
  #nowNs = 0;
  /** When the first of the starts that are being heard was heard: what is said after it counts for later ones. */
  #decided = -1;
  #startsAreHeard = false;

  constructor(simulated: boolean, runsAhead: boolean, absent: readonly number[]) {
    this.#simulated = simulated;
    this.#runsAhead = runsAhead;
    this.#absent = new Set(absent);
    this.#transfers = new TransferWatch(simulated, (rule, expected, seen) => this.#breaks(rule, expected, seen));
  }

  /** The instructions of one batch, before they are given. */
  told(instructions: readonly ExecutorInstruction[], nowNs: number, isInsideEvent: boolean): void {
    const moment = this.#moment(nowNs);
    if (!isInsideEvent) this.#startsAreHeard = false;
    for (const instruction of instructions) this.#tell(instruction, moment);
  }

  heard(event: ExecutorEvent, nowNs: number): void {
    const moment = this.#moment(nowNs);
    const belongsToStart =
      event.type === "operatorStarted" || (event.type === "operatorFailed" && event.cause === "outOfMemory");
    if (belongsToStart && !this.#startsAreHeard) this.#decided = moment.order;
    this.#startsAreHeard = belongsToStart;
    if ("issueNumber" in event) this.#operatorHeard(event, moment);
    else if (event.type === "acceleratorLost") this.#lost(event.accelerator);
    else if (event.type === "acceleratorReturned") this.#returned(event.accelerator);
    else if (event.type !== "probed") {
      const change = this.#transfers.heard(event, moment, (tensor, source) => this.#canRaise(tensor, source));
      if (change?.arrived === true) this.#arrive(change.tensor, change.destination, moment);
      else if (change !== null) this.#getStuck(change.tensor, change.destination);
    }
  }

  #tell(instruction: ExecutorInstruction, moment: Moment): void {
    if (instruction.type === "issue") this.#issue(instruction, moment);
    else if (instruction.type === "activate") this.#activate(instruction.issueNumber, moment);
    else if (instruction.type === "rerank") {
      const life = this.#lives.get(instruction.issueNumber);
      if (life?.started === null) {
        life.rank = instruction.rank;
        life.saidLast = moment.order;
      }
    } else this.#transfers.told(instruction, moment);
  }

  #issue(instruction: IssueInstruction, moment: Moment): void {
    const { issueNumber, accelerator, inputs, rank, activated } = instruction;
    if (this.#absent.has(accelerator)) return;
    const missing = new Set<number>();
    for (const { tensor, transfer, source } of inputs) {
      if (this.#isPresent(tensor, accelerator)) continue;
      missing.add(tensor);
      if (transfer !== null) this.#transfers.plan({ transfer, tensor, source, destination: accelerator });
    }
    const life: Life = {
      instruction,
      issued: moment,
      rank,
      activated,
      missing,
      stuck: false,
      saidLast: moment.order,
      allowed: moment.order,
      ready: missing.size === 0 ? moment : null,
      started: null,
      ended: null,
    };
    this.#lives.set(issueNumber, life);
  }

  #activate(issueNumber: number, moment: Moment): void {
    const life = this.#lives.get(issueNumber);
    if (life === undefined || life.activated) return;
    life.activated = true;
    life.saidLast = moment.order;
    life.allowed = moment.order;
  }

  #operatorHeard(event: OperatorEvent, moment: Moment): void {
    const { issueNumber } = event;
    const life = this.#lives.get(issueNumber);
    if (life === undefined) {
      this.#breaks(ALWAYS.known, "an event about an issue that is there", eventWords(event));
      return;
    }
    if (this.#absent.has(life.instruction.accelerator)) {
      this.#breaks(ALWAYS.lost, "silence", eventWords(event));
      return;
    }
    if (life.ended !== null) {
      this.#breaks(ALWAYS.operatorLife, `nothing after ${life.ended} ${issueNumber}`, eventWords(event));
      return;
    }
    this.#shows(life, event);
    if (event.type === "operatorStarted") this.#start(life, moment);
    else this.#end(life, event, moment);
  }

  #start(life: Life, moment: Moment): void {
    const { issueNumber, accelerator } = life.instruction;
    const seen = `operatorStarted ${issueNumber}`;
    if (life.started !== null) this.#breaks(ALWAYS.operatorLife, `one start of ${issueNumber}`, `${seen} again`);
    if (!life.activated) this.#breaks(ALWAYS.heldBack, `no start of ${issueNumber}, which is held back`, seen);
    if (life.missing.size > 0 || life.stuck)
      this.#breaks(
        ALWAYS.inputs,
        `no start of ${issueNumber} before ${[...life.missing].join()} is on ${accelerator}`,
        seen,
      );
    for (const other of this.#lives.values()) {
      if (other === life || other.instruction.accelerator !== accelerator || other.ended !== null) continue;
      const { issueNumber: number } = other.instruction;
      if (other.started !== null) this.#breaks(ALWAYS.alone, `${issueNumber} waits until ${number} has ended`, seen);
      else if (this.#goesBefore(other, life))
        this.#breaks(ALWAYS.order, `${placeOf(other)} starts before ${placeOf(life)}`, seen);
    }
    life.started = moment;
  }

  /** What an accelerator does shows what it had heard by then: the issue, and what allowed the operator to run. All that was said before counts too. */
  #shows({ instruction, issued, allowed }: Life, { type }: OperatorEvent): void {
    const { accelerator } = instruction;
    const order = type === "operatorStarted" || type === "operatorDone" ? allowed : issued.order;
    this.#knows.set(accelerator, Math.max(this.#knows.get(accelerator) ?? -1, order));
  }

  /** Whether it had to start before another that has started; false where that cannot be told. */
  #goesBefore(other: Life, life: Life): boolean {
    if (!other.activated || other.ready === null || other.stuck || other.missing.size > 0) return false;
    if (this.#runsAhead) return this.#wentBefore(other, other.ready, life);
    if (Math.max(other.saidLast, life.saidLast, other.ready.order) > this.#decided) return false;
    if (other.rank !== life.rank) return other.rank < life.rank;
    if (life.ready === null) return false;
    const isSameMoment = this.#simulated
      ? other.ready.nowNs === life.ready.nowNs
      : other.ready.order === life.ready.order;
    if (isSameMoment) return other.instruction.issueNumber < life.instruction.issueNumber;
    return other.ready.order < life.ready.order && other.ready.nowNs < life.ready.nowNs;
  }

  /**
   * The same of an accelerator that runs ahead: the other has to count only if all that was said of both was known there when one started, and what is heard
   * to be ready may have been so since its issue.
   */
  #wentBefore(other: Life, otherReady: Moment, life: Life): boolean {
    const known = this.#knows.get(life.instruction.accelerator) ?? -1;
    if (Math.max(other.saidLast, life.saidLast) > known) return false;
    if (other.rank !== life.rank) return other.rank < life.rank;
    if (otherReady.order === life.ready?.order) return other.instruction.issueNumber < life.instruction.issueNumber;
    return otherReady.order < life.issued.order;
  }

  #end(life: Life, event: OperatorEvent, moment: Moment): void {
    const { issueNumber, accelerator, outputs } = life.instruction;
    const { started } = life;
    const ranBefore = event.type === "operatorDone" || (event.type === "operatorFailed" && event.cause === "fault");
    if (ranBefore !== (started !== null)) {
      const expected = ranBefore
        ? `operatorStarted ${issueNumber} first`
        : `operatorDone or operatorFailed of ${issueNumber}, which runs`;
      this.#breaks(ALWAYS.operatorLife, expected, eventWords(event));
    }
    life.ended = event.type;
    if (event.type === "operatorDone") {
      const since = this.#simulated && !this.#runsAhead ? started : life.issued;
      if (since !== null) this.#observed(event, since, moment);
      for (const { tensor } of outputs) this.#arrive(tensor, accelerator, moment);
    } else for (const { tensor } of outputs) this.#getStuck(tensor, accelerator);
  }

  #observed(event: Extract<ExecutorEvent, { readonly observedNs: number }>, since: Moment, { nowNs }: Moment): void {
    const words = observedWords(event.observedNs, since.nowNs, nowNs, this.#simulated);
    if (words !== null) this.#breaks(ALWAYS.observed, words, eventWords(event));
  }

  #arrive(tensor: number, accelerator: number, moment: Moment): void {
    this.#present.add(`${tensor}@${accelerator}`);
    for (const life of this.#lives.values()) {
      if (life.instruction.accelerator !== accelerator || life.stuck || !life.missing.delete(tensor)) continue;
      if (life.missing.size === 0) life.ready = moment;
    }
  }

  #getStuck(tensor: number, accelerator: number): void {
    this.#present.delete(`${tensor}@${accelerator}`);
    for (const life of this.#lives.values())
      if (life.instruction.accelerator === accelerator && life.missing.has(tensor)) life.stuck = true;
  }

  #lost(accelerator: number): void {
    if (this.#absent.has(accelerator))
      this.#breaks(ALWAYS.lost, `no second loss of ${accelerator}`, `acceleratorLost ${accelerator}`);
    this.#absent.add(accelerator);
    for (const life of this.#lives.values())
      if (life.instruction.accelerator === accelerator) life.ended ??= "acceleratorLost";
    for (const key of this.#present) if (key.endsWith(`@${accelerator}`)) this.#present.delete(key);
    for (const { tensor, destination } of this.#transfers.lose(accelerator)) this.#getStuck(tensor, destination);
  }

  #returned(accelerator: number): void {
    if (!this.#absent.delete(accelerator))
      this.#breaks(ALWAYS.lost, `no return of ${accelerator}, which is there`, `acceleratorReturned ${accelerator}`);
  }

  /** The tensor is there, or its producer runs, so that its end comes next. */
  #canRaise(tensor: number, source: number): boolean {
    if (this.#isPresent(tensor, source)) return true;
    for (const { instruction, started, ended } of this.#lives.values())
      if (started !== null && ended === null && instruction.outputs.some((output) => output.tensor === tensor))
        return true;
    return false;
  }

  #isPresent(tensor: number, accelerator: number): boolean {
    return this.#present.has(`${tensor}@${accelerator}`);
  }

  #moment(nowNs: number): Moment {
    if (!Number.isSafeInteger(nowNs) || nowNs < this.#nowNs)
      this.#breaks(ALWAYS.clock, `a whole time from ${this.#nowNs} ns on`, `clock.nowNs() is ${nowNs}`);
    else this.#nowNs = nowNs;
    return { order: this.#order++, nowNs };
  }

  #breaks({ rule, where }: Rule, expected: string, seen: string): void {
    this.breach ??= { rule, where, expected, seen };
  }
}

function placeOf({ instruction, rank, ready }: Life): string {
  return `${instruction.issueNumber} (rank ${rank}, ready at ${ready?.nowNs ?? -1} ns)`;
}
