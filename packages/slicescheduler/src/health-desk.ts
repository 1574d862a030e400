import type { GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";
import type { Scheduler } from "@slicescheduler/scheduler";
import {
  type CheckedHealth,
  checkedHealth,
  DEFAULT_HEALTH,
  Health,
  type HealthOptions,
  type HealthStep,
} from "./health.ts";
import { type Owed, owedReports } from "./health-owed.ts";
import type { Outbox } from "./outbox.ts";

/** Gives an accelerator up that does not answer, or always fails. */
export type GiveUp = (accelerator: number, reason: string, fatal: boolean) => void;

/** Watches the accelerators of a graph, and takes what their health asks for to the graph, the executor and the listeners. */
export class HealthDesk {
  readonly #graph: GlobalMappingGraph;
  readonly #scheduler: Scheduler;
  readonly #outbox: Outbox;
  /** Null where nobody is suspected of anything. */
  readonly #options: CheckedHealth | null;
  readonly #health: Health;
  readonly #watchesSilence: boolean;
  readonly #watchesQuarantine: boolean;
  /** Whether accelerators can be given up. */
  readonly hasProbes: boolean;
  /** What is owed, and since which look. */
  #owedSinceNs = new Map<string, number>();
  #nextLookNs = Number.POSITIVE_INFINITY;
  /** By instance. */
  readonly #retries = new Map<number, number>();

  /** @param hasProbes Whether the executor answers probes and gives accelerators up. */
  constructor(
    graph: GlobalMappingGraph,
    scheduler: Scheduler,
    outbox: Outbox,
    options: HealthOptions | false,
    hasProbes: boolean,
  ) {
    this.#graph = graph;
    this.#scheduler = scheduler;
    this.#outbox = outbox;
    this.hasProbes = hasProbes && options !== false;
    this.#options = options === false ? null : checkedHealth(options);
    this.#watchesQuarantine = (this.#options?.quarantineNsMax ?? Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY;
    this.#health = new Health(graph.cluster.accelerators.length, this.#options ?? DEFAULT_HEALTH, hasProbes);
    this.#watchesSilence =
      hasProbes && (this.#options?.silentNsMin ?? Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY;
  }

  /** Goes on where another one is, over a copy of its graph, which does not have what is avoided. */
  continueFrom(other: HealthDesk): void {
    this.#health.continueFrom(other.#health);
    for (const [instance, retries] of other.#retries) this.#retries.set(instance, retries);
    for (const { index } of this.#graph.cluster.accelerators)
      if (other.#graph.isAvoided(index)) this.#graph.avoidAccelerator(index, true);
  }

  /** When `due` has something to do at the latest; Infinity when only reports can change anything. */
  get nextNs(): number {
    return this.#options === null ? Number.POSITIVE_INFINITY : Math.min(this.#health.nextNs, this.#nextLookNs);
  }

  /**
   * What is owed is looked at from time to time, as long as anything may be. To be asked after every event.
   * @param isNews Whether the event was more than the passing of time.
   */
  arm(nowNs: number, isNews: boolean): void {
    if (!this.#watchesSilence) return;
    if (!this.#mayOwe()) this.#nextLookNs = Number.POSITIVE_INFINITY;
    else if (isNews && this.#nextLookNs === Number.POSITIVE_INFINITY) this.#nextLookNs = nowNs + this.#lookNs();
  }

  /** Looks for what is overdue, and ends rounds of probes. */
  due(nowNs: number, giveUp: GiveUp): void {
    if (this.nextNs > nowNs) return;
    if (this.#nextLookNs <= nowNs) this.#look(nowNs, giveUp);
    for (const step of this.#health.due(nowNs, (accelerator) => this.#isOverdue(accelerator, nowNs)))
      this.#carryOut(step, nowNs, giveUp);
  }

  succeeded(accelerator: number): void {
    this.#health.succeeded(accelerator);
  }

  /** An operator has failed there. Tells whether its instance gets another try. */
  faulted(operator: OperatorNode, nowNs: number, giveUp: GiveUp): boolean {
    if (this.#options === null) return false;
    for (const step of this.#health.faulted(operator.accelerator, nowNs)) this.#carryOut(step, nowNs, giveUp);
    const { id } = operator.instance;
    const retries = this.#retries.get(id) ?? 0;
    if (operator.state !== "issued" || retries >= this.#options.retriesPerInstanceMax) return false;
    if (this.#retries.size >= RETRIES_KEPT) this.#forgetEnded();
    this.#retries.set(id, retries + 1);
    return true;
  }

  probed(
    { accelerator, probe, healthy }: { accelerator: number; probe: number; healthy: boolean },
    nowNs: number,
    giveUp: GiveUp,
  ): void {
    const isOverdue = () => this.#isOverdue(accelerator, nowNs);
    for (const step of this.#health.probed(accelerator, probe, healthy, isOverdue)) this.#carryOut(step, nowNs, giveUp);
  }

  /** It is lost with all that it owed. */
  lost(accelerator: number): void {
    this.#health.gone(accelerator);
    this.#graph.avoidAccelerator(accelerator, false);
  }

  returned(accelerator: number): void {
    this.#health.returned(accelerator);
  }

  #carryOut(step: HealthStep, nowNs: number, giveUp: GiveUp): void {
    const { accelerator } = step;
    switch (step.type) {
      case "suspect":
        this.#avoid(accelerator, true);
        this.#outbox.tellAccelerator("acceleratorSuspect", accelerator, nowNs, step.reason);
        return;
      case "probe":
        this.#outbox.instruct({ type: "probe", accelerator, probe: step.probe });
        return;
      case "clear":
        this.#avoid(accelerator, false);
        this.#outbox.tellAccelerator("acceleratorCleared", accelerator, nowNs);
        return;
      case "giveUp":
        giveUp(accelerator, step.reason, step.fatal);
    }
  }

  #avoid(accelerator: number, avoided: boolean): void {
    this.#graph.avoidAccelerator(accelerator, avoided);
    this.#scheduler.placesChanged();
  }

  #look(nowNs: number, giveUp: GiveUp): void {
    const before = this.#owedSinceNs;
    const owed = this.#owed();
    this.#owedSinceNs = new Map(owed.map(({ key }) => [key, before.get(key) ?? nowNs]));
    // Nothing is owed until something happens.
    this.#nextLookNs = owed.length === 0 ? Number.POSITIVE_INFINITY : nowNs + this.#lookNs();
    for (const report of owed) {
      if (!this.#isLate(report, nowNs)) continue;
      const what = `${report.words} has been owed for ${nowNs - this.#sinceNs(report, nowNs)} ns`;
      for (const step of this.#health.overdue(report.accelerator, nowNs, what)) this.#carryOut(step, nowNs, giveUp);
    }
  }

  #isOverdue(accelerator: number, nowNs: number): boolean {
    if (!this.#watchesSilence) return false;
    return this.#owed().some((report) => report.accelerator === accelerator && this.#isLate(report, nowNs));
  }

  #isLate(report: Owed, nowNs: number): boolean {
    const { silentNsMin, silentFactor, quarantineNsMax } = this.#options ?? DEFAULT_HEALTH;
    const waitNs = report.isQuarantine ? quarantineNsMax : Math.max(silentNsMin, silentFactor * report.expectedNs);
    return nowNs - this.#sinceNs(report, nowNs) >= waitNs;
  }

  #sinceNs({ key }: Owed, nowNs: number): number {
    return this.#owedSinceNs.get(key) ?? nowNs;
  }

  #owed(): Owed[] {
    return owedReports(this.#graph, this.#scheduler, { quarantines: this.#watchesQuarantine });
  }

  /** Whether anything may be owed, now or later. */
  #mayOwe(): boolean {
    const { issuedOperators, transfers } = this.#graph.counts();
    if (issuedOperators > 0 || (transfers > 0 && this.#watchesQuarantine)) return true;
    for (const { state } of this.#graph.transfers()) if (state !== "quarantined") return true;
    return false;
  }

  #lookNs(): number {
    return Math.ceil((this.#options?.silentNsMin ?? 1) / LOOKS_PER_SILENCE);
  }

  #forgetEnded(): void {
    for (const id of this.#retries.keys()) if (this.#graph.instance(id) === undefined) this.#retries.delete(id);
  }
}

/** What is owed is looked at so often in the time after which it is overdue: it is noticed a half of that later at most. */
const LOOKS_PER_SILENCE = 2;

/** Counts of retries of instances that have ended are forgotten when there are so many. */
const RETRIES_KEPT = 1024;
