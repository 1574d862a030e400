import fc from "fast-check";
import { expect, test } from "vitest";
import { describeNative } from "../native/describe-native.fixture.ts";
import type { HostTensor } from "./host-tensor.ts";
import { runTrial } from "./run-program.fixture.ts";
import type { Argument, Call } from "./types.ts";

const OPS = ["add", "sub", "mul", "neg", "flip", "cat"] as const;
type Op = (typeof OPS)[number];

/** A call that reads two of the tensors before it, picked modulo how many there are. */
interface Step {
  readonly op: Op;
  readonly left: number;
  readonly right: number;
}

/** Lengths stay below this: a `cat` that would pass it is a `neg`. */
const LENGTH_MAX = 64;
const INPUTS = 2;

const steps = fc.array(fc.record({ op: fc.constantFrom(...OPS), left: fc.nat(), right: fc.nat() }), { maxLength: 20 });
const outputs = fc.array(fc.nat(), { minLength: 1, maxLength: 4 });
const inputs = fc.integer({ min: 1, max: 4 }).chain((length) =>
  fc.array(fc.array(fc.integer(), { minLength: length, maxLength: length }), {
    minLength: INPUTS,
    maxLength: INPUTS,
  }),
);

/** A program, and the slow and obvious account of it: tensors as plain arrays, each with what reads it last. */
class Twin {
  readonly calls: Call[] = [];
  readonly tensors: Int32Array[];
  readonly #reads: number[][] = [];

  constructor(given: readonly (readonly number[])[]) {
    this.tensors = given.map((numbers) => Int32Array.from(numbers));
  }

  argument(index: number): Argument {
    return index < INPUTS ? { input: index } : { value: `v${index}` };
  }

  add({ op, left, right }: Step): void {
    const a = left % this.tensors.length;
    // Both of one length, so that they can be added.
    const fitting = this.tensors.flatMap((tensor, index) => (tensor.length === this.#at(a).length ? [index] : []));
    const b = fitting[right % fitting.length] ?? a;
    const kind = op === "cat" && this.#at(a).length * 2 > LENGTH_MAX ? "neg" : op;
    const [x, y] = [this.argument(a), this.argument(b)];
    const results = [`v${this.tensors.length}`] as const;
    const call = { add: [x, y], sub: [x, y], mul: [x, y], neg: [x], flip: [x, [0]], cat: [[x, y]] }[kind];
    const overload = kind === "add" || kind === "sub" || kind === "mul" ? ".Tensor" : "";
    this.calls.push({ op: `aten::${kind}${overload}`, args: call, results });
    this.#reads.push(kind === "neg" || kind === "flip" ? [a] : [a, b]);
    this.tensors.push(compute(kind, this.#at(a), this.#at(b)));
  }

  /** The most bytes alive at a time: a result is there before the arguments of its call go, and a tensor goes after the last that reads it. */
  peakBytes(wanted: readonly number[]): number {
    let alive = 0;
    let peak = 0;
    const grow = (index: number) => {
      alive += this.#at(index).byteLength;
      peak = Math.max(peak, alive);
    };
    for (let input = 0; input < INPUTS; input++) grow(input);
    // Inputs that nothing reads stay to the end.
    const lastRead = this.tensors.map((_, index) => this.#reads.findLastIndex((read) => read.includes(index)));
    this.#reads.forEach((read, call) => {
      grow(INPUTS + call);
      const gone = [...new Set([...read, INPUTS + call])].filter(
        (index) => !wanted.includes(index) && (lastRead[index] ?? -1) <= call,
      );
      for (const index of gone) alive -= this.#at(index).byteLength;
    });
    // Whoever shares a tensor with a later output gets a copy.
    wanted.forEach((index, at) => {
      if (wanted.includes(index, at + 1)) grow(index);
    });
    return peak;
  }

  #at(index: number): Int32Array {
    const tensor = this.tensors[index];
    if (tensor === undefined) throw new RangeError(`${index}`);
    return tensor;
  }
}

function compute(op: Op, a: Int32Array, b: Int32Array): Int32Array {
  const pairwise = (body: (left: number, right: number) => number) => a.map((left, at) => body(left, b[at] ?? 0));
  if (op === "add") return pairwise((left, right) => left + right);
  if (op === "sub") return pairwise((left, right) => left - right);
  if (op === "mul") return pairwise(Math.imul);
  if (op === "neg") return a.map((left) => -left);
  if (op === "flip") return a.toReversed();
  return Int32Array.of(...a, ...b);
}

describeNative("random programs", () => {
  test("compute what plain arrays do, and take exactly the memory of what is still to be read", () => {
    fc.assert(
      fc.property(inputs, steps, outputs, (given, all, picks) => {
        const twin = new Twin(given);
        for (const step of all) twin.add(step);
        const wanted = picks.map((pick) => pick % twin.tensors.length);
        const declare = (index: number) => ({ shape: [twin.tensors[index]?.length ?? 0], dtype: "int32" }) as const;
        const tensor = (index: number): HostTensor => ({
          ...declare(index),
          data: twin.tensors[index] ?? new Int32Array(),
        });
        const { outputs: found, peakBytes } = runTrial({
          program: { calls: twin.calls, outputs: wanted.map((index) => twin.argument(index)) },
          inputs: { x: declare(0), y: declare(1) },
          outputs: Object.fromEntries(wanted.map((index, at) => [`o${at}`, declare(index)])),
          values: [tensor(0), tensor(1)],
        });
        expect(found).toEqual(wanted.map(tensor));
        expect(peakBytes).toBe(twin.peakBytes(wanted));
      }),
      { numRuns: 300 },
    );
  });
});
