import { didYouMean, GmgError } from "./errors.ts";
import type { ExpressionValueError } from "./expression-errors.ts";
import { describe } from "./validation.ts";

/** Code `UNKNOWN_SYMBOL`: values were given for names that the template does not declare. */
export class UnknownSymbolError extends GmgError {
  readonly symbols: readonly string[];

  constructor(template: string, symbols: readonly string[], declared: readonly string[], near: readonly string[]) {
    super(
      "UNKNOWN_SYMBOL",
      `template ${JSON.stringify(template)} has no symbol ${list(symbols)}, it declares ${list(declared)}${didYouMean(near)}`,
      { template, symbols, declared, near },
    );
    this.symbols = symbols;
  }
}

/** Code `UNBOUND_SYMBOL`: the template declares symbols that were given no value. */
export class UnboundSymbolError extends GmgError {
  readonly symbols: readonly string[];

  constructor(template: string, symbols: readonly string[]) {
    super(
      "UNBOUND_SYMBOL",
      `template ${JSON.stringify(template)} needs a value for ${list(symbols)}; give one, or declare a bound`,
      {
        template,
        symbols,
      },
    );
    this.symbols = symbols;
  }
}

/** Code `INVALID_SYMBOL_VALUE`: not a whole number from 0 to the symbol's declared bound, or to 2^53 − 1 where it has none. */
export class InvalidSymbolValueError extends GmgError {
  readonly symbol: string;
  readonly value: unknown;
  /** Undefined where none is declared. */
  readonly bound: number | undefined;

  constructor(template: string, symbol: string, value: unknown, bound?: number) {
    const limit = bound === undefined ? "2^53 − 1" : `${bound}, its declared bound`;
    super(
      "INVALID_SYMBOL_VALUE",
      `template ${JSON.stringify(template)}: symbol ${JSON.stringify(symbol)} must be a whole number from 0 to ${limit}, is ${describe(value)}`,
      { template, symbol, value, ...(bound === undefined ? {} : { bound }) },
    );
    this.symbol = symbol;
    this.value = value;
    this.bound = bound;
  }
}

/** Code `NEGATIVE_DIMENSION`: a dimension or a number of bytes comes out below 0. */
export class NegativeDimensionError extends GmgError {
  /** Where the expression stands in the template. */
  readonly path: string;
  readonly value: number;

  constructor(
    template: string,
    path: string,
    expression: string,
    value: number,
    symbols: Readonly<Record<string, number>>,
  ) {
    const given = Object.entries(symbols).map(([name, number]) => `${name} = ${number}`);
    super(
      "NEGATIVE_DIMENSION",
      `template ${JSON.stringify(template)}: ${path} = ${JSON.stringify(expression)} is ${value} for ${given.join(", ")}; it must not be negative`,
      { template, path, expression, value, symbols },
    );
    this.path = path;
    this.value = value;
  }
}

/** Code `DIVISION_BY_ZERO`: an expression divides by 0 for these symbols; `cause` has its position. */
export class UndefinedDimensionError extends GmgError {
  readonly path: string;

  constructor(template: string, path: string, cause: ExpressionValueError) {
    super(
      "DIVISION_BY_ZERO",
      `template ${JSON.stringify(template)}: ${path}: ${cause.message}`,
      { template, path },
      cause,
    );
    this.path = path;
  }
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => JSON.stringify(name)).join(", ");
}
