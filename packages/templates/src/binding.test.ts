import { compileCluster, compileTemplate, type OperatorSpec } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";

const cluster = compileCluster({ accelerators: [{ name: "gpu0", kind: "H200", hbmBytes: 2 ** 52 }] });

function template(operator: Partial<OperatorSpec>, inputs = {}) {
  return compileTemplate(
    {
      name: "t",
      symbols: ["tokens", "past"],
      inputs,
      operators: [{ name: "op", outputs: {}, ...operator }],
      outputs: {},
      partitions: [{ name: "p", accelerators: ["gpu0"], layout: [0] }],
    },
    cluster,
  );
}

describe("a binding", () => {
  const compiled = template(
    {
      inputs: ["kv[1]", "x", "kv[1]"],
      outputs: {
        kv: { shape: ["past + tokens", 8], dtype: "float32", aliases: "kv[1]" },
        none: { shape: [], dtype: "int64" },
        empty: { shape: ["past - past", 2 ** 52, 2 ** 52], dtype: "int64" },
      },
      workspaceBytes: "max(tokens, 100)",
      flops: "tokens * 2",
      weights: { w: 1000 },
    },
    {
      x: { shape: ["tokens"], dtype: "bool" },
      kv: [
        { shape: [1], dtype: "int8" },
        { shape: ["past", 8], dtype: "float32" },
      ],
    },
  );
  const binding = compiled.bind({ past: 10, tokens: 3 });

  test("gives shapes and exact bytes", () => {
    expect(binding.template).toBe(compiled);
    expect(binding.features).toEqual([3, 10]);
    expect(binding.symbols).toEqual({ tokens: 3, past: 10 });
    expect([0, 1, 2].map((slot) => binding.inputBytes(slot))).toEqual([3, 1, 320]);
    expect(binding.inputShape(2)).toEqual([10, 8]);
    expect([0, 1, 2].map((output) => binding.outputBytes(0, output))).toEqual([416, 8, 0]);
    expect(binding.outputShape(0, 0)).toEqual([13, 8]);
    expect(binding.outputShape(0, 1)).toEqual([]);
    expect([binding.workspaceBytes(0), binding.flops(0)]).toEqual([100, 6]);
  });

  test("moves its distinct inputs, its outputs and its weights, unless declared otherwise", () => {
    expect(binding.movedBytes(0)).toBe(320 + 3 + 416 + 8 + 1000);
    expect(
      template({ movedBytes: "past * 7", weights: { w: 5 } })
        .bind({ past: 2, tokens: 0 })
        .movedBytes(0),
    ).toBe(14);
  });

  test("refuses positions the template does not have", () => {
    expect(() => binding.outputBytes(0, 3)).toThrow(RangeError);
    expect(() => binding.outputBytes(0, -1)).toThrow(RangeError);
    expect(() => binding.outputBytes(1, 0)).toThrow(RangeError);
    expect(() => binding.inputBytes(3)).toThrow(RangeError);
    expect(() => binding.flops(1)).toThrow(RangeError);
    expect(() => binding.movedBytes(-1)).toThrow(RangeError);
  });
});

test("operators alike in all but their weights move different bytes", () => {
  const compiled = compileTemplate(
    {
      name: "t",
      symbols: [],
      operators: [10, 20].map((bytes, i) => ({ name: `op${i}`, outputs: {}, weights: { [`w${i}`]: bytes } })),
      outputs: {},
      partitions: [{ name: "p", accelerators: ["gpu0"], layout: [0, 0] }],
    },
    cluster,
  );
  const binding = compiled.bind({});
  expect([binding.movedBytes(0), binding.movedBytes(1)]).toEqual([10, 20]);
});

describe("refused", () => {
  const compiled = template({ outputs: { o: { shape: ["past - tokens", 8], dtype: "float16" } } });
  const failure = (symbols: object, of = compiled) => {
    try {
      of.bind(symbols as Record<"tokens" | "past", number>);
    } catch (error) {
      return error;
    }
    throw new Error("was accepted");
  };

  test.each([
    [
      { tokens: 1, past: 1, pats: 2 },
      "UNKNOWN_SYMBOL",
      'no symbol "pats", it declares "tokens", "past"; did you mean "past"?',
    ],
    [{}, "UNBOUND_SYMBOL", 'needs a value for "tokens", "past"'],
    [{ tokens: 1, past: undefined }, "UNBOUND_SYMBOL", '"past"'],
    [{ tokens: -1, past: 1 }, "INVALID_SYMBOL_VALUE", '"tokens" must be a whole number from 0 to 2^53 − 1, is -1'],
    [{ tokens: 1, past: 1.5 }, "INVALID_SYMBOL_VALUE", "is 1.5"],
    [{ tokens: 1, past: Number.NaN }, "INVALID_SYMBOL_VALUE", "is NaN"],
    [{ tokens: 1, past: "7" }, "INVALID_SYMBOL_VALUE", 'is "7"'],
    [{ tokens: 1, past: 2 ** 53 }, "INVALID_SYMBOL_VALUE", "is 9007199254740992"],
    [
      { tokens: 5, past: 1 },
      "NEGATIVE_DIMENSION",
      'operators[0].outputs.o.shape[0] = "past - tokens" is -4 for tokens = 5, past = 1',
    ],
    [{ tokens: 0, past: 2 ** 50 }, "BYTES_OVERFLOW", "operators[0].outputs.o of about 1.801e+16 bytes"],
  ])("%j: %s", (symbols, code, message) => {
    expect(failure(symbols)).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  test("a size is exact up to 2^53 − 1 and refused past it", () => {
    const exact = template({ outputs: { o: { shape: ["past"], dtype: "int8" } } });
    expect(exact.bind({ tokens: 0, past: Number.MAX_SAFE_INTEGER }).outputBytes(0, 0)).toBe(Number.MAX_SAFE_INTEGER);
    const sum = template({ outputs: { o: { shape: ["past"], dtype: "int8" }, p: { shape: [1], dtype: "int8" } } });
    expect(failure({ tokens: 0, past: Number.MAX_SAFE_INTEGER }, sum)).toMatchObject({
      code: "BYTES_OVERFLOW",
      message: expect.stringContaining("operators[0].movedBytes"),
    });
    expect(failure({ tokens: 2 ** 30, past: 0 }, template({ workspaceBytes: "tokens * tokens" }))).toMatchObject({
      code: "BYTES_OVERFLOW",
      message: expect.stringContaining("operators[0].workspaceBytes"),
      cause: expect.objectContaining({ code: "EXPRESSION_OVERFLOW", position: 7 }),
    });
  });

  test("floating-point operations, which only feed a prior, may pass 2^53", () => {
    expect(
      template({ flops: "tokens * tokens" })
        .bind({ tokens: 2 ** 30, past: 0 })
        .flops(0),
    ).toBe(2 ** 60);
    expect(failure({ tokens: 3, past: 2 }, template({ flops: "past - tokens" }))).toMatchObject({
      code: "NEGATIVE_DIMENSION",
    });
  });

  test("a division by 0 tells the symbols", () => {
    expect(failure({ tokens: 3, past: 0 }, template({ workspaceBytes: "ceilDiv(tokens, past)" }))).toMatchObject({
      code: "DIVISION_BY_ZERO",
      path: "operators[0].workspaceBytes",
      message: expect.stringContaining("tokens = 3, past = 0"),
    });
  });
});
