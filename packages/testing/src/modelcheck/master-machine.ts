import type { ExecutorInstruction } from "@slicescheduler/executor";
import { SubmissionError } from "@slicescheduler/gmg";
import type { Choice, Round, SchedulingPolicy } from "@slicescheduler/scheduler";
import { MasterCore, type MasterEvent, type Notice } from "slicescheduler";
import type { Outcome } from "../run-watcher.ts";
import type { Violation } from "../violation.ts";
import { AGING_NS, ArbiterTwin, arbitrationIn, LATER_NS, type NewArbiter } from "./arbiter-twin.ts";
import type { Machine } from "./machine-table.ts";
import { plantedInstructions, toldCluster } from "./model-plants.ts";
import type { SmallWorld } from "./small-world.ts";

export interface MasterInput {
  readonly events: readonly MasterEvent[];
  /** For each choice between several partitions, which one is taken; the first where there are fewer. */
  readonly picks: readonly number[];
}

export interface MasterOutput {
  readonly instructions: readonly ExecutorInstruction[];
  /** Between how many partitions there was a choice, each time there was one. */
  readonly choices: readonly number[];
}

export interface MasterInfo {
  /** By instance of the script; undefined before it is submitted. */
  readonly outcomes: readonly (Outcome | "refused" | "live" | undefined)[];
  /** Instances, requests, operators and transfers that the graph still has, and reports that wait for what they follow from. */
  readonly inMaster: number;
  /** It is to be told when time has passed. */
  readonly waitsForTime: boolean;
}

/**
 * The real master, its time standing still until time passes: nothing is decided by how long something took. Which partition is taken is no policy's
 * choice but the search's, so what is found holds for every policy.
 */
export class MasterMachine implements Machine<MasterInput, MasterOutput, MasterInfo> {
  readonly core: MasterCore;
  readonly #world: SmallWorld;
  readonly #lot = new Lot();
  readonly #twin: ArbiterTwin | null;
  readonly #outcomes: (Outcome | "refused" | "live" | undefined)[] = [];
  /** Opened for one instance each. */
  readonly #ownRequests = new Set<number>();
  #violation: Violation | null = null;
  #nowNs = 0;

  constructor(world: SmallWorld, newArbiter: NewArbiter | null) {
    this.#world = world;
    const { issuedAheadMax, batchOperatorsMax } = world;
    this.core = new MasterCore({
      cluster: toldCluster(world.cluster, world.plant),
      scheduling: {
        policy: this.#lot,
        slices: false,
        operatorsPerAcceleratorMax: issuedAheadMax,
        batchOperatorsMax,
        // Durations are nothing here; the budget is the maximum.
        simulatedOperatorsPerMs: 1e12,
      },
      arbitration: arbitrationIn(world),
    });
    this.#twin = newArbiter === null ? null : new ArbiterTwin(newArbiter, this.core.graph.cluster, world);
    for (const template of world.templates) this.core.handle({ type: "templateRegistered", template }, 0);
  }

  apply({ events, picks }: MasterInput): MasterOutput {
    this.#lot.begin(picks);
    const instructions: ExecutorInstruction[] = [];
    for (const event of events) {
      instructions.push(...this.#handle(event));
      if (this.#world.plant === "portsFreedTwice" && event.type === "transferDone")
        instructions.push(...this.#freeAnotherPort());
    }
    return { instructions: plantedInstructions(instructions, this.#world.plant), choices: this.#lot.choices };
  }

  encode(): string {
    const { cluster: _cluster, templates: _templates, ledger, ...rest } = this.core.graph.snapshot();
    const memories = ledger.map(({ peakBytes: _peak, ...memory }) => memory);
    return JSON.stringify([rest, memories, this.#outcomes, this.core.waitingReports, this.#nowNs]);
  }

  info(): MasterInfo {
    const { requests, instances, issuedOperators, transfers } = this.core.graph.counts();
    const inMaster = requests + instances + issuedOperators + transfers + this.core.waitingReports.length;
    const waitsForTime = this.core.wakeNs(this.#nowNs) < AGING_NS;
    return { outcomes: [...this.#outcomes], inMaster, waitsForTime };
  }

  check(): Violation | null {
    if (this.#violation !== null) return this.#violation;
    // Where time stands still nothing may wait for it; what is as late as intents age does not count.
    const wakeNs = this.core.wakeNs(this.#nowNs);
    if (wakeNs < (this.#world.fault === "timePasses" ? this.#nowNs + 1 : AGING_NS))
      return { kind: "broken", words: `the master waits for time to pass, until ${wakeNs} ns`, amount: 1 };
    this.core.graph.validate();
    const { claims, cluster, ledger } = this.core.graph;
    for (const { index, name, capacityBytes } of cluster.accelerators) {
      const claimedBytes = claims.takenBytes(index) + claims.workspaceBytes(index);
      if (claimedBytes > claims.roomBytes(index))
        return over(
          `the master has granted ${claimedBytes} bytes on ${name}, which has room for ${claims.roomBytes(index)}`,
        );
      if (ledger.usedBytes(index) > capacityBytes)
        return over(`by the master's books ${name} has ${ledger.usedBytes(index)} bytes in use of ${capacityBytes}`);
    }
    return null;
  }

  #handle(event: MasterEvent): readonly ExecutorInstruction[] {
    if (event.type === "timePassed") this.#nowNs = LATER_NS;
    try {
      const { instructions, notices } = this.core.handle(event, this.#nowNs);
      if (event.type === "instanceSubmitted") this.#outcomes[event.instance] ??= "live";
      if (event.type === "requestOpened" && event.endsWithInstances) this.#ownRequests.add(event.request);
      for (const notice of notices) this.#noted(notice);
      this.#violation ??= this.#twin?.after(instructions, this.core.graph, this.#nowNs) ?? null;
      return instructions;
    } catch (error) {
      // What it would read has failed or was cancelled before.
      if (!(error instanceof SubmissionError)) throw error;
      if (event.type !== "instanceSubmitted") return [];
      this.#outcomes[event.instance] = "refused";
      // As the shell does for a request that was opened for this instance alone.
      const isAlone = this.#ownRequests.has(event.request);
      return isAlone ? this.#handle({ type: "requestClosed", request: event.request }) : [];
    }
  }

  #noted({ name, value }: Notice): void {
    switch (name) {
      case "instanceDone":
        this.#settled(value.instance, "done");
        return;
      case "instanceCancelled":
        this.#settled(value.instance, "cancelled");
        return;
      case "instanceFailed":
        this.#settled(value.instance, "failed");
        if (this.#world.fault === null)
          this.#violated("lost", `instance ${value.instance} failed although nothing did: ${value.error.message}`);
        return;
      case "standstill":
        this.#violated("standstills", value.reason);
        return;
      default:
    }
  }

  #settled(instance: number, outcome: Outcome): void {
    const before = this.#outcomes[instance];
    if (before !== undefined && before !== "live")
      this.#violated("doubled", `instance ${instance} is ${outcome}, and was ${before} already`);
    this.#outcomes[instance] = outcome;
  }

  #violated(kind: Violation["kind"], words: string): void {
    this.#violation ??= { kind, words, amount: 1 };
  }

  /** The planted fault: another transfer that moves and shares a port is taken for done too. */
  #freeAnotherPort(): readonly ExecutorInstruction[] {
    for (const { number, state } of this.core.graph.transfers()) {
      if (state === "sending") return this.#handle({ type: "transferDone", transfer: number, observedNs: 1 });
    }
    return [];
  }
}

/** What may go wrong that the master is told of by nobody but the application and the clock. */
export function faultsAtMaster({ outcomes, waitsForTime }: MasterInfo, { fault }: SmallWorld): readonly MasterEvent[] {
  if (fault === "timePasses") return waitsForTime ? [{ type: "timePassed" }] : [];
  if (fault !== "cancel") return [];
  return outcomes.flatMap((outcome, instance) =>
    outcome === "live" ? [{ type: "instanceCancelled" as const, instance }] : [],
  );
}

/** Takes what the search says, and tells between how many there was a choice. */
class Lot implements SchedulingPolicy {
  readonly name = "any";
  #picks: readonly number[] = [];
  #choices: number[] = [];

  begin(picks: readonly number[]): void {
    this.#picks = picks;
    this.#choices = [];
  }

  get choices(): readonly number[] {
    return this.#choices;
  }

  choose({ candidates }: Round): Choice {
    const scoresNs = candidates.map(() => null);
    const pick = candidates.length === 1 ? 0 : (this.#picks[this.#choices.push(candidates.length) - 1] ?? 0);
    const candidate = candidates[pick];
    if (candidate === undefined) throw new RangeError(`there is no candidate ${pick} of ${candidates.length}`);
    return { candidate, scoresNs };
  }
}

function over(words: string): Violation {
  return { kind: "overCapacity", words, amount: 1 };
}
