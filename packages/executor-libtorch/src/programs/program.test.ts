import { expect, test } from "vitest";
import { describeNative } from "../native/describe-native.fixture.ts";
import { floats, runTrial } from "./run-program.fixture.ts";
import type { Argument, Call } from "./types.ts";

const y = { value: "y" };
const pair = { x: { shape: [2], dtype: "float32" } } as const;

const call = (op: string, args: readonly Argument[], kwargs: Readonly<Record<string, Argument>> = {}): Call => ({
  op,
  args,
  kwargs,
  results: ["y"],
});
const named = (result: string, each: Call): Call => ({ ...each, results: [result] });

/** Calls on x = [1, 2], the last of which gives "y". */
const run = (...calls: readonly Call[]) =>
  runTrial({ program: { calls, outputs: [y] }, inputs: pair, outputs: { y: pair.x }, values: [floats([1, 2])] });
const numbersOf = (...calls: readonly Call[]) => [...(run(...calls).outputs[0]?.data ?? [])];

const WRONG: readonly [string, Call, string, RegExp][] = [
  ["an unknown operator", call("aten::soft_max", [{ input: 0 }]), "UNKNOWN_OPERATOR", /aten::softmax/],
  ["an overload left out", call("aten::add", [{ input: 0 }, 1]), "UNKNOWN_OPERATOR", /aten::add\.Scalar/],
  ["an argument of another type", call("aten::relu", ["x"]), "WRONG_ARGUMENT", /takes Tensor.*schema: aten::relu/],
  ["an argument too few", call("aten::mm", [{ input: 0 }]), "WRONG_ARGUMENT", /"mat2" is missing/],
  [
    "an argument of an unknown name",
    call("aten::relu", [{ input: 0 }], { inplace: true }),
    "WRONG_ARGUMENT",
    /"inplace"/,
  ],
  ["a value that is none", call("aten::relu", [{ value: "x" }]), "PROGRAM_INVALID", /"x"/],
  ["writing to what is read", call("aten::relu_", [{ input: 0 }]), "WRONG_ARGUMENT", /no output aliases/],
  ["a kernel that throws", call("aten::mm", [{ input: 0 }, { input: 0 }]), "OPERATOR_FAILED", /call 0, aten::mm/],
  ["a result of another shape", call("aten::sum", [{ input: 0 }]), "OUTPUT_MISMATCH", /float32 \[2\] is declared/],
];

describeNative("programs on LibTorch", () => {
  test("compute what their calls say, with arguments of every kind", () => {
    const x = { input: 0 };
    expect(numbersOf(call("aten::mul.Scalar", [x, 1.5]))).toEqual([1.5, 3]);
    expect(numbersOf(call("aten::add.Tensor", [x, x], { alpha: -1 }))).toEqual([0, 0]);
    expect(numbersOf(call("aten::full", [[2], -Infinity], { dtype: { dtype: "float32" } }))).toEqual([
      -Infinity,
      -Infinity,
    ]);
    expect(numbersOf(call("aten::mul.Scalar", [x, -0])).map((each) => Object.is(each, -0))).toEqual([true, true]);
    const stacked = named("s", call("aten::stack", [[x, x], 0]));
    expect(numbersOf(stacked, call("aten::sum.dim_IntList", [{ value: "s" }, [0]]))).toEqual([2, 4]);
    expect(numbersOf(call("aten::div.Tensor_mode", [x, x], { rounding_mode: null }))).toEqual([1, 1]);
  });

  test("take expressions over symbols, host data and weights, and hand tensors out", () => {
    const { outputs, fetched } = runTrial({
      symbols: { past: 1, tokens: 2 },
      external: { ids: { shape: ["tokens"], dtype: "int64" } },
      outputs: { rows: { shape: ["tokens", 3], dtype: "float32" } },
      program: {
        calls: [
          { feed: "ids", results: ["ids"] },
          { op: "aten::embedding", args: [{ weight: "table" }, { value: "ids" }], results: ["rows"] },
          { op: "aten::arange.start", args: [{ symbol: "past" }, { symbol: "past + tokens" }], results: ["positions"] },
          { fetch: "positions", args: [{ value: "positions" }] },
        ],
        outputs: [{ value: "rows" }],
      },
      feeds: { ids: { dtype: "int64", shape: [2], data: Int32Array.of(1, 0) } },
      weights: [{ seed: 0, tensors: { table: { shape: [2, 3], dtype: "float32", fill: 0.25 } } }],
    });
    expect(outputs).toEqual([floats([0.25, 0.25, 0.25, 0.25, 0.25, 0.25], [2, 3])]);
    expect(fetched).toEqual({ positions: { dtype: "int64", shape: [2], data: BigInt64Array.of(1n, 2n) } });
  });

  test("take no more memory than their cap, and tell what they took", () => {
    const calls = [named("z", call("aten::zeros", [[1000]])), call("aten::slice.Tensor", [{ value: "z" }, 0, 0, 2])];
    const trial = { program: { calls, outputs: [y] }, outputs: { y: pair.x } };
    expect(runTrial(trial).peakBytes).toBe(4008);
    expect(runTrial({ ...trial, capBytes: 4008 }).peakBytes).toBe(4008);
    expect(() => runTrial({ ...trial, capBytes: 4007 })).toThrow(expect.objectContaining({ code: "OUT_OF_MEMORY" }));
    expect(() => runTrial({ ...trial, capBytes: 3999 })).toThrow(/4000 bytes asked for, 0 of 3999 in use/);
  });

  test.each(WRONG)("%s is a typed error", (_, wrong, code, message) => {
    expect(() => run(wrong)).toThrow(expect.objectContaining({ code }));
    expect(() => run(wrong)).toThrow(message);
  });

  test("host data that are not given, or of another shape, are typed errors", () => {
    const trial = {
      program: { calls: [{ feed: "x", results: ["y"] }] as const, outputs: [y] },
      external: pair,
      outputs: { y: pair.x },
    };
    expect(() => runTrial(trial)).toThrow(expect.objectContaining({ code: "FEED_MISSING" }));
    expect(() => runTrial({ ...trial, feeds: { x: floats([1, 2, 3]) } })).toThrow(
      expect.objectContaining({ code: "FEED_MISMATCH" }),
    );
    expect(runTrial({ ...trial, feeds: { x: floats([3, 4]) } }).outputs).toEqual([floats([3, 4])]);
  });
});
