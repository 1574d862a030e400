import { type Deadlines, deadlineOf, type Overdue } from "./deadlines.ts";
import { ArbitrationError } from "./errors.ts";
import type { IntentQueue } from "./intent-queue.ts";
import { holdsPorts, replay } from "./moves.ts";
import type { ArbitrationOptions, MoveRecord, Selection, TransferState } from "./types.ts";

/** What the check wants to know of a live transfer. */
interface Checked extends Overdue {
  readonly selection: Selection;
  readonly expectedNs: number;
  readonly state: TransferState;
  readonly history: readonly MoveRecord[];
}

/** Recounts ports, intents, states and deadlines from the transfers alone; throws INVARIANT_BROKEN with every fault. */
export function checkArbiter<T extends Checked>(
  queue: IntentQueue,
  live: ReadonlyMap<number, T>,
  deadlines: Deadlines<T>,
  options: Required<ArbitrationOptions>,
): void {
  const faults: string[] = [];
  let pending = 0;
  let holding = 0;
  let nextNs = Number.POSITIVE_INFINITY;
  for (const [transfer, entry] of live) {
    const { state, history, expectedNs, deadlineNs } = entry;
    const told = replay(history);
    if (told !== state) faults.push(`transfer ${transfer} is ${state}, its history leads to ${told}`);
    if (state === "intent") pending++;
    const holds = holdsPorts(state);
    if (deadlines.has(entry) !== holds) {
      faults.push(`transfer ${transfer} is ${state} and has ${holds ? "no" : "a"} deadline`);
    }
    if (!holds) continue;
    holding++;
    const expected = deadlineOf(history, expectedNs, options);
    if (deadlineNs !== expected) {
      faults.push(`transfer ${transfer} has its deadline at ${deadlineNs} ns, its history says ${expected}`);
    }
    nextNs = Math.min(nextNs, expected);
  }
  faults.push(...portFaults(queue, live));
  if (pending !== queue.size) faults.push(`the queue has ${queue.size} intents for ${pending} pending ones`);
  if (holding !== deadlines.size) faults.push(`${deadlines.size} deadlines run for ${holding} that hold ports`);
  const first = deadlines.first()?.deadlineNs ?? Number.POSITIVE_INFINITY;
  if (first !== nextNs) faults.push(`the next deadline is at ${nextNs} ns, not ${first}`);
  if (faults.length > 0) throw new ArbitrationError("INVARIANT_BROKEN", `${faults.join("; ")}.`, { faults });
}

function portFaults({ ports }: IntentQueue, live: ReadonlyMap<number, Checked>): string[] {
  const held = new Array<number>(ports.ports).fill(0);
  for (const { selection, state } of live.values()) {
    if (!holdsPorts(state)) continue;
    const { source, destination } = selection;
    for (let at = 0; at < ports.portCount(source, destination); at++) {
      const port = ports.portAt(source, destination, at);
      held[port] = (held[port] ?? 0) + 1;
    }
  }
  return held.flatMap((count, port) => {
    const { kind, index } = ports.name(port);
    const found = ports.capacity(port) - ports.left(port);
    return found === count ? [] : [`${kind} ${index} has ${found} claims for ${count} transfers`];
  });
}
