import {
  compileExpression,
  EXPRESSION_DEPTH_MAX,
  EXPRESSION_LENGTH_MAX,
  ExpressionError,
  ExpressionValueError,
} from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";

const symbols = ["tokens", "past"];
const value = (text: string, ...values: number[]) => compileExpression(text, symbols).evaluate(values);

function fault(text: string, declared: readonly string[] = symbols): ExpressionError {
  try {
    compileExpression(text, declared);
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error(`${text} was accepted`);
}

describe("values", () => {
  test.each([
    ["7", 7],
    ["tokens", 5],
    ["(past + tokens) * 8", 840],
    ["2 + 3 * 4", 14],
    ["(2 + 3) * 4", 20],
    ["10 - 3 - 2", 5],
    ["10 - (3 - 2)", 9],
    ["past - tokens * 30", -50],
    ["ceilDiv(past + tokens, 16) * 16", 112],
    ["ceilDiv(7, 0 - 2)", -3],
    ["ceilDiv(0 - 7, 2)", -3],
    ["ceilDiv(0 - 7, 0 - 2)", 4],
    ["ceilDiv(8, 2)", 4],
    ["max(tokens)", 5],
    ["max(tokens, past, 3)", 100],
    ["max(max(1, 2), max(4, 3))", 4],
    [" \t\n tokens\n", 5],
    ["007", 7],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["ceilDiv(9007199254740991, 2)", 4503599627370496],
  ])("%s = %d", (text, expected) => {
    expect(value(text, 5, 100)).toBe(expected);
  });

  test("zero is never negative zero", () => {
    expect(Object.is(value("(tokens - 8) * 0", 3), 0)).toBe(true);
    expect(Object.is(value("ceilDiv(0 - 1, 2)"), 0)).toBe(true);
  });

  test("a program tells which symbols it reads", () => {
    expect(compileExpression("past + past * 2", symbols).reads).toEqual([1]);
    expect(compileExpression("3", symbols).reads).toEqual([]);
  });

  test("past 2^53 − 1 is refused exactly at the limit, and only rounded where that is asked for", () => {
    const program = compileExpression("tokens + past", symbols);
    const limit = Number.MAX_SAFE_INTEGER;
    expect(program.evaluate([limit, 0])).toBe(limit);
    expect(() => program.evaluate([limit, 1])).toThrow(ExpressionValueError);
    expect(program.evaluateRounded([limit, 1])).toBe(2 ** 53);
    expect(() => value("tokens * tokens - tokens * tokens", limit, 0)).toThrow(/past ±\(2\^53 − 1\)/);
    expect(() => value("0 - tokens - 1", limit, 0)).toThrow(ExpressionValueError);
  });

  test("ranges give the most that is possible, and fail where something in them fails", () => {
    const most = (text: string, past: number) => compileExpression(text, symbols).evaluateMost([0, past], [10, past]);
    expect(most("past + tokens * 2", 5)).toBe(25);
    expect(most("past - tokens", 5)).toBe(5);
    expect(most("ceilDiv(past, max(tokens, 1))", 5)).toBe(5);
    // Uses of one symbol are taken to be independent.
    expect(most("tokens - tokens", 5)).toBe(10);
    expect(() => most("ceilDiv(past, tokens - 5)", 5)).toThrow(
      expect.objectContaining({
        code: "DIVISION_BY_ZERO",
        position: 0,
        message: expect.stringContaining("tokens = 0 … 10, past = 5"),
      }),
    );
    const limit = Number.MAX_SAFE_INTEGER;
    expect(most("tokens + past", limit - 10)).toBe(limit);
    expect(() => most("tokens + past", limit - 9)).toThrow(expect.objectContaining({ code: "EXPRESSION_OVERFLOW" }));
    expect(() => most("0 - tokens - past", limit - 9)).toThrow(
      expect.objectContaining({ code: "EXPRESSION_OVERFLOW" }),
    );
  });

  test("a failing evaluation names the operation and the values", () => {
    const program = compileExpression("4 + ceilDiv(tokens, past - 3)", symbols);
    expect(() => program.evaluate([1, 3])).toThrow(
      expect.objectContaining({ code: "DIVISION_BY_ZERO", position: 4, message: expect.stringContaining("past = 3") }),
    );
    const large = compileExpression("tokens * tokens", symbols);
    expect(() => large.evaluate([2 ** 40, 0])).toThrow(
      expect.objectContaining({ code: "EXPRESSION_OVERFLOW", position: 7 }),
    );
  });
});

describe("faults", () => {
  test.each([
    ["", 0, "the end where"],
    ["tokens +", 8, "the end where"],
    ["tokens past", 7, "an operator or the end"],
    ["(tokens", 7, "the end where )"],
    ["tokens)", 6, "an operator or the end"],
    ["tokens / 2", 7, 'unexpected character "/"'],
    ["-tokens", 0, 'has "-" where'],
    ["1.5", 0, "whole"],
    ["1e3", 0, "whole"],
    ["2x", 0, "whole"],
    ["9007199254740992", 0, "at most 2^53 − 1"],
    ["ceilDiv(1)", 0, "2 arguments, got 1"],
    ["1 + ceilDiv(1, 2, 3)", 4, "2 arguments, got 3"],
    ["max()", 4, 'has ")" where'],
    ["max", 0, "takes arguments"],
    ["min(1, 2)", 0, "there are ceilDiv and max"],
    ["tokens(1)", 0, "no function"],
    ["8 * toknes", 4, 'did you mean "tokens"?'],
    ["constructor", 0, "no symbol"],
    ["__proto__", 0, "no symbol"],
    ["a\u0000", 1, "unexpected character"],
    ["1 \ud800", 2, "unexpected character"],
  ])("%j at position %d: %s", (text, position, message) => {
    const error = fault(text);
    expect(error).toMatchObject({ code: "EXPRESSION_INVALID", expression: text, position });
    expect(error.message).toContain(message);
  });

  test("length and depth are bounded, and both bounds are reachable", () => {
    const nested = (depth: number) => `${"(".repeat(depth)}1${")".repeat(depth)}`;
    expect(value(nested(EXPRESSION_DEPTH_MAX))).toBe(1);
    expect(fault(nested(EXPRESSION_DEPTH_MAX + 1)).message).toContain("nests deeper than 64");
    expect(fault("(".repeat(EXPRESSION_LENGTH_MAX)).message).toContain("nests deeper");
    expect(value(Array.from({ length: 200 }, () => "(1)").join("+"))).toBe(200);
    const long = `1${"+1".repeat((EXPRESSION_LENGTH_MAX - 1) / 2)}`;
    expect(value(long)).toBe((long.length + 1) / 2);
    expect(fault(`${long}${" ".repeat(EXPRESSION_LENGTH_MAX)}`).message).toContain("at most 4096");
  });

  test("the deepest expression with every operand pending fits the evaluation stack", () => {
    const open = "1+1*max(1,";
    const depth = EXPRESSION_DEPTH_MAX;
    expect(value(`${open.repeat(depth)}2${")".repeat(depth)}`)).toBe(depth + 2);
  });
});
