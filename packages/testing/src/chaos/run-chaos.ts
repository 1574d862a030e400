import { EVENT_KIND, type Executor, type FaultCounts } from "@slicescheduler/executor";
import { relayedExecutor } from "../relayed-executor.ts";
import type { Violation, ViolationKind } from "../violation.ts";
import { WorkloadRun } from "../workload-run.ts";
import type { ChaosWorld } from "./chaos-world.ts";

/** A fault of the product or of the backend, put into a run of chaos, which must find it. */
export type ChaosPlant = "notWatched" | "notGivenUp" | "releasesDropped" | "runsTwice";

/** What each of them does. */
export const CHAOS_PLANTS: Readonly<Record<ChaosPlant, string>> = {
  notWatched: "nobody watches the health of accelerators",
  notGivenUp: "executors do not carry out that an accelerator is given up",
  releasesDropped: "every other release is dropped",
  runsTwice: "every other operator runs a second time",
};

export function isChaosPlant(name: string): name is ChaosPlant {
  return Object.hasOwn(CHAOS_PLANTS, name);
}

export interface ChaosReport {
  /** How often each promise was broken; of memory that leaked, the bytes. All 0 when all is well. */
  readonly counts: Readonly<Record<ViolationKind, number>>;
  /** What was broken, in words. */
  readonly violations: readonly string[];
  readonly simulatedNs: number;
  /** Instances that were taken on, and what became of them. */
  readonly requests: number;
  readonly outcomes: Readonly<Record<"done" | "failed" | "cancelled", number>>;
  /** From a submission to its outcome, the longest. */
  readonly longestToOutcomeNs: number;
  readonly faults: FaultCounts;
  /** Notices of each kind: accelerators lost, suspect, cleared, returned; operators tried again; transfers quarantined. */
  readonly told: Readonly<Record<string, number>>;
  readonly lateEvents: number;
  readonly earlyEvents: number;
}

/** Events of the clock after which a run is said not to end. */
const EVENTS_MAX = 400_000;

/** Recounts are linear in what is there: every so many events. */
const LOOK_EVERY = 32;

/** Runs a world of chaos to its end, whatever breaks on the way, and counts what broke. Throws nothing that the run itself causes. */
export async function runChaos(world: ChaosWorld, plant: ChaosPlant | null = null): Promise<ChaosReport> {
  const run = new WorkloadRun({
    ...world,
    ...(plant === "notWatched" ? { health: false } : {}),
    plant: plant === "releasesDropped" ? "leakedBytes" : plant === "runsTwice" ? "doubled" : null,
    ...(plant === "notGivenUp" ? { between: deafToGiveUp } : {}),
  });
  const told: Record<string, number> = {};
  const count = (name: string) => {
    told[name] = (told[name] ?? 0) + 1;
  };
  for (const name of ["acceleratorLost", "acceleratorSuspect", "acceleratorCleared", "acceleratorReturned"] as const)
    run.scheduler.on(name, () => count(name));
  run.scheduler.on("transferQuarantined", () => count("transferQuarantined"));
  run.scheduler.on("operatorFailed", ({ again }) => count(again ? "operatorTriedAgain" : "operatorFailed"));
  resumeLater(run, world.resumeAfterNs);
  const excused = standstillsBehindQuarantine(run, () => count("standstillBehindQuarantine"));
  const found = new Map<string, Violation>();
  const note = (violations: readonly Violation[]) => {
    for (const violation of violations)
      if (!excused.has(violation.words)) found.set(`${violation.kind} ${violation.words}`, violation);
  };
  let events = 0;
  try {
    while (run.errors.length === 0 && events < EVENTS_MAX && run.step())
      if (events++ % LOOK_EVERY === 0) note(run.found());
    await Promise.resolve();
    if (events === EVENTS_MAX) note([broken(`the run does not end: ${EVENTS_MAX} events`)]);
    else if (run.errors.length === 0) note(run.foundAtEnd());
  } catch (error) {
    note([broken(`thrown at ${run.time.nowNs()} ns: ${wordsOf(error)}`)]);
    run.watcher.end();
    note(run.watcher.found.filter(({ kind }) => kind === "lost"));
  }
  note(run.errors.map((error) => broken(`thrown where nobody caught it: ${wordsOf(error)}`)));
  return report(run, world, [...found.values()], told);
}

/**
 * What is quarantined keeps memory that was to be free by then: whoever cannot do without it gives way, also where memory is guaranteed.
 * By the words that `WorkloadRun` has for it.
 */
function standstillsBehindQuarantine(run: WorkloadRun, onExcused: () => void): ReadonlySet<string> {
  const quarantined = new Set<number>();
  const excused = new Set<string>();
  run.scheduler.on("transferQuarantined", ({ transfer }) => quarantined.add(transfer));
  run.scheduler.on("transferReleased", ({ transfer }) => quarantined.delete(transfer));
  run.scheduler.on("standstill", ({ atNs, reason, failed }) => {
    if (quarantined.size === 0 || failed === null) return;
    excused.add(`at ${atNs} ns: ${reason}`);
    onExcused();
  });
  return excused;
}

/** What an operator of the cluster does: sees to a lost accelerator and lets it in again. */
function resumeLater(run: WorkloadRun, afterNs: number): void {
  let resumed = 0;
  run.scheduler.on("acceleratorLost", ({ acceleratorName, atNs }) => {
    run.time.at(atNs + afterNs, { kind: EVENT_KIND.application, number: RESUMES + resumed++ }, () =>
      run.scheduler.resumeAccelerator(acceleratorName),
    );
  });
}

/** Behind all that the application asks at that instant. */
const RESUMES = 1e9;

function deafToGiveUp(executor: Executor): Executor {
  return relayedExecutor(executor, {
    execute: (instructions, pass) => pass(instructions.filter(({ type }) => type !== "giveUp")),
  });
}

function report(
  run: WorkloadRun,
  { workload }: ChaosWorld,
  found: readonly Violation[],
  told: Readonly<Record<string, number>>,
): ChaosReport {
  const counts = { overCapacity: 0, standstills: 0, lost: 0, doubled: 0, leakedBytes: 0, broken: 0 };
  for (const { kind, amount } of found) counts[kind] += amount;
  const outcomes = { done: 0, failed: 0, cancelled: 0 };
  const submittedNs = new Map<number, number>();
  for (const [index, { id }] of run.application.handles) {
    submittedNs.set(id, workload.instances[index]?.atNs ?? 0);
    const outcome = run.outcome(index);
    if (outcome !== null) outcomes[outcome] += 1;
  }
  let longestToOutcomeNs = 0;
  for (const { name, value } of run.log) {
    if (name !== "instanceDone" && name !== "instanceFailed" && name !== "instanceCancelled") continue;
    longestToOutcomeNs = Math.max(longestToOutcomeNs, value.atNs - (submittedNs.get(value.instance) ?? value.atNs));
  }
  const { lateEvents, earlyEvents } = run.scheduler.stats();
  return {
    counts,
    violations: found.map(({ kind, words }) => `${kind}: ${words}`),
    simulatedNs: run.time.nowNs(),
    requests: run.application.handles.size,
    outcomes,
    longestToOutcomeNs,
    faults: { ...run.executor.faultCounts(), ...run.messageFaults() },
    told,
    lateEvents,
    earlyEvents,
  };
}

function broken(words: string): Violation {
  return { kind: "broken", words, amount: 1 };
}

function wordsOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  const words = error instanceof Error ? error.message : String(error);
  return code === undefined ? words : `${String(code)}: ${words}`;
}
