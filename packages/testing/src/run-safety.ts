import { unitOf } from "./hash.ts";
import type { RunOptions } from "./run-workload.ts";
import type { Violation, ViolationKind } from "./violation.ts";
import { WorkloadRun } from "./workload-run.ts";

/** How often each promise was broken, see `ViolationKind`; of memory that leaked, the bytes. All 0 when all is well. */
export type SafetyCounts = Readonly<Record<ViolationKind, number>>;

export interface SafetyReport {
  readonly counts: SafetyCounts;
  /** What was broken, in words. */
  readonly violations: readonly string[];
  /** Instances by what became of them; `refused` were not taken on. */
  readonly outcomes: Readonly<Record<"done" | "failed" | "cancelled" | "refused", number>>;
  readonly operatorsDone: number;
  readonly transfersDone: number;
  readonly acceleratorsLost: number;
  /** Standstills that the scheduler told of. */
  readonly standstillsTold: number;
  /** Whether an instance was seen to wait for memory. */
  readonly waitedForMemory: boolean;
  /** The fullest that an accelerator ever was, of what it has beside baseline and weights, from 0 to 1. */
  readonly fullest: number;
  /** Equal for equal runs. */
  readonly digest: number;
}

/** Events of the clock after which a run is said not to end. */
const EVENTS_MAX = 200_000;

/** Every so many events it is looked whether somebody waits for memory. */
const LOOK_EVERY = 4;

/**
 * Runs a world to its end, whatever breaks on the way, and counts what broke. With `memorySafety: "predicted"`, allocations that
 * are refused and standstills that the scheduler resolves are no breach. Throws nothing that the run itself causes.
 */
export async function runSafety(options: RunOptions): Promise<SafetyReport> {
  const run = new WorkloadRun({ ...options, validate: options.validate ?? false });
  const found = new Map<string, Violation>();
  const note = (violations: readonly Violation[]) => {
    for (const violation of violations) found.set(`${violation.kind} ${violation.words}`, violation);
  };
  const seen = { waitedForMemory: false, fullest: 0 };
  let events = 0;
  const crash = attempt(() => {
    while (run.errors.length === 0 && events < EVENTS_MAX && run.step()) {
      note(run.found());
      look(run, events++, seen);
    }
  });
  await Promise.resolve();
  if (events === EVENTS_MAX) note([broken(`the run does not end: ${EVENTS_MAX} events`)]);
  if (crash !== null) note([broken(`thrown at ${run.time.nowNs()} ns: ${crash}`)]);
  else if (run.errors.length === 0) note(run.foundAtEnd());
  // Once something was thrown nobody can be sure of the rest; what was taken on has no outcome all the same.
  if (crash !== null || run.errors.length > 0) {
    run.watcher.end();
    note(run.watcher.found.filter(({ kind }) => kind === "lost"));
  }
  note(run.errors.map((error) => broken(`thrown where nobody caught it: ${wordsOf(error)}`)));
  return report(run, options, [...found.values()], seen);
}

function report(
  run: WorkloadRun,
  { workload }: RunOptions,
  found: readonly Violation[],
  seen: { readonly waitedForMemory: boolean; readonly fullest: number },
): SafetyReport {
  const counts = { overCapacity: 0, standstills: 0, lost: 0, doubled: 0, leakedBytes: 0, broken: 0 };
  // What breaks a promise comes before what only contradicts itself.
  const order = Object.keys(counts);
  const sorted = [...found].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  for (const { kind, amount } of found) counts[kind] += amount;
  const outcomes = { done: 0, failed: 0, cancelled: 0, refused: 0 };
  for (const index of workload.instances.keys()) {
    if (!run.application.handles.has(index)) outcomes.refused += 1;
    const outcome = run.outcome(index);
    if (outcome !== null) outcomes[outcome] += 1;
  }
  let digest = 0;
  for (const { name, value } of run.log) {
    let who = 0;
    if ("instance" in value) who = value.instance;
    else if ("transfer" in value) who = value.transfer;
    else if ("accelerator" in value) who = value.accelerator;
    digest = Math.floor(2 ** 32 * unitOf(digest, name.length, value.atNs % 2 ** 32, who));
  }
  const told = (notice: string) => run.log.filter(({ name }) => name === notice).length;
  return {
    counts,
    violations: sorted.map(({ kind, words }) => `${kind}: ${words}`),
    outcomes,
    operatorsDone: told("operatorDone"),
    transfersDone: told("transferDone"),
    acceleratorsLost: told("acceleratorLost"),
    standstillsTold: told("standstill"),
    ...seen,
    digest,
  };
}

/** What tells a world in which memory was short from one in which it was not. */
function look(run: WorkloadRun, event: number, seen: { waitedForMemory: boolean; fullest: number }): void {
  for (const { index, capacityBytes } of run.books.cluster.accelerators) {
    const restingBytes = run.books.restingBytes(index);
    const freeBytes = capacityBytes - restingBytes;
    if (freeBytes > 0) seen.fullest = Math.max(seen.fullest, (run.books.usedBytes(index) - restingBytes) / freeBytes);
  }
  if (seen.waitedForMemory || event % LOOK_EVERY !== 0) return;
  for (const { id } of run.application.handles.values()) {
    if (run.watcher.outcome(id) !== null) continue;
    const waits = run.scheduler.explain(id)?.operators.some(({ waiting }) => waiting?.why === "memory");
    if (waits === true) seen.waitedForMemory = true;
  }
}

/** Null when nothing was thrown. */
function attempt(act: () => void): string | null {
  try {
    act();
    return null;
  } catch (error) {
    return wordsOf(error);
  }
}

function broken(words: string): Violation {
  return { kind: "broken", words, amount: 1 };
}

function wordsOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  const words = error instanceof Error ? error.message : String(error);
  return code === undefined ? words : `${String(code)}: ${words}`;
}
