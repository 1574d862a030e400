import type { AcceleratorIndex, Binding, OperatorInput } from "@slicescheduler/templates";
import type { InstanceInputs } from "../src/cover-references.ts";

/**
 * The slow and obvious twin of the bounds: every order and timing of an instance's operators and transfers, by walking through all
 * states that it can be in. An operator is waiting, issued, running or done, a transfer planned, running or ended, and what is in
 * memory follows from that. Granularity 1.
 */
export interface Exact {
  /** Per accelerator: the most bytes at once, … */
  readonly bytes: number[];
  /** … while no operator runs there, … */
  readonly restBytes: number[];
  /** … and with the workspace of the running operator. */
  readonly withWorkspaceBytes: number[];
  readonly states: number;
}

export interface World {
  readonly binding: Binding;
  readonly acceleratorOf: readonly AcceleratorIndex[];
  readonly accelerators: number;
  readonly inputs: InstanceInputs;
  /** Copies stay until all readers of the tensor are issued; otherwise all operators are issued from the start. */
  readonly heldUntilIssued: boolean;
}

const WAITING = 0;
const ISSUED = 1;
const RUNNING = 2;
const DONE = 3;

/** Throws when there are too many states to see them all. */
export function exploreAll(world: World, visit: (state: State) => void = () => {}, statesMax = 200_000): Exact {
  const first = firstState(world);
  const seen = new Set([first.key]);
  const stack = [first];
  const bytes = Array.from({ length: world.accelerators }, () => 0);
  const restBytes = [...bytes];
  const withWorkspaceBytes = [...bytes];
  for (let state = stack.pop(); state !== undefined; state = stack.pop()) {
    visit(state);
    for (let a = 0; a < world.accelerators; a++) {
      const held = state.bytesOn(a);
      bytes[a] = Math.max(bytes[a] as number, held);
      if (!state.isBusy(a)) restBytes[a] = Math.max(restBytes[a] as number, held);
      withWorkspaceBytes[a] = Math.max(withWorkspaceBytes[a] as number, held + state.workspaceOn(a));
    }
    for (const next of state.successors()) {
      if (seen.has(next.key)) continue;
      seen.add(next.key);
      stack.push(next);
    }
    if (seen.size > statesMax) throw new Error(`more than ${statesMax} states`);
  }
  return { bytes, restBytes, withWorkspaceBytes, states: seen.size };
}

/** Before anything has happened. */
export function firstState(world: World): State {
  const { operators } = world.binding.template;
  const state = world.heldUntilIssued ? WAITING : ISSUED;
  return new State(
    world,
    operators.map(() => state),
    new Map(),
  );
}

/** One tensor on one accelerator. */
interface Copy {
  readonly tensor: OperatorInput;
  readonly at: AcceleratorIndex;
}

export class State {
  readonly world: World;
  readonly operators: readonly number[];
  /** `"tensor@accelerator"`: 1 while running, 2 when ended; absent before. */
  readonly transfers: ReadonlyMap<string, number>;
  readonly key: string;

  constructor(world: World, operators: readonly number[], transfers: ReadonlyMap<string, number>) {
    this.world = world;
    this.operators = operators;
    this.transfers = transfers;
    this.key = `${operators.join("")} ${[...transfers].map((entry) => entry.join("=")).sort()}`;
  }

  successors(): State[] {
    const { operators } = this.world.binding.template;
    const next: State[] = [];
    operators.forEach(({ index, predecessors, inputs }) => {
      const state = this.operators[index];
      const at = this.#at(index);
      const canIssue = predecessors.every((predecessor) => this.operators[predecessor] !== WAITING);
      const canStart = !this.isBusy(at) && inputs.every((input) => this.#isPresent(input, at));
      if (state === WAITING && canIssue) next.push(this.#withOperator(index, ISSUED));
      if (state === ISSUED && canStart) next.push(this.#withOperator(index, RUNNING));
      if (state === RUNNING) next.push(this.#withOperator(index, DONE));
      if (state === WAITING) return;
      for (const input of inputs) {
        if (this.#isHome(input, at) || this.#home(input) === null) continue;
        const transfer = this.transfers.get(nameOf(input, at));
        const isMade = input.slot >= 0 || this.operators[input.operator] === DONE;
        if (transfer === undefined && isMade) next.push(this.#withTransfer(input, at, 1));
        if (transfer === 1) next.push(this.#withTransfer(input, at, 2));
      }
    });
    return next;
  }

  isBusy(accelerator: AcceleratorIndex): boolean {
    return this.operators.some((state, index) => state === RUNNING && this.#at(index) === accelerator);
  }

  workspaceOn(accelerator: AcceleratorIndex): number {
    const running = this.operators.findIndex((state, index) => state === RUNNING && this.#at(index) === accelerator);
    return running < 0 ? 0 : this.world.binding.workspaceBytes(running);
  }

  /** Buffers: copies that continue one another. What an input slot has there already belongs to somebody else. */
  bytesOn(accelerator: AcceleratorIndex): number {
    let total = 0;
    for (const buffer of this.#buffersOn(accelerator)) {
      if (!buffer.some((copy) => this.isThere(copy.tensor, copy.at))) continue;
      const sizes = buffer.filter((copy) => this.#isAllocated(copy)).map(({ tensor }) => this.#bytes(tensor));
      const [root] = buffer as [Copy];
      const isForeign = root.tensor.slot >= 0 && this.#isHome(root.tensor, accelerator);
      total += Math.max(0, ...sizes) - (isForeign ? this.#bytes(root.tensor) : 0);
    }
    return total;
  }

  /** Whether the tensor was in memory there and has gone. */
  isGone(tensor: OperatorInput, at: AcceleratorIndex): boolean {
    return this.#isAllocated({ tensor, at }) && !this.isThere(tensor, at);
  }

  /** Whether the tensor is in memory there. */
  isThere(tensor: OperatorInput, at: AcceleratorIndex): boolean {
    if (!this.#isAllocated({ tensor, at })) return false;
    if (this.#isPermanent(tensor)) return true;
    const isHome = this.#isHome(tensor, at);
    if (!isHome && this.transfers.get(nameOf(tensor, at)) === 1) return true;
    if (tensor.slot < 0 && isHome && this.operators[tensor.operator] === RUNNING) return true;
    return this.#readersOf(tensor).some((reader) => {
      const there = this.#at(reader);
      if (there === at) return this.operators[reader] !== DONE;
      if (isHome && this.transfers.get(nameOf(tensor, there)) !== 2) return true;
      return this.world.heldUntilIssued && this.operators[reader] === WAITING;
    });
  }

  /** The plain sum: every buffer at its full size, at once. */
  everythingOn(accelerator: AcceleratorIndex): number {
    const all = new State(
      this.world,
      this.operators.map(() => DONE),
      new Map(
        this.world.binding.template.operators.flatMap(({ index, inputs }) =>
          inputs.map((input) => [nameOf(input, this.#at(index)), 1] as const),
        ),
      ),
    );
    let total = 0;
    for (const buffer of all.#buffersOn(accelerator)) {
      const [root] = buffer as [Copy];
      const isForeign = root.tensor.slot >= 0 && this.#isHome(root.tensor, accelerator);
      total += Math.max(...buffer.map(({ tensor }) => this.#bytes(tensor)));
      if (isForeign) total -= this.#bytes(root.tensor);
    }
    return total;
  }

  /** They follow from the layout alone, so that they are worked out once. */
  #buffersOn(accelerator: AcceleratorIndex): Copy[][] {
    const known = buffersOf.get(this.world) ?? [];
    buffersOf.set(this.world, known);
    known[accelerator] ??= this.#findBuffers(accelerator);
    return known[accelerator];
  }

  #findBuffers(accelerator: AcceleratorIndex): Copy[][] {
    const { operators, order } = this.world.binding.template;
    const buffers = new Map<string, Copy[]>();
    const add = (tensor: OperatorInput, continued: OperatorInput | undefined) => {
      const known = continued === undefined ? undefined : buffers.get(nameOf(continued, accelerator));
      const buffer = known ?? [];
      buffer.push({ tensor, at: accelerator });
      buffers.set(nameOf(tensor, accelerator), buffer);
    };
    for (const index of order) {
      const { inputs, outputs } = operators[index] as (typeof operators)[number];
      if (this.#at(index) !== accelerator) continue;
      for (const input of inputs) {
        const isKnown = buffers.has(nameOf(input, accelerator));
        if (!isKnown && this.#home(input) !== null) add(input, undefined);
      }
      outputs.forEach(({ aliases }, output) => {
        add({ operator: index, output, slot: -1 }, inputs[aliases]);
      });
    }
    return [...new Set(buffers.values())];
  }

  #isAllocated({ tensor, at }: Copy): boolean {
    if (this.#home(tensor) === null) return false;
    if (!this.#isHome(tensor, at)) return this.transfers.has(nameOf(tensor, at));
    return tensor.slot >= 0 || (this.operators[tensor.operator] as number) >= RUNNING;
  }

  #isPresent(tensor: OperatorInput, at: AcceleratorIndex): boolean {
    if (this.#home(tensor) === null) return true;
    if (!this.#isHome(tensor, at)) return this.transfers.get(nameOf(tensor, at)) === 2;
    return tensor.slot >= 0 || this.operators[tensor.operator] === DONE;
  }

  #isPermanent({ operator, output, slot }: OperatorInput): boolean {
    if (slot >= 0) return this.world.inputs.kept?.[slot] ?? true;
    return this.world.binding.template.outputs.some(({ refs }) =>
      refs.some((ref) => ref.operator === operator && ref.output === output),
    );
  }

  #readersOf({ operator, output, slot }: OperatorInput): number[] {
    return this.world.binding.template.operators
      .filter(({ inputs }) =>
        inputs.some((input) => input.operator === operator && input.output === output && input.slot === slot),
      )
      .map(({ index }) => index);
  }

  #home({ operator, slot }: OperatorInput): AcceleratorIndex | null {
    return slot >= 0 ? (this.world.inputs.homes[slot] as AcceleratorIndex | null) : this.#at(operator);
  }

  #isHome(tensor: OperatorInput, at: AcceleratorIndex): boolean {
    return this.#home(tensor) === at;
  }

  #at(operator: number): AcceleratorIndex {
    return this.world.acceleratorOf[operator] as AcceleratorIndex;
  }

  #bytes({ operator, output, slot }: OperatorInput): number {
    const { binding } = this.world;
    return slot >= 0 ? binding.inputBytes(slot) : binding.outputBytes(operator, output);
  }

  #withOperator(index: number, state: number): State {
    return new State(this.world, this.operators.with(index, state), this.transfers);
  }

  #withTransfer(tensor: OperatorInput, at: AcceleratorIndex, state: number): State {
    return new State(this.world, this.operators, new Map(this.transfers).set(nameOf(tensor, at), state));
  }
}

const buffersOf = new WeakMap<World, Copy[][][]>();

function nameOf({ operator, output, slot }: OperatorInput, at: AcceleratorIndex): string {
  return `${slot >= 0 ? `slot${slot}` : `${operator}.${output}`}@${at}`;
}
