import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import type { MasterEvent } from "slicescheduler";
import type { Violation } from "../violation.ts";
import type { NewArbiter } from "./arbiter-twin.ts";
import type { DeviceInfo, Report } from "./device.ts";
import { deviceMoves, type ExecutorInput, ExecutorMachine } from "./executor-machine.ts";
import { Lines } from "./lines.ts";
import { Interner, MachineTable } from "./machine-table.ts";
import {
  faultsAtMaster,
  type MasterInfo,
  type MasterInput,
  MasterMachine,
  type MasterOutput,
} from "./master-machine.ts";
import type { SmallWorld } from "./small-world.ts";
import {
  type Cause,
  everyChoice,
  type Look,
  type Move,
  outcomesLeft,
  type System,
  type SystemCounts,
} from "./system.ts";

/** Places in a state; from `FIRST_LINE` on the lines of events. */
const MASTER = 0;
const EXECUTOR = 1;
/** How far the script has come. */
const SCRIPT = 2;
/** Faults that may still happen. */
const FAULTS = 3;
const INSTRUCTIONS = 4;
const FIRST_LINE = 5;

/**
 * Master and executor with lines between them. Each is a machine of its own, so a state is a pair of their states and what is on the lines,
 * and a move costs a look-up once each of them has made its part of it in any other state.
 */
export class PartedSystem implements System {
  readonly width: number;
  readonly first: readonly number[];
  readonly masters: MachineTable<MasterInput, MasterOutput, MasterInfo, MasterMachine>;
  readonly executors: MachineTable<ExecutorInput, readonly Report[], DeviceInfo, ExecutorMachine>;
  readonly #world: SmallWorld;
  readonly #instances: number;
  readonly #lines = new Lines();
  readonly #batches = new Interner<readonly ExecutorInstruction[]>();
  readonly #events = new Interner<ExecutorEvent>();
  /** Inputs by message, so that each is written out once. */
  readonly #hearing = new Map<number, MasterInput>();
  readonly #taking = new Map<number, ExecutorInput>();

  constructor(world: SmallWorld, newArbiter: NewArbiter | null) {
    this.#world = world;
    this.#instances = world.script.flat().filter(({ type }) => type === "instanceSubmitted").length;
    this.masters = new MachineTable(() => new MasterMachine(world, newArbiter));
    this.executors = new MachineTable(() => new ExecutorMachine(world));
    const lines = world.channel === "perAccelerator" ? world.cluster.accelerators.length : 1;
    this.width = FIRST_LINE + lines;
    this.first = [0, 0, 0, world.fault === null ? 0 : 1, 0, ...new Array<number>(lines).fill(0)];
  }

  movesFrom(state: readonly number[]): readonly Move[] {
    const moves: Move[] = [];
    const { script } = this.#world;
    const part = script[state[SCRIPT] as number];
    if (part !== undefined) moves.push(...this.#asks(with1(state, SCRIPT, 1), part));
    if (state[INSTRUCTIONS] !== 0) moves.push(this.#takes(state));
    for (let line = FIRST_LINE; line < this.width; line++)
      if (state[line] !== 0) moves.push(...this.#hears(state, line));
    const mayFail = (state[FAULTS] as number) > 0;
    for (const { move, isFault } of deviceMoves(this.#deviceAt(state), this.#world, mayFail))
      moves.push(this.#happens(isFault ? with1(state, FAULTS, -1) : state, move));
    if (!mayFail) return moves;
    for (const event of faultsAtMaster(this.#masterAt(state), this.#world))
      moves.push(...this.#asks(with1(state, FAULTS, -1), [event]));
    return moves;
  }

  whatIsLeft(state: readonly number[]): Violation | null {
    const { script } = this.#world;
    if ((state[SCRIPT] as number) < script.length || state[INSTRUCTIONS] !== 0) return null;
    for (let line = FIRST_LINE; line < this.width; line++) if (state[line] !== 0) return null;
    const { running, sending, left } = this.#deviceAt(state);
    if (running.length + sending.length > 0) return null;
    const { outcomes, inMaster } = this.#masterAt(state);
    const violation = outcomesLeft(outcomes, this.#instances);
    if (violation !== null) return violation;
    if (left !== null) return { kind: "leakedBytes", words: left, amount: 1 };
    if (inMaster === 0) return null;
    return {
      kind: "broken",
      words: `everything has ended, and ${inMaster} things are left in the graph`,
      amount: inMaster,
    };
  }

  counts(): SystemCounts {
    const { masters, executors } = this;
    return {
      machineStates: masters.states + executors.states,
      machineSteps: masters.steps + executors.steps,
      machineInputs: masters.applied + executors.applied,
      compared: masters.compared + executors.compared,
    };
  }

  compare(): Violation | null {
    return this.masters.compare() ?? this.executors.compare();
  }

  lookAt(state: readonly number[]): Look {
    const instructions = this.#lines.messages(state[INSTRUCTIONS] as number).flatMap((it) => this.#batches.valueOf(it));
    const events = state.slice(FIRST_LINE).flatMap((line) => this.#lines.messages(line));
    return {
      master: this.masters.machineAt(state[MASTER] as number).core,
      device: this.executors.machineAt(state[EXECUTOR] as number).device,
      instructions,
      events: events.map((event) => this.#events.valueOf(event)),
    };
  }

  #masterAt(state: readonly number[]): MasterInfo {
    return this.masters.info(state[MASTER] as number);
  }

  #deviceAt(state: readonly number[]): DeviceInfo {
    return this.executors.info(state[EXECUTOR] as number);
  }

  #asks(state: readonly number[], events: readonly MasterEvent[]): Move[] {
    return this.#master(state, { events, picks: [] }, { type: "asks", events });
  }

  #hears(state: readonly number[], line: number): Move[] {
    const at = state[line] as number;
    const message = this.#lines.head(at);
    const event = this.#events.valueOf(message);
    const after = [...state];
    after[line] = this.#lines.pop(at);
    const input = known(this.#hearing, message, () => ({ events: [event], picks: [] }));
    return this.#master(after, input, { type: "hears", event });
  }

  #master(state: readonly number[], input: MasterInput, cause: Cause): Move[] {
    const from = state[MASTER] as number;
    const results = everyChoice((picks) => {
      const step = this.masters.step(from, picks.length === 0 ? input : { events: input.events, picks });
      return { step, choices: step.output?.choices ?? [] };
    });
    return results.map(({ step: { next, output, violation } }) => {
      const instructions = output?.instructions ?? [];
      if (next < 0 || violation !== null) return { next: null, violation, cause, effects: instructions };
      const after = [...state];
      after[MASTER] = next;
      if (instructions.length > 0)
        after[INSTRUCTIONS] = this.#lines.push(state[INSTRUCTIONS] as number, this.#batches.idOf(instructions));
      return { next: after, violation: null, cause, effects: instructions };
    });
  }

  #takes(state: readonly number[]): Move {
    const line = state[INSTRUCTIONS] as number;
    const after = [...state];
    after[INSTRUCTIONS] = this.#lines.pop(line);
    const message = this.#lines.head(line);
    const instructions = this.#batches.valueOf(message);
    return this.#happens(
      after,
      known(this.#taking, message, () => ({ type: "takes", instructions })),
    );
  }

  #happens(state: readonly number[], input: ExecutorInput): Move {
    const { next, output, violation } = this.executors.step(state[EXECUTOR] as number, input);
    const reports = output ?? [];
    const effects = reports.map(({ event }) => event);
    if (next < 0 || violation !== null) return { next: null, violation, cause: input, effects };
    const after = [...state];
    after[EXECUTOR] = next;
    for (const { from, event } of reports)
      after[FIRST_LINE + from] = this.#lines.push(after[FIRST_LINE + from] as number, this.#events.idOf(event));
    return { next: after, violation: null, cause: input, effects };
  }
}

function with1(state: readonly number[], place: number, change: number): number[] {
  const changed = [...state];
  changed[place] = (changed[place] as number) + change;
  return changed;
}

function known<Value>(values: Map<number, Value>, key: number, make: () => Value): Value {
  const before = values.get(key);
  if (before !== undefined) return before;
  const value = make();
  values.set(key, value);
  return value;
}
