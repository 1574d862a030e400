/**
 * What an instance can hold on each accelerator, and from which moment to which, whatever the order and timing of its
 * operators and transfers. Sizes play no part: the holdings of a template laid out once serve every instance.
 */
import type { AcceleratorIndex, OperatorInput, Template } from "@slicescheduler/templates";

/** The memory of one buffer on one accelerator that an instance causes. */
export interface Holding {
  /**
   * - `output`: produced here, with what continues it here;
   * - `copy`: received from another accelerator, with what continues the copy;
   * - `growth`: what its outputs add to the buffer of an input slot that is here already, or was not bound.
   */
  readonly kind: "output" | "copy" | "growth";
  /** The tensors in the buffer, the first one first; of a growth the input slot itself. */
  readonly members: readonly OperatorInput[];
  /** The input slot it begins with, or −1. */
  readonly slot: number;
  /**
   * It is not there before this operator *starts* (output, growth) or is *done* (copy); −1 for the copy of an input slot,
   * which may arrive as soon as the instance begins.
   */
  readonly bornWith: number;
  /** It may stay until the end of the instance or longer. */
  readonly permanent: boolean;
  /** Unless permanent it is freed as soon as all of these operators, which run here, are done, and … */
  readonly freedAfter: readonly number[];
  /** … all of these, which run elsewhere, are issued, and … */
  readonly issuedAfter: readonly number[];
  /** … to each of these lists, readers on one other accelerator, it has been sent: surely once one of them may start. */
  readonly sentAfter: readonly (readonly number[])[];
}

/** The holdings on one accelerator, each at an index of its own, in the order of their birth in the template's order. */
export interface Lifetimes {
  readonly accelerator: AcceleratorIndex;
  readonly holdings: readonly Holding[];
}

export interface LifetimeOptions {
  /**
   * Every copy of a tensor stays until all of its readers, wherever they run, are issued, as the `GlobalMappingGraph` keeps them.
   * With `false` each accelerator looks at its own readers and transfers only. Default true.
   */
  readonly heldUntilIssued?: boolean;
  /** Further tensors that may stay, beside those that the template's outputs name. Default none. */
  readonly permanent?: (operator: number, output: number) => boolean;
}

/**
 * The holdings on every accelerator where there are any, under a layout: the accelerator of each operator. Tensors that the
 * template's outputs name are permanent, and so are their copies. Linear in operators and references.
 */
export function lifetimesOf(
  template: Template,
  acceleratorOf: readonly AcceleratorIndex[],
  options: LifetimeOptions = {},
): Map<AcceleratorIndex, Lifetimes> {
  const builder = new Builder(template, acceleratorOf, options);
  for (let slot = 0; slot < template.inputSlots; slot++) builder.receiveCopies({ operator: -1, output: -1, slot }, -1);
  for (const index of template.order) builder.produce(index);
  return builder.finish();
}

/** A holding as it grows by continuations. */
interface Draft {
  readonly kind: Holding["kind"];
  readonly accelerator: AcceleratorIndex;
  readonly members: OperatorInput[];
  readonly slot: number;
  readonly bornWith: number;
}

const NONE: readonly never[] = [];

class Builder {
  readonly #template: Template;
  readonly #acceleratorOf: readonly AcceleratorIndex[];
  readonly #heldUntilIssued: boolean;
  readonly #readers: Readers;
  /** Per tensor number: 1 where it may stay. */
  readonly #permanent: Uint8Array;
  /** Per tensor number: the holding of an output where it is produced, and the growth that it belongs to as well, if any. */
  readonly #ofOutput: (Draft | undefined)[] = [];
  readonly #growthOfOutput: (Draft | undefined)[] = [];
  /** Per tensor number: its copies elsewhere. */
  readonly #copiesOf: (Draft[] | undefined)[] = [];
  /** In the order of birth. */
  readonly #drafts: Draft[] = [];

  constructor(template: Template, acceleratorOf: readonly AcceleratorIndex[], options: LifetimeOptions) {
    this.#template = template;
    this.#acceleratorOf = acceleratorOf;
    this.#heldUntilIssued = options.heldUntilIssued ?? true;
    this.#readers = new Readers(template);
    this.#permanent = new Uint8Array(this.#readers.tensors);
    const { permanent } = options;
    for (const { refs } of template.outputs) {
      for (const { operator, output } of refs) this.#keep(operator, output);
    }
    if (permanent === undefined) return;
    for (const { index, outputs } of template.operators) {
      for (let output = 0; output < outputs.length; output++) if (permanent(index, output)) this.#keep(index, output);
    }
  }

  #keep(operator: number, output: number): void {
    this.#permanent[this.#readers.numberOf({ operator, output, slot: -1 })] = 1;
  }

  /** Gives each output of an operator the holding that it continues, or one of its own; then come its copies. */
  produce(index: number): void {
    const { inputs, outputs } = this.#template.operators[index] as Template["operators"][number];
    for (let output = 0; output < outputs.length; output++) {
      const made: OperatorInput = { operator: index, output, slot: -1 };
      const continued = inputs[outputs[output]?.aliases ?? -1];
      if (continued !== undefined) this.#continue(made, continued, index);
      else this.#ofOutput[this.#readers.numberOf(made)] = this.#draft("output", index, [made], index);
    }
    for (let output = 0; output < outputs.length; output++) {
      this.receiveCopies({ operator: index, output, slot: -1 }, this.#acceleratorOf[index] as AcceleratorIndex);
    }
  }

  /** A copy on each accelerator beside `home` where it is read. */
  receiveCopies(tensor: OperatorInput, home: AcceleratorIndex): void {
    const number = this.#readers.numberOf(tensor);
    this.#readers.each(number, (reader) => {
      const there = this.#acceleratorOf[reader] as AcceleratorIndex;
      if (there === home || this.#copyOn(number, there) !== undefined) return;
      const copy = this.#draft("copy", reader, [tensor], tensor.operator);
      const known = this.#copiesOf[number];
      if (known === undefined) this.#copiesOf[number] = [copy];
      else known.push(copy);
    });
  }

  finish(): Map<AcceleratorIndex, Lifetimes> {
    const found = new Map<AcceleratorIndex, Holding[]>();
    for (const draft of this.#drafts) {
      const there = found.get(draft.accelerator);
      if (there === undefined) found.set(draft.accelerator, [this.#finished(draft)]);
      else there.push(this.#finished(draft));
    }
    const sorted = [...found].sort(([a], [b]) => a - b);
    return new Map(sorted.map(([accelerator, holdings]) => [accelerator, { accelerator, holdings }]));
  }

  /** In the buffer of an output or a copy that is there; of a slot the copy, or what it grows by. */
  #continue(made: OperatorInput, continued: OperatorInput, index: number): void {
    const here = this.#acceleratorOf[index] as AcceleratorIndex;
    const number = this.#readers.numberOf(made);
    const from = this.#readers.numberOf(continued);
    const isHere = continued.slot < 0 && this.#acceleratorOf[continued.operator] === here;
    const buffer = isHere ? this.#ofOutput[from] : this.#copyOn(from, here);
    buffer?.members.push(made);
    this.#ofOutput[number] = buffer;
    let growth = isHere ? this.#growthOfOutput[from] : undefined;
    if (continued.slot >= 0) growth = this.#draft("growth", index, [continued], index);
    growth?.members.push(made);
    this.#growthOfOutput[number] = growth;
  }

  #copyOn(number: number, accelerator: AcceleratorIndex): Draft | undefined {
    return this.#copiesOf[number]?.find((copy) => copy.accelerator === accelerator);
  }

  /** @param at an operator on the accelerator. */
  #draft(kind: Holding["kind"], at: number, members: OperatorInput[], bornWith: number): Draft {
    const accelerator = this.#acceleratorOf[at] as AcceleratorIndex;
    const draft = { kind, accelerator, members, slot: members[0]?.slot ?? -1, bornWith };
    this.#drafts.push(draft);
    return draft;
  }

  #finished({ kind, accelerator, members, slot, bornWith }: Draft): Holding {
    const done: number[] = [];
    const issued: number[] = [];
    const sent: number[][] = [];
    let permanent = false;
    members.forEach((member, i) => {
      const tensor = this.#readers.numberOf(member);
      if (this.#permanent[tensor] === 1) permanent = true;
      if (member.slot < 0 && (i > 0 || kind === "output")) done.push(member.operator);
      const elsewhere: number[] = [];
      this.#readers.each(tensor, (reader) => {
        if (this.#acceleratorOf[reader] === accelerator) done.push(reader);
        else elsewhere.push(reader);
      });
      if (this.#heldUntilIssued && elsewhere.length > 0) issued.push(...elsewhere);
      // A copy is not sent on: transfers start where the tensor was produced.
      if (elsewhere.length > 0 && (i > 0 || kind !== "copy")) sent.push(...this.#byAccelerator(elsewhere));
    });
    return {
      kind,
      members,
      slot,
      bornWith,
      permanent,
      freedAfter: members.length === 1 ? done : [...new Set(done)],
      issuedAfter: issued.length === 0 ? NONE : [...new Set(issued)],
      sentAfter: sent.length === 0 ? NONE : sent,
    };
  }

  #byAccelerator(readers: readonly number[]): Iterable<number[]> {
    const lists = new Map<AcceleratorIndex, number[]>();
    for (const reader of readers) {
      const there = this.#acceleratorOf[reader] as AcceleratorIndex;
      const known = lists.get(there);
      if (known === undefined) lists.set(there, [reader]);
      else known.push(reader);
    }
    return lists.values();
  }
}

/** Who reads each tensor. Tensors are numbered: the outputs by operator, then the input slots. */
class Readers {
  readonly tensors: number;
  /** Per operator: the number of its first output; one more entry is that of the first slot. */
  readonly #outputStart: Int32Array;
  /** Per tensor: where its readers start in `#reader`; one more entry closes the last. */
  readonly #start: Int32Array;
  /** Distinct operators, in the order of the template. */
  readonly #reader: Int32Array;

  constructor(template: Template) {
    const { operators, order } = template;
    this.#outputStart = new Int32Array(operators.length + 1);
    for (let i = 0; i < operators.length; i++) {
      this.#outputStart[i + 1] = (this.#outputStart[i] as number) + (operators[i]?.outputs.length ?? 0);
    }
    this.tensors = (this.#outputStart[operators.length] as number) + template.inputSlots;
    const last = new Int32Array(this.tensors).fill(-1);
    const eachRead = (visit: (tensor: number, reader: number) => void) => {
      for (const index of order) {
        for (const input of operators[index]?.inputs ?? NONE) {
          const tensor = this.numberOf(input);
          // One reference may stand twice.
          if (last[tensor] === index) continue;
          last[tensor] = index;
          visit(tensor, index);
        }
      }
    };
    this.#start = new Int32Array(this.tensors + 1);
    eachRead((tensor) => {
      this.#start[tensor + 1] = (this.#start[tensor + 1] as number) + 1;
    });
    for (let tensor = 0; tensor < this.tensors; tensor++) {
      this.#start[tensor + 1] = (this.#start[tensor + 1] as number) + (this.#start[tensor] as number);
    }
    this.#reader = new Int32Array(this.#start[this.tensors] as number);
    const filled = this.#start.slice();
    last.fill(-1);
    eachRead((tensor, reader) => {
      const at = filled[tensor] as number;
      this.#reader[at] = reader;
      filled[tensor] = at + 1;
    });
  }

  numberOf({ operator, output, slot }: OperatorInput): number {
    if (slot < 0) return (this.#outputStart[operator] as number) + output;
    return (this.#outputStart.at(-1) as number) + slot;
  }

  each(tensor: number, visit: (reader: number) => void): void {
    const end = this.#start[tensor + 1] as number;
    for (let at = this.#start[tensor] as number; at < end; at++) visit(this.#reader[at] as number);
  }
}
