import { ExpressionError } from "./expression-errors.ts";
import { type Instruction, Program } from "./expression-program.ts";
import { didYouMeanOneOf } from "./validation.ts";

/** Characters of one expression. */
export const EXPRESSION_LENGTH_MAX = 4096;
/** Parentheses and calls inside one another; the parser recurses once per level. */
export const EXPRESSION_DEPTH_MAX = 64;

/** Function names, which no symbol may have. */
export const EXPRESSION_FUNCTIONS: readonly string[] = ["ceilDiv", "max"];

/**
 * Compiles an expression over symbols: whole numbers, `+`, `-`, `*`, parentheses, `ceilDiv(a, b)`, `max(a, b, …)`.
 *
 * `symbols` fixes the order in which the program takes their values. Throws EXPRESSION_INVALID with the position of the
 * fault, counted in characters from 0. Linear in the length, at most 4096 characters and 64 levels of nesting.
 */
export function compileExpression(text: string, symbols: readonly string[]): Program {
  return new Parser(text, symbols).program();
}

type Token =
  | { readonly kind: "number"; readonly value: number; readonly position: number }
  | { readonly kind: "name"; readonly name: string; readonly position: number }
  | { readonly kind: "mark"; readonly mark: string; readonly position: number }
  | { readonly kind: "end"; readonly position: number };

/**
 * sum = product { ("+" | "-") product } · product = atom { "*" atom } · atom = number | symbol | "(" sum ")" | function
 * "(" sum { "," sum } ")". It emits instructions in postfix order as it reads.
 */
class Parser {
  readonly #text: string;
  readonly #symbols: readonly string[];
  readonly #code: Instruction[] = [];
  #position = 0;
  #depth = 0;
  #token: Token;

  constructor(text: string, symbols: readonly string[]) {
    this.#text = text;
    this.#symbols = symbols;
    if (text.length > EXPRESSION_LENGTH_MAX) {
      this.#fail(EXPRESSION_LENGTH_MAX, `has ${text.length} characters, at most ${EXPRESSION_LENGTH_MAX}`);
    }
    this.#token = this.#next();
  }

  program(): Program {
    this.#sum();
    if (this.#token.kind !== "end") this.#unexpected("an operator or the end");
    return new Program(this.#text, this.#symbols, this.#code);
  }

  #sum(): void {
    this.#product();
    for (let mark = this.#mark(); mark === "+" || mark === "-"; mark = this.#mark()) {
      const { position } = this.#take();
      this.#product();
      this.#code.push({ op: mark === "+" ? "add" : "subtract", value: 0, position });
    }
  }

  #product(): void {
    this.#atom();
    while (this.#mark() === "*") {
      const { position } = this.#take();
      this.#atom();
      this.#code.push({ op: "multiply", value: 0, position });
    }
  }

  #atom(): void {
    const token = this.#token;
    if (token.kind === "number") {
      this.#take();
      this.#code.push({ op: "number", value: token.value, position: token.position });
    } else if (token.kind === "name") {
      this.#take();
      if (this.#mark() === "(") this.#call(token.name, token.position);
      else this.#symbol(token.name, token.position);
    } else if (this.#mark() === "(") {
      this.#enter();
      this.#sum();
      this.#leave();
    } else {
      this.#unexpected("a number, a symbol, a function or (");
    }
  }

  #symbol(name: string, position: number): void {
    if (EXPRESSION_FUNCTIONS.includes(name)) this.#fail(position, `${name} is a function and takes arguments in ( )`);
    const value = this.#symbols.indexOf(name);
    if (value < 0) {
      this.#fail(position, `no symbol ${JSON.stringify(name)} is declared${didYouMeanOneOf(name, this.#symbols)}`);
    }
    this.#code.push({ op: "symbol", value, position });
  }

  #call(name: string, position: number): void {
    if (!EXPRESSION_FUNCTIONS.includes(name)) {
      this.#fail(position, `no function ${JSON.stringify(name)}, there are ceilDiv and max`);
    }
    this.#enter();
    this.#sum();
    let count = 1;
    while (this.#mark() === ",") {
      this.#take();
      this.#sum();
      count += 1;
      if (name === "max") this.#code.push({ op: "max", value: 0, position });
    }
    this.#leave();
    if (name === "max") return;
    if (count !== 2) this.#fail(position, `ceilDiv takes 2 arguments, got ${count}`);
    this.#code.push({ op: "ceilDiv", value: 0, position });
  }

  #enter(): void {
    this.#depth += 1;
    if (this.#depth > EXPRESSION_DEPTH_MAX) {
      this.#fail(this.#token.position, `nests deeper than ${EXPRESSION_DEPTH_MAX} levels`);
    }
    this.#take();
  }

  #leave(): void {
    if (this.#mark() !== ")") this.#unexpected(")");
    this.#take();
    this.#depth -= 1;
  }

  #mark(): string | null {
    return this.#token.kind === "mark" ? this.#token.mark : null;
  }

  #take(): Token {
    const token = this.#token;
    this.#token = this.#next();
    return token;
  }

  #next(): Token {
    SPACE.lastIndex = this.#position;
    this.#position += SPACE.exec(this.#text)?.[0].length ?? 0;
    const position = this.#position;
    if (position === this.#text.length) return { kind: "end", position };
    WORD.lastIndex = position;
    const word = WORD.exec(this.#text)?.[0];
    if (word === undefined) {
      const mark = this.#text.charAt(position);
      if (!"+-*(),".includes(mark)) this.#fail(position, `has an unexpected character ${JSON.stringify(mark)}`);
      this.#position += 1;
      return { kind: "mark", mark, position };
    }
    this.#position += word.length;
    if (!/^\d/.test(word)) return { kind: "name", name: word, position };
    if (!/^\d+$/.test(word))
      this.#fail(position, `has ${JSON.stringify(word)}, numbers are whole and written in digits`);
    const value = Number(word);
    if (!Number.isSafeInteger(value)) this.#fail(position, `has ${word}, numbers are at most 2^53 − 1`);
    return { kind: "number", value, position };
  }

  #unexpected(expected: string): never {
    const { position } = this.#token;
    const found = this.#token.kind === "end" ? "the end" : JSON.stringify(this.#text.charAt(position));
    this.#fail(position, `has ${found} where ${expected} should be`);
  }

  #fail(position: number, found: string): never {
    throw new ExpressionError(this.#text, position, found);
  }
}

const SPACE = /[ \t\r\n]*/y;
/** A name, or a number with whatever is glued to it, so that `1.5`, `1e3` and `2x` are one fault each. */
const WORD = /[A-Za-z_][A-Za-z0-9_]*|\d[A-Za-z0-9_.]*/y;
