import type { Violation } from "../violation.ts";
import { IntList, StateSet } from "./state-set.ts";
import type { Happening, System } from "./system.ts";

export interface SearchLimits {
  /** States at most; then the search is incomplete. Default 4 million. */
  readonly statesMax?: number;
  /** Asked now and then; once true the search stops, incomplete. Default: never. */
  readonly isTimeUp?: () => boolean;
}

const STATES_MAX = 4_000_000;
/** States between two looks at the clock. */
const LOOK_EVERY = 256;

/** A search through every state of a system, breadth first. */
export class Search {
  transitions = 0;
  ends = 0;
  depth = 0;
  complete = false;
  readonly #system: System;
  readonly #statesMax: number;
  readonly #isTimeUp: () => boolean;
  readonly #seen: StateSet;
  /** Per state, from where it was reached first, and by which of the moves there. */
  readonly #parents = new IntList();
  readonly #moves = new IntList();
  readonly #depths = new IntList();
  /** Pairs of states. */
  readonly #edges = new IntList();
  /** The state where the search stopped, and the move that broke something; −1 where the state itself is wrong. */
  #stoppedAt = -1;
  #stoppedBy = -1;

  constructor(system: System, { statesMax = STATES_MAX, isTimeUp = () => false }: SearchLimits = {}) {
    this.#system = system;
    this.#statesMax = statesMax;
    this.#isTimeUp = isTimeUp;
    this.#seen = new StateSet(system.width);
    this.#reach(system.first, -1, -1);
  }

  get states(): number {
    return this.#seen.size;
  }

  /** What was found first; null when nothing was. Call it once. */
  run(): Violation | null {
    for (let id = 0; id < this.#seen.size; id++) {
      if (id % LOOK_EVERY === 0 && (this.#seen.size > this.#statesMax || this.#isTimeUp())) return null;
      const violation = this.#expand(id);
      if (violation === null) continue;
      this.#stoppedAt = id;
      return violation;
    }
    this.complete = true;
    return this.#findCycle() ?? this.#system.compare();
  }

  /** Moves until the search stopped. */
  get moves(): number {
    return this.#stoppedAt < 0 ? 0 : this.#depths.at(this.#stoppedAt) + (this.#stoppedBy < 0 ? 0 : 1);
  }

  /** The state where the search stopped, before the move that broke something; null when it did not, or for no state in particular. */
  get stoppedAt(): readonly number[] | null {
    return this.#stoppedAt < 0 ? null : this.#seen.at(this.#stoppedAt);
  }

  /** What happened until it stopped. */
  way(): Happening[] {
    const way: Happening[] = [];
    const add = (id: number, move: number) => {
      const happening = this.#system.movesFrom(this.#seen.at(id))[move];
      if (happening !== undefined) way.push(happening);
    };
    if (this.#stoppedAt < 0) return way;
    if (this.#stoppedBy >= 0) add(this.#stoppedAt, this.#stoppedBy);
    for (let id = this.#stoppedAt; this.#parents.at(id) >= 0; id = this.#parents.at(id))
      add(this.#parents.at(id), this.#moves.at(id));
    return way.reverse();
  }

  #expand(id: number): Violation | null {
    const state = this.#seen.at(id);
    const left = this.#system.whatIsLeft(state);
    if (left !== null) return left;
    const moves = this.#system.movesFrom(state);
    if (moves.length === 0) this.ends += 1;
    for (const [at, { next, violation }] of moves.entries()) {
      this.transitions += 1;
      if (next === null) {
        this.#stoppedBy = at;
        return violation ?? { kind: "broken", words: "a move broke something that nobody told of", amount: 1 };
      }
      this.#edges.push(id);
      this.#edges.push(this.#reach(next, id, at));
    }
    return null;
  }

  #reach(state: readonly number[], parent: number, move: number): number {
    const before = this.#seen.size;
    const id = this.#seen.add(state);
    if (id < before) return id;
    this.#parents.push(parent);
    this.#moves.push(move);
    const depth = parent < 0 ? 0 : this.#depths.at(parent) + 1;
    this.#depths.push(depth);
    this.depth = Math.max(this.depth, depth);
    return id;
  }

  /** Takes away states that nothing leads to, again and again: what cannot be taken away goes round for ever. */
  #findCycle(): Violation | null {
    const { size } = this.#seen;
    const edges = this.#edges.length / 2;
    const incoming = new Int32Array(size);
    const firstEdge = new Int32Array(size + 1);
    for (let edge = 0; edge < edges; edge++) {
      incoming[this.#edges.at(2 * edge + 1)] = (incoming[this.#edges.at(2 * edge + 1)] as number) + 1;
      firstEdge[this.#edges.at(2 * edge) + 1] = edge + 1;
    }
    // States were expanded in their order, so the edges of each lie together.
    for (let id = 0; id < size; id++)
      firstEdge[id + 1] = Math.max(firstEdge[id + 1] as number, firstEdge[id] as number);
    const free: number[] = [];
    for (let id = 0; id < size; id++) if (incoming[id] === 0) free.push(id);
    let taken = 0;
    for (let id = free.pop(); id !== undefined; id = free.pop()) {
      taken += 1;
      for (let edge = firstEdge[id] as number; edge < (firstEdge[id + 1] as number); edge++) {
        const to = this.#edges.at(2 * edge + 1);
        incoming[to] = (incoming[to] as number) - 1;
        if (incoming[to] === 0) free.push(to);
      }
    }
    if (taken === size) return null;
    this.#stoppedAt = incoming.findIndex((count) => count > 0);
    this.#stoppedBy = -1;
    const words = `a run can go on for ever: ${size - taken} states lie on a round, or only behind one`;
    return { kind: "standstills", words, amount: size - taken };
  }
}
