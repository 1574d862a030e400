import {
  compileExpression,
  EXPRESSION_FUNCTIONS,
  ExpressionError,
  ExpressionValueError,
} from "@slicescheduler/templates";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const SYMBOLS = ["a", "b", "tokens"];
const LIMIT = BigInt(Number.MAX_SAFE_INTEGER);

type Tree =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "symbol"; readonly index: number }
  | { readonly kind: "+" | "-" | "*" | "ceilDiv"; readonly left: Tree; readonly right: Tree }
  | { readonly kind: "max"; readonly all: readonly Tree[] };

const numbers = fc.oneof(fc.nat(20), fc.nat(1_000_000), fc.maxSafeNat());
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 8, depthSize: "medium", withCrossShrink: true },
    numbers.map((value): Tree => ({ kind: "number", value })),
    fc.nat(SYMBOLS.length - 1).map((index): Tree => ({ kind: "symbol", index })),
    fc
      .tuple(fc.constantFrom("+", "-", "*", "ceilDiv"), tie("tree"), tie("tree"))
      .map(([kind, left, right]): Tree => ({ kind, left, right })),
    fc.array(tie("tree"), { minLength: 1, maxLength: 3 }).map((all): Tree => ({ kind: "max", all })),
  ),
}));

/** Only the parentheses the tree needs, so that precedence and association are tested and not written out. */
function render(node: Tree, level = 0): string {
  if (node.kind === "number") return String(node.value);
  if (node.kind === "symbol") return SYMBOLS[node.index] ?? "";
  if (node.kind === "max") return `max(${node.all.map((each) => render(each)).join(" , ")})`;
  if (node.kind === "ceilDiv") return `ceilDiv( ${render(node.left)},${render(node.right)})`;
  const own = node.kind === "*" ? 1 : 0;
  const text = `${render(node.left, own)}${node.kind === "*" ? "*" : ` ${node.kind} `}${render(node.right, own + 1)}`;
  return own < level ? `(${text})` : text;
}

/** Undefined where the exact value, or one on the way, passes the limit or does not exist. */
function exact(node: Tree, values: readonly number[]): bigint | undefined {
  if (node.kind === "number") return BigInt(node.value);
  if (node.kind === "symbol") return BigInt(values[node.index] ?? 0);
  if (node.kind === "max") {
    const all = node.all.map((each) => exact(each, values)).filter((value) => value !== undefined);
    return all.length < node.all.length ? undefined : all.sort((a, b) => (a < b ? 1 : -1))[0];
  }
  const [left, right] = [exact(node.left, values), exact(node.right, values)];
  if (left === undefined || right === undefined) return undefined;
  const value = calculate(node.kind, left, right);
  return value === undefined || value > LIMIT || value < -LIMIT ? undefined : value;
}

function calculate(kind: "+" | "-" | "*" | "ceilDiv", left: bigint, right: bigint): bigint | undefined {
  if (kind === "+") return left + right;
  if (kind === "-") return left - right;
  if (kind === "*") return left * right;
  if (right === 0n) return undefined;
  const quotient = left / right;
  return left % right !== 0n && left < 0n === right < 0n ? quotient + 1n : quotient;
}

/** Every combination of whole values from `least` to `most`. */
function combinations(least: readonly number[], most: readonly number[]): number[][] {
  let points: number[][] = [[]];
  least.forEach((low, i) => {
    const values = Array.from({ length: (most[i] ?? low) - low + 1 }, (_, step) => low + step);
    points = points.flatMap((point) => values.map((value) => [...point, value]));
  });
  return points;
}

function standsOnce(node: Tree): boolean {
  const stands = (each: Tree): number[] => {
    if (each.kind === "number") return [];
    if (each.kind === "symbol") return [each.index];
    return (each.kind === "max" ? each.all : [each.left, each.right]).flatMap(stands);
  };
  const all = stands(node);
  return new Set(all).size === all.length;
}

describe("compileExpression", () => {
  test("agrees with exact arithmetic over the tree, or fails where there is no exact value", () => {
    fc.assert(
      fc.property(tree, fc.tuple(numbers, numbers, numbers), (node, values) => {
        const program = compileExpression(render(node), SYMBOLS);
        const expected = exact(node, values);
        if (expected === undefined) expect(() => program.evaluate(values)).toThrow(ExpressionValueError);
        else {
          const value = program.evaluate(values);
          expect(BigInt(value)).toBe(expected);
          expect(Object.is(value, -0)).toBe(false);
          expect(program.evaluateRounded(values)).toBe(value);
        }
      }),
      { numRuns: 1500 },
    );
  });

  test("a value for ranges is never below that for any values in them, and the same where each symbol stands once", () => {
    const small = fc.oneof(fc.nat(4), fc.nat(1000)).map((value): Tree => ({ kind: "number", value }));
    const { part } = fc.letrec<{ part: Tree }>((tie) => ({
      part: fc.oneof(
        { maxDepth: 4, depthSize: "small", withCrossShrink: true },
        fc.nat(SYMBOLS.length - 1).map((index): Tree => ({ kind: "symbol", index })),
        small,
        fc
          .tuple(fc.constantFrom("+", "-", "*", "ceilDiv"), tie("part"), tie("part"))
          .map(([kind, left, right]): Tree => ({ kind, left, right })),
        fc.array(tie("part"), { minLength: 1, maxLength: 3 }).map((all): Tree => ({ kind: "max", all })),
      ),
    }));
    const range = fc.record({ least: fc.nat(3), width: fc.nat(4) });
    let [exactly, refused] = [0, 0];
    fc.assert(
      fc.property(part, fc.tuple(range, range, range), (node, ranges) => {
        const program = compileExpression(render(node), SYMBOLS);
        const least = ranges.map((each) => each.least);
        const most = ranges.map((each) => each.least + each.width);
        const points = combinations(least, most);
        const values = points.map((point) => exact(node, point));
        let value: number;
        try {
          value = program.evaluateMost(least, most);
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionValueError);
          refused += 1;
          // Where nothing varies there is nothing to be careful about.
          if (points.length === 1) expect(values[0]).toBeUndefined();
          return;
        }
        expect(Object.is(value, -0)).toBe(false);
        const known = values.filter((each) => each !== undefined).map(Number);
        expect(known).toHaveLength(points.length);
        const largest = Math.max(...known);
        expect(value).toBeGreaterThanOrEqual(largest);
        if (!standsOnce(node)) return;
        exactly += 1;
        expect(value).toBe(largest);
      }),
      { numRuns: 1000 },
    );
    expect(Math.min(exactly, refused)).toBeGreaterThan(20);
  });

  test("any string compiles or is refused with a position inside it", () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom("+", "-", "*", "(", ")", ",", " ", "1", "a", "b", "tokens", ...EXPRESSION_FUNCTIONS),
        fc.string({ maxLength: 3 }),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          pieces.map((list) => list.join("")),
        ),
        (text) => {
          try {
            const program = compileExpression(text, SYMBOLS);
            expect(Number.isFinite(program.evaluateRounded([1, 2, 3]))).toBe(true);
          } catch (error) {
            if (error instanceof ExpressionValueError) return;
            expect(error).toBeInstanceOf(ExpressionError);
            const { position } = error as ExpressionError;
            expect(position).toBeGreaterThanOrEqual(0);
            expect(position).toBeLessThanOrEqual(text.length);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });
});
