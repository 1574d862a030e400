import type { Cluster, CompiledOperator } from "@slicescheduler/gmg";
import type { SearchedInstance, SearchedState } from "./orders.ts";

/** An operator or a transfer that has not ended before the search begins. */
export interface Step {
  readonly isTransfer: boolean;
  /** Where it runs; of a transfer, its destination. */
  readonly accelerator: number;
  /** Of a transfer; −1 for an operator. */
  readonly source: number;
  readonly workspaceBytes: number;
  /** Indices of the copies that must be there before it begins. */
  readonly reads: number[];
}

/** A tensor on an accelerator. */
export interface StoredCopy {
  readonly accelerator: number;
  readonly bytes: number;
  /** The step that writes it; −1 when it is there from the beginning. */
  readonly writer: number;
  /** Index of the first of the copies that continue each other in one buffer. */
  readonly buffer: number;
  /** Steps that read it here or take it away. */
  readonly readers: number[];
  /** Steps of its own instance, where later instances may refer to it as long as that lives. */
  readonly heldUntil: number[];
  /** An absent instance reads it. */
  readonly awaited: boolean;
}

type Reference = { readonly instance: number; readonly operator: number; readonly output: number };

/** What there is to do and what it writes; instances come before those that read from them. */
export function layOut(
  cluster: Cluster,
  instances: readonly SearchedInstance[],
  states: readonly SearchedState[],
): { readonly steps: readonly Step[]; readonly copies: readonly StoredCopy[] } {
  const layout = new Layout(cluster, instances, states);
  for (const [index, { binding }] of instances.entries()) {
    if (states[index] === "absent") continue;
    for (const operator of binding.template.order) layout.add(index, operator);
  }
  return layout;
}

class Layout {
  readonly steps: Step[] = [];
  readonly copies: StoredCopy[] = [];
  readonly #cluster: Cluster;
  readonly #instances: readonly SearchedInstance[];
  readonly #states: readonly SearchedState[];
  readonly #awaited: ReadonlySet<string>;
  /** By tensor and accelerator. */
  readonly #places = new Map<string, number>();
  /** By live instance, its operators' steps: filled as they are added, read when the search is on. */
  readonly #stepsOf = new Map<number, number[]>();

  constructor(cluster: Cluster, instances: readonly SearchedInstance[], states: readonly SearchedState[]) {
    this.#cluster = cluster;
    this.#instances = instances;
    this.#states = states;
    this.#awaited = new Set(
      instances.flatMap(({ inputs }, index) =>
        states[index] !== "absent" ? [] : inputs.flatMap((input) => (input === null ? [] : [keyOf(input)])),
      ),
    );
  }

  add(instance: number, index: number): void {
    const { binding, partition } = this.#instances[instance] as SearchedInstance;
    const { inputs, outputs } = binding.template.operators[index] as CompiledOperator;
    const accelerator = partition.acceleratorOf[index] as number;
    const isLive = this.#states[instance] === "live";
    const references = inputs.map((input) => this.#referenceOf(instance, input));
    const reads = [...new Set(references.flatMap((it) => (it === null ? [] : [this.#bring(it, accelerator, isLive)])))];
    let step = -1;
    if (isLive) {
      const workspaceBytes = this.#cluster.roundBytes(accelerator, binding.workspaceBytes(index));
      step = this.steps.push({ isTransfer: false, accelerator, source: -1, workspaceBytes, reads }) - 1;
      for (const copy of reads) this.copies[copy]?.readers.push(step);
      this.#own(instance).push(step);
    }
    for (const [output, { aliases }] of outputs.entries()) {
      const continued = references[aliases] ?? null;
      const buffer = continued === null ? null : (this.#places.get(`${keyOf(continued)}@${accelerator}`) ?? null);
      this.#store({ instance, operator: index, output }, accelerator, step, buffer);
    }
  }

  #referenceOf(instance: number, { slot, operator, output }: CompiledOperator["inputs"][number]): Reference | null {
    if (slot < 0) return { instance, operator, output };
    return this.#instances[instance]?.inputs[slot] ?? null;
  }

  /** The copy on an accelerator, moved there if it is not; one that was moved before the search is there already. */
  #bring(tensor: Reference, accelerator: number, byLive: boolean): number {
    const there = this.#places.get(`${keyOf(tensor)}@${accelerator}`);
    if (there !== undefined) return there;
    const source = this.#instances[tensor.instance]?.partition.acceleratorOf[tensor.operator] as number;
    const home = this.#places.get(`${keyOf(tensor)}@${source}`);
    if (home === undefined) throw new RangeError(`tensor ${keyOf(tensor)} is read before it is written`);
    let step = -1;
    if (byLive) {
      step = this.steps.push({ isTransfer: true, accelerator, source, workspaceBytes: 0, reads: [home] }) - 1;
      this.copies[home]?.readers.push(step);
    }
    return this.#store(tensor, accelerator, step, null);
  }

  #store(tensor: Reference, accelerator: number, writer: number, continued: number | null): number {
    const { instance, operator, output } = tensor;
    const { binding } = this.#instances[instance] as SearchedInstance;
    const index = this.copies.length;
    const named = binding.template.outputs.some(({ refs }) =>
      refs.some((ref) => ref.operator === operator && ref.output === output),
    );
    this.copies.push({
      accelerator,
      bytes: this.#cluster.roundBytes(accelerator, binding.outputBytes(operator, output)),
      writer,
      buffer: continued === null ? index : (this.copies[continued] as StoredCopy).buffer,
      readers: [],
      heldUntil: named && this.#states[instance] === "live" ? this.#own(instance) : [],
      awaited: this.#awaited.has(keyOf(tensor)),
    });
    this.#places.set(`${keyOf(tensor)}@${accelerator}`, index);
    return index;
  }

  #own(instance: number): number[] {
    const steps = this.#stepsOf.get(instance) ?? [];
    this.#stepsOf.set(instance, steps);
    return steps;
  }
}

function keyOf({ instance, operator, output }: Reference): string {
  return `${instance}/${operator}/${output}`;
}
