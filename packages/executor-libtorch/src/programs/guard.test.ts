import { expect, test } from "vitest";
import { describeNative } from "../native/describe-native.fixture.ts";
import { floats, runTrial } from "./run-program.fixture.ts";
import type { Argument, Call } from "./types.ts";

const four = { shape: [4], dtype: "float32" } as const;
const of = (op: string, args: readonly Argument[], result: string | null): Call => ({ op, args, results: [result] });

/** Runs the calls, which have to give "y", on x = [1, 2, 3, 4] and the weight w = [5, 5, 5, 5]. */
const run = (...calls: readonly Call[]) =>
  runTrial({
    program: { calls, outputs: [{ value: "y" }] },
    inputs: { x: four },
    outputs: { y: four },
    values: [floats([1, 2, 3, 4])],
    weights: [{ seed: 1, tensors: { w: { ...four, fill: 5 } } }],
  });
const codeOf = (code: string, message: RegExp) =>
  expect.objectContaining({ name: "LibtorchError", code, message: expect.stringMatching(message) });

const GIVEN: readonly [string, Argument][] = [
  ["the weight", { weight: "w" }],
  ["input 0", { input: 0 }],
];

describeNative("what a program is given", () => {
  test.each(GIVEN)("%s is not written to, though no schema tells that it is written to", (what, given) => {
    const write = of("aten::mul_.Scalar", [{ value: "t" }, 7], "y");
    const refused = codeOf("WRONG_ARGUMENT", new RegExp(`call 1.*is written to, and is ${what}`));
    expect(() => run(of("aten::dropout", [given, 0.1, false], "t"), write)).toThrow(refused);
    expect(() => run(of("aten::type_as", [given, given], "t"), write)).toThrow(refused);
    const own = of("aten::clone", [{ input: 0 }], "s");
    const { outputs } = run(own, of("aten::dropout", [{ value: "s" }, 0.1, false], "t"), write);
    expect(outputs).toEqual([floats([7, 14, 21, 28])]);
  });

  test("is handed out as what the host can hold, or not at all", () => {
    const ones = of("aten::ones", [[4]], "y");
    const fetch: Call = { fetch: "seen", args: [{ value: "z" }] };
    expect(() => run(ones, of("aten::to_sparse", [{ value: "y" }], "z"), fetch)).toThrow(
      codeOf("WRONG_ARGUMENT", /fetch "seen": it is Sparse/),
    );
    expect(() => run(ones, of("aten::complex", [{ value: "y" }, { value: "y" }], "z"), fetch)).toThrow(
      codeOf("DTYPE_UNSUPPORTED", /ComplexFloat/),
    );
    const marked = run(of("aten::_neg_view", [{ input: 0 }], "y"));
    expect(marked.outputs).toEqual([floats([-1, -2, -3, -4])]);
  });

  test("comes from no file that the program names", () => {
    expect(() => run(of("aten::from_file", ["some-file", true, 4], "y"))).toThrow(
      codeOf("PROGRAM_INVALID", /opens a file \(its argument "filename"\)/),
    );
  });
});
