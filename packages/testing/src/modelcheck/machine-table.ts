/**
 * The states of one real machine as numbers, and its moves as a table. A machine cannot be copied, so a state is reached again by
 * repeating what led to it; each move from each state is made once, and then only looked up.
 */
import { unitOf } from "../hash.ts";
import type { Violation } from "../violation.ts";

/** A machine that answers inputs, deterministically. `Info` is what a search wants to know of a state. */
export interface Machine<Input, Output, Info> {
  /** What it throws is a violation; it is not used any more then. */
  apply(input: Input): Output;
  /** Equal in states that behave alike from now on, whatever led there. */
  encode(): string;
  info(): Info;
  /** What is wrong in this state, recounted from scratch. */
  check(): Violation | null;
}

export interface Step<Output> {
  /** −1 when the machine broke on the way. */
  readonly next: number;
  /** Null when it broke. */
  readonly output: Output | null;
  readonly violation: Violation | null;
}

interface Origin {
  /** −1 for the first state. */
  readonly parent: number;
  readonly input: number;
}

/** Machines kept as they are, in case a move is asked from where they stand. */
const LIVE_MAX = 1000;
/** Of so many second ways to known states, about one is held against the first. */
const COMPARED_OF = 8;

export class MachineTable<Input, Output, Info, Kind extends Machine<Input, Output, Info>> {
  readonly #create: () => Kind;
  readonly #inputs = new Interner<Input>();
  readonly #ids = new Map<string, number>();
  readonly #infos: Info[] = [];
  readonly #origins: Origin[] = [];
  /** Per state, by input. */
  readonly #steps: Map<number, Step<Output>>[] = [];
  /** By state, machines that stand there: each second way to a state spares the repetition of a first one. */
  readonly #live = new Map<number, Kind[]>();
  #liveCount = 0;
  /** Second ways to known states that are to be compared with the first. */
  readonly #others: { readonly state: number; readonly origin: Origin }[] = [];
  #again = 0;
  /** Inputs given to machines, those included that only repeat a way. */
  applied = 0;
  /** Other ways to a known state that were compared with it. */
  compared = 0;

  constructor(create: () => Kind) {
    this.#create = create;
    const first = create();
    this.#add(first.encode(), first, { parent: -1, input: -1 });
  }

  get states(): number {
    return this.#infos.length;
  }

  get steps(): number {
    return this.#steps.reduce((sum, steps) => sum + steps.size, 0);
  }

  info(state: number): Info {
    return this.#infos[state] as Info;
  }

  step(state: number, input: Input): Step<Output> {
    const key = this.#inputs.idOf(input);
    const steps = this.#steps[state] as Map<number, Step<Output>>;
    const known = steps.get(key);
    if (known !== undefined) return known;
    const step = this.#make(state, key);
    steps.set(key, step);
    return step;
  }

  /** A machine in this state, for whoever wants to look at it. */
  machineAt(state: number): Kind {
    const machine = this.#create();
    for (const input of this.#wayTo(state)) {
      machine.apply(this.#inputs.valueOf(input));
      this.applied += 1;
    }
    return machine;
  }

  /**
   * Machines that came to known states another way must do there what the first ones did: else `encode` leaves out something that counts.
   * Looks at a share of them, and at one move of each.
   */
  compare(): Violation | null {
    for (const { state, origin } of this.#others) {
      const steps = [...(this.#steps[state] as Map<number, Step<Output>>)].filter(([, { next }]) => next >= 0);
      const known = steps[Math.floor(unitOf(1, this.compared) * steps.length)];
      if (known === undefined) continue;
      const [input, step] = known;
      this.compared += 1;
      this.applied += 2;
      const machine = this.machineAt(origin.parent);
      machine.apply(this.#inputs.valueOf(origin.input));
      if (this.#doesAlike(machine, input, step)) continue;
      const words = `two ways to one state of the search go on differently: ${JSON.stringify(this.#inputs.valueOf(input))}`;
      return { kind: "broken", words, amount: 1 };
    }
    return null;
  }

  #make(state: number, input: number): Step<Output> {
    const machine = this.#takeLive(state) ?? this.machineAt(state);
    this.applied += 1;
    const { output, violation } = tried(machine, this.#inputs.valueOf(input));
    if (violation !== null || output === null) return { next: -1, output, violation };
    const text = machine.encode();
    const known = this.#ids.get(text);
    if (known === undefined) return { next: this.#add(text, machine, { parent: state, input }), output, violation };
    this.#again += 1;
    if (unitOf(0, this.#again) * COMPARED_OF < 1) this.#others.push({ state: known, origin: { parent: state, input } });
    this.#keep(known, machine);
    return { next: known, output, violation };
  }

  #add(text: string, machine: Kind, origin: Origin): number {
    const id = this.#infos.length;
    this.#ids.set(text, id);
    this.#infos.push(machine.info());
    this.#origins.push(origin);
    this.#steps.push(new Map());
    this.#keep(id, machine);
    return id;
  }

  #takeLive(state: number): Kind | undefined {
    const machines = this.#live.get(state);
    const machine = machines?.pop();
    if (machine !== undefined) this.#liveCount -= 1;
    if (machines?.length === 0) this.#live.delete(state);
    return machine;
  }

  #keep(state: number, machine: Kind): void {
    const machines = this.#live.get(state);
    if (machines === undefined) this.#live.set(state, [machine]);
    else machines.push(machine);
    this.#liveCount += 1;
    if (this.#liveCount <= LIVE_MAX) return;
    for (const oldest of this.#live.keys()) {
      this.#takeLive(oldest);
      return;
    }
  }

  #doesAlike(machine: Kind, input: number, step: Step<Output>): boolean {
    try {
      const output = machine.apply(this.#inputs.valueOf(input));
      return JSON.stringify(output) === JSON.stringify(step.output) && this.#ids.get(machine.encode()) === step.next;
    } catch {
      return false;
    }
  }

  #wayTo(state: number): number[] {
    const way: number[] = [];
    for (let at = this.#origins[state]; at !== undefined && at.parent >= 0; at = this.#origins[at.parent])
      way.push(at.input);
    return way.reverse();
  }
}

/** What the machine answers, and what is wrong with it then. */
function tried<Input, Output, Info>(machine: Machine<Input, Output, Info>, input: Input) {
  let output: Output | null = null;
  let violation: Violation | null = null;
  try {
    output = machine.apply(input);
    violation = machine.check();
  } catch (error) {
    violation = { kind: "broken", words: wordsOf(error), amount: 1 };
  }
  return { output, violation };
}

/** Plain values as small numbers: equal values, equal numbers. */
export class Interner<Value> {
  readonly #ids = new Map<string, number>();
  readonly #byObject = new WeakMap<object, number>();
  readonly #values: Value[] = [];

  idOf(value: Value): number {
    const isObject = typeof value === "object" && value !== null;
    const before = isObject ? this.#byObject.get(value) : undefined;
    if (before !== undefined) return before;
    const text = JSON.stringify(value);
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.#values.length;
      this.#ids.set(text, id);
      this.#values.push(value);
    }
    if (isObject) this.#byObject.set(value, id);
    return id;
  }

  valueOf(id: number): Value {
    return this.#values[id] as Value;
  }
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = (error as { readonly code?: unknown }).code;
  return typeof code === "string" ? `${code}: ${error.message}` : `${error.name}: ${error.message}`;
}
