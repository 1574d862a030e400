import { describe, expect, test } from "vitest";
import { lowerProgram } from "./lower.ts";
import { trialTemplate } from "./run-program.fixture.ts";
import type { Argument, Call, Program } from "./types.ts";

const template = trialTemplate({
  symbols: { past: 0, tokens: 0 },
  inputs: { hidden: { shape: ["tokens", 4], dtype: "float32" }, kv: { shape: ["past + tokens"], dtype: "float16" } },
  external: { prompt: { shape: ["tokens"], dtype: "int64" }, images: [{ shape: [2, 3], dtype: "uint8" }] },
  outputs: {
    kv: { shape: ["past + tokens"], dtype: "float16", aliases: "kv" },
    hidden: { shape: ["tokens", 4], dtype: "float32" },
  },
});

const lower = (calls: readonly Call[], outputs: readonly Argument[] = [{ input: 1 }, { input: 0 }]) => {
  const { json, symbols } = lowerProgram({ calls, outputs }, template, 0);
  return { ...JSON.parse(json), symbols };
};

describe("programs in their native form", () => {
  test("expressions become numbers, each once, whoever uses them", () => {
    const { symbols, calls, outputs } = lower([
      {
        op: "aten::slice.Tensor",
        args: [{ input: 0 }, 0, { symbol: "past" }, { symbol: "past + tokens" }],
        results: ["s"],
      },
      { op: "aten::zeros", args: [[{ symbol: "tokens" }, 4]], kwargs: { dtype: { dtype: "float32" } }, results: ["z"] },
    ]);
    expect(symbols).toEqual(["past", "past + tokens", "tokens"]);
    expect(calls[0].args.slice(2)).toEqual([{ symbol: 0 }, { symbol: 1 }]);
    expect(calls[1].args).toEqual([[{ symbol: 2 }, 4]]);
    expect(outputs).toEqual([
      { name: "kv", value: { input: 1 }, dtype: "float16", shape: [{ symbol: 1 }], aliases: 1 },
      { name: "hidden", value: { input: 0 }, dtype: "float32", shape: [{ symbol: 2 }, 4], aliases: null },
    ]);
  });

  test("numbers that JSON does not have keep what they are", () => {
    const [{ args }] = lower([{ op: "aten::x", args: [-Infinity, Infinity, Number.NaN, -0, 0, null] }]).calls;
    expect(args).toEqual([
      { number: "-Infinity" },
      { number: "Infinity" },
      { number: "NaN" },
      { number: "-0" },
      0,
      null,
    ]);
  });

  test("what is fed is an external of the operator, with the type and shape that the template declares", () => {
    const { calls, inputs } = lower([
      { feed: "prompt", results: ["ids"] },
      { feed: "images[0]", results: ["image"] },
    ]);
    expect(calls).toEqual([
      { feed: "prompt", results: ["ids"], dtype: "int64", shape: [{ symbol: 0 }] },
      { feed: "images[0]", results: ["image"], dtype: "uint8", shape: [2, 3] },
    ]);
    expect(inputs).toBe(2);
  });

  test.each<[string, Partial<Program>, RegExp]>([
    [
      "an expression that is none",
      { calls: [{ op: "aten::x", args: [{ symbol: "tokens +" }] }] },
      /call 0.*position 8/,
    ],
    [
      "a symbol that is not declared",
      { calls: [{ op: "aten::x", args: [[{ symbol: "token" }]] }] },
      /did you mean.*tokens/,
    ],
    [
      "data that the operator does not read",
      { calls: [{ feed: "mask", results: ["m"] }] },
      /feeds "mask".*prompt, images\[0\]/,
    ],
    ["a bundle as a whole", { calls: [{ feed: "images", results: ["m"] }] }, /feeds "images"/],
    ["too few outputs", { outputs: [{ input: 1 }] }, /2 outputs are declared, and the program has 1/],
    ["no calls", { calls: null as unknown as [] }, /both lists/],
    ["a call that is none", { calls: [7 as unknown as Call] }, /call 0 is no object/],
    [
      "a misspelt field of a call",
      { calls: [{ op: "aten::x", kwarg: { alpha: 5 } } as unknown as Call] },
      /call 0: there is no field "kwarg".*did you mean "kwargs"/,
    ],
    ["a field of another kind of call", { calls: [{ fetch: "x", args: [0], results: ["y"] } as Call] }, /"results"/],
    ["a field that programs do not have", { output: [] } as Partial<Program>, /did you mean "outputs"/],
    [
      "an argument that is two things",
      { calls: [{ op: "aten::x", args: [{ input: 0, weight: "w" } as never] }] },
      /one thing/,
    ],
    ["named arguments in a list", { calls: [{ op: "aten::x", kwargs: [1] as never }] }, /kwargs is no object/],
    ["arguments that are no list", { calls: [{ op: "aten::x", args: {} as unknown as [] }] }, /args is no list/],
  ])("%s is refused", (_, change, message) => {
    const program = { calls: [], outputs: [{ input: 1 }, { input: 0 }], ...change };
    expect(() => lowerProgram(program, template, 0)).toThrow(expect.objectContaining({ code: "PROGRAM_INVALID" }));
    expect(() => lowerProgram(program, template, 0)).toThrow(message);
  });

  test("lists nest so far and no further", () => {
    const nested = (depth: number): Argument => (depth === 0 ? 1 : [nested(depth - 1)]);
    expect(() => lower([{ op: "aten::x", args: [nested(10)] }])).not.toThrow();
    expect(() => lower([{ op: "aten::x", args: [nested(40)] }])).toThrow(/nest deeper/);
  });
});
