import { ExpressionValueError } from "./expression-errors.ts";

export interface Instruction {
  readonly op: "number" | "symbol" | "add" | "subtract" | "multiply" | "ceilDiv" | "max";
  /** The number, or the index of the symbol; 0 for the others. */
  readonly value: number;
  /** In characters from 0, for messages. */
  readonly position: number;
}

const NUMBER = 0;
const SYMBOL = 1;
const ADD = 2;
const SUBTRACT = 3;
const MULTIPLY = 4;
const CEIL_DIV = 5;
const OPS: Readonly<Record<Instruction["op"], number>> = {
  number: NUMBER,
  symbol: SYMBOL,
  add: ADD,
  subtract: SUBTRACT,
  multiply: MULTIPLY,
  ceilDiv: CEIL_DIV,
  max: 6,
};

/**
 * A compiled expression: instructions in postfix order over a stack of numbers. Immutable; evaluating takes some
 * nanoseconds per instruction and allocates nothing.
 */
export class Program {
  readonly text: string;
  /** Indices of the symbols it reads, distinct, ascending. */
  readonly reads: readonly number[];
  readonly #ops: Uint8Array;
  readonly #values: Float64Array;
  readonly #positions: readonly number[];
  readonly #symbols: readonly string[];

  constructor(text: string, symbols: readonly string[], code: readonly Instruction[]) {
    this.text = text;
    this.#symbols = symbols;
    this.#ops = Uint8Array.from(code, ({ op }) => OPS[op]);
    this.#values = Float64Array.from(code, ({ value }) => value);
    this.#positions = code.map(({ position }) => position);
    const reads = new Set(code.filter(({ op }) => op === "symbol").map(({ value }) => value));
    this.reads = [...reads].sort((a, b) => a - b);
  }

  /**
   * The exact whole value for whole symbol values in declared order; it may be negative. Throws EXPRESSION_OVERFLOW when
   * it or anything on the way passes ±(2^53 − 1), and DIVISION_BY_ZERO.
   */
  evaluate(symbolValues: readonly number[]): number {
    return run(this, this.#ops, this.#values, symbolValues, Number.MAX_SAFE_INTEGER);
  }

  /** The same in plain doubles: past 2^53 it is rounded, and EXPRESSION_OVERFLOW means that it is not finite. */
  evaluateRounded(symbolValues: readonly number[]): number {
    return run(this, this.#ops, this.#values, symbolValues, Number.MAX_VALUE);
  }

  /**
   * The largest value for whole symbol values that are each known only to lie from `least` to `most`, both in declared
   * order. Exact where each of those symbols stands once in the expression; where one stands several times, its uses are taken
   * to be independent, so that the result is never below the largest value and may be above. Throws EXPRESSION_OVERFLOW when
   * something on the way may pass ±(2^53 − 1), and DIVISION_BY_ZERO when a divisor may be 0.
   */
  evaluateMost(least: readonly number[], most: readonly number[]): number {
    return runMost(this, this.#ops, this.#values, least, most);
  }

  /** Throws what went wrong at an instruction, with the values, or the ranges, of the symbols it reads. */
  fail(instruction: number, value: number, least: readonly number[], most = least): never {
    const given = this.reads
      .map((index) => {
        const range = least[index] === most[index] ? `${most[index]}` : `${least[index]} … ${most[index]}`;
        return `${this.#symbols[index]} = ${range}`;
      })
      .join(", ");
    const where = given === "" ? "" : ` for ${given}`;
    const position = this.#positions[instruction] ?? 0;
    if (Number.isNaN(value))
      throw new ExpressionValueError("DIVISION_BY_ZERO", this.text, position, `divides by 0${where}`);
    const found = `gives about ${value.toPrecision(4)}${where}, past ±(2^53 − 1)`;
    throw new ExpressionValueError("EXPRESSION_OVERFLOW", this.text, position, found);
  }
}

/** Each nesting level holds at most a sum, a product and the left argument of a function open: 3 · 64 levels + 1. */
const STACK_MAX = 256;
/** Shared by all programs: an evaluation is over before the next one begins. */
const stack = new Float64Array(STACK_MAX);

function run(
  program: Program,
  ops: Uint8Array,
  values: Float64Array,
  symbolValues: readonly number[],
  limit: number,
): number {
  let top = -1;
  for (let i = 0; i < ops.length; i++) {
    const op = ops[i] as number;
    if (op <= SYMBOL) {
      const value = values[i] as number;
      stack[++top] = op === NUMBER ? value : (symbolValues[value] as number);
      continue;
    }
    const right = stack[top--] as number;
    const left = stack[top] as number;
    const value = apply(op, left, right);
    // Written so that NaN, the mark of a division by 0, fails as well.
    if (!(value <= limit && value >= -limit)) program.fail(i, value, symbolValues);
    stack[top] = value;
  }
  return stack[0] as number;
}

/** Adding 0 turns −0 into 0, so that equal values are equal to the bit. */
function apply(op: number, left: number, right: number): number {
  if (op === ADD) return left + right;
  if (op === SUBTRACT) return left - right + 0;
  if (op === MULTIPLY) return left * right + 0;
  if (op === CEIL_DIV) return right === 0 ? Number.NaN : ceilDivide(left, right);
  return Math.max(left, right);
}

/** Rounds towards +∞ for either sign; the remainder makes it exact where a plain quotient could round. */
function ceilDivide(dividend: number, divisor: number): number {
  const over = dividend % divisor;
  const quotient = (dividend - over) / divisor;
  return (over !== 0 && over > 0 === divisor > 0 ? quotient + 1 : quotient) + 0;
}

/** Lower ends of the ranges whose upper ends are on `stack`. */
const lowStack = new Float64Array(STACK_MAX);

/** Interval arithmetic over the same instructions. Every operation is monotonic in each operand, so corners are enough. */
function runMost(
  program: Program,
  ops: Uint8Array,
  values: Float64Array,
  least: readonly number[],
  most: readonly number[],
): number {
  let top = -1;
  for (let i = 0; i < ops.length; i++) {
    const op = ops[i] as number;
    if (op <= SYMBOL) {
      const value = values[i] as number;
      top += 1;
      lowStack[top] = op === NUMBER ? value : (least[value] as number);
      stack[top] = op === NUMBER ? value : (most[value] as number);
      continue;
    }
    const rightLow = lowStack[top] as number;
    const rightHigh = stack[top] as number;
    top -= 1;
    const leftLow = lowStack[top] as number;
    const leftHigh = stack[top] as number;
    // NaN marks a division by 0, also by one strictly inside the range.
    const corners =
      op === CEIL_DIV && rightLow < 0 && rightHigh > 0
        ? [Number.NaN]
        : [
            apply(op, leftLow, rightLow),
            apply(op, leftLow, rightHigh),
            apply(op, leftHigh, rightLow),
            apply(op, leftHigh, rightHigh),
          ];
    const low = Math.min(...corners);
    const high = Math.max(...corners);
    if (!(low >= -Number.MAX_SAFE_INTEGER)) program.fail(i, low, least, most);
    if (!(high <= Number.MAX_SAFE_INTEGER)) program.fail(i, high, least, most);
    lowStack[top] = low;
    stack[top] = high;
  }
  return stack[0] as number;
}
