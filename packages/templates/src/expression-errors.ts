import { GmgError } from "./errors.ts";

const SHOWN = 80;

/** The part of a long expression around a position. */
function excerpt(text: string, position: number): string {
  if (text.length <= SHOWN) return JSON.stringify(text);
  const from = Math.max(0, Math.min(position - SHOWN / 2, text.length - SHOWN));
  const part = text.slice(from, from + SHOWN);
  return JSON.stringify(`${from > 0 ? "…" : ""}${part}${from + SHOWN < text.length ? "…" : ""}`);
}

/** Code `EXPRESSION_INVALID`: not in the language, or a name that is not declared. */
export class ExpressionError extends GmgError {
  readonly expression: string;
  /** Characters from 0. */
  readonly position: number;

  constructor(expression: string, position: number, found: string) {
    super("EXPRESSION_INVALID", `expression ${excerpt(expression, position)}, position ${position}: ${found}`, {
      expression,
      position,
    });
    this.expression = expression;
    this.position = position;
  }
}

export type ExpressionValueCode = "EXPRESSION_OVERFLOW" | "DIVISION_BY_ZERO";

/** The expression is well formed and has no exact value for these symbols. */
export class ExpressionValueError extends GmgError {
  declare readonly code: ExpressionValueCode;
  readonly expression: string;
  /** Of the operation that failed, in characters from 0. */
  readonly position: number;

  constructor(code: ExpressionValueCode, expression: string, position: number, found: string) {
    super(code, `expression ${excerpt(expression, position)}, position ${position}: ${found}`, {
      expression,
      position,
    });
    this.expression = expression;
    this.position = position;
  }
}
