import type { Violation } from "../violation.ts";
import type { NewArbiter } from "./arbiter-twin.ts";
import { CoupledSystem } from "./coupled-system.ts";
import { Names } from "./names.ts";
import { PartedSystem } from "./parted-system.ts";
import { Search, type SearchLimits } from "./search.ts";
import type { SmallWorld } from "./small-world.ts";
import { tellHappening } from "./story.ts";
import type { System, SystemCounts } from "./system.ts";
import { tellWaits } from "./waits.ts";

export interface ExploreOptions extends SearchLimits {
  /** Makes the arbiter that the master's is held against: `(topology, options) => new Arbiter(topology, options)`. Default: none. */
  readonly newArbiter?: NewArbiter | null;
}

export interface Exploration extends SystemCounts {
  readonly world: string;
  readonly states: number;
  readonly transitions: number;
  /** States in which everything has come to its end. */
  readonly ends: number;
  /** Moves of the longest of the shortest ways from the beginning to a state. */
  readonly depth: number;
  /** Moves to what was found; 0 when nothing was. */
  readonly moves: number;
  /** Every state that can be reached was looked at. */
  readonly complete: boolean;
  /** What was found first, by as few moves as there can be; null when nothing was. */
  readonly found: Found | null;
}

export interface Found {
  readonly violation: Violation;
  /** What happened, move by move, and at the end who waits for what. */
  readonly story: readonly string[];
}

/**
 * Takes the real machines of a small world through every order in which things can happen, and checks every state on the way; breadth first, so what
 * is found is found by as few moves as there can be. When it is complete and finds nothing, no run of the world breaks anything, stands still, or
 * goes on for ever.
 */
export function explore(world: SmallWorld, options: ExploreOptions = {}): Exploration {
  const { newArbiter = null } = options;
  const system =
    world.channel === "immediate" ? new CoupledSystem(world, newArbiter) : new PartedSystem(world, newArbiter);
  const search = new Search(system, options);
  const violation = search.run();
  const { states, transitions, ends, depth, complete } = search;
  const found = violation === null ? null : { violation, story: tellStory(world, system, search, violation) };
  const { moves } = search;
  return { world: world.name, states, transitions, ends, depth, moves, complete, found, ...system.counts() };
}

/** What happened until the search stopped, what is wrong then, and what waits for what before the last move. */
function tellStory(world: SmallWorld, system: System, search: Search, violation: Violation): string[] {
  const names = new Names(world);
  const told = search.way().flatMap((happening, at) => {
    const [move, ...effects] = tellHappening(happening, names);
    return [`${at + 1}. ${move}`, ...effects.map((effect) => `   ${effect}`)];
  });
  const { stoppedAt } = search;
  const waits = stoppedAt === null ? [] : tellWaits(system.lookAt(stoppedAt), names);
  return [...told, `found: ${violation.words}`, ...waits];
}
