import { quoted } from "./errors.ts";
import type { Source } from "./source.ts";

/**
 * Reads JSON (RFC 8259) value by value, as the schema of its caller asks: each value has an offset to refuse it by, nothing
 * is built that was not asked for, and depth is that of the schema, not of the file.
 */
export class JsonCursor {
  readonly source: Source;
  /** Offset of the next character. */
  at: number;

  constructor(source: Source, at = 0) {
    this.source = source;
    this.at = at;
  }

  /** The first character of what comes next, "" at the end. */
  peek(): string {
    this.#skipSpace();
    return this.source.text.charAt(this.at);
  }

  /** Calls `onField` with each name and its offset, the cursor before the value, which it must read. */
  object(what: string, onField: (name: string, at: number) => void): void {
    const opened = this.#open("{", what, "an object");
    const names = new Set<string>();
    if (this.#closes("}", opened, what)) return;
    do {
      this.peek();
      const at = this.at;
      const name = this.string(`a field of ${what}`);
      if (names.has(name))
        this.source.fail("DUPLICATE_FIELD", at, `${what} has the field ${quoted(name)} twice`, { field: name });
      names.add(name);
      if (this.peek() !== ":") this.#unexpected(`":" after the field ${quoted(name)}`);
      this.at++;
      onField(name, at);
    } while (!this.#closes("}", opened, what, ","));
  }

  /** Calls `onItem` with the cursor before each item, which it must read. */
  array(what: string, onItem: () => void): void {
    const opened = this.#open("[", what, "an array");
    if (this.#closes("]", opened, what)) return;
    do onItem();
    while (!this.#closes("]", opened, what, ","));
  }

  string(what: string): string {
    if (this.peek() !== '"') this.#wrongType(what, "a string");
    const { text } = this.source;
    let end = this.at + 1;
    let isPlain = true; // nothing that JSON escapes or forbids
    for (; ; end++) {
      const code = text.charCodeAt(end);
      if (Number.isNaN(code)) this.source.fail("TRUNCATED", this.at, `the content ends inside the string of ${what}`);
      if (code === QUOTE) break;
      if (code === BACKSLASH) end++;
      if (code === BACKSLASH || code < SPACE) isPlain = false;
    }
    const token = text.slice(this.at, end + 1);
    if (isPlain) {
      this.at = end + 1;
      return token.slice(1, -1);
    }
    try {
      const value: string = JSON.parse(token);
      this.at = end + 1;
      return value;
    } catch {
      this.source.fail(
        "SYNTAX",
        this.at,
        `${quoted(token)} is no JSON string: an escape or a control character is wrong`,
      );
    }
  }

  /** May be infinite (1e999): the caller checks the range. */
  number(what: string): number {
    this.peek();
    NUMBER.lastIndex = this.at;
    const [token] = NUMBER.exec(this.source.text) ?? [];
    if (token === undefined) this.#wrongType(what, "a number");
    this.at += token.length;
    if (/[\w.+-]/.test(this.source.text.charAt(this.at))) this.#unexpected(`the end of the number ${quoted(token)}`);
    return Number(token);
  }

  /** True, and past it, when the literal `null` comes next. */
  null(): boolean {
    if (this.peek() !== "n" || !this.source.text.startsWith("null", this.at)) return false;
    this.at += 4;
    return true;
  }

  end(): void {
    if (this.peek() !== "") this.#unexpected("the end of the content");
  }

  #skipSpace(): void {
    const { text } = this.source;
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.at++;
    }
  }

  #open(bracket: string, what: string, kind: string): number {
    if (this.peek() !== bracket) this.#wrongType(what, kind);
    return this.at++;
  }

  /** Past the closing bracket, or past the separator between items, or before the first item when there is none. */
  #closes(bracket: string, opened: number, what: string, separator?: string): boolean {
    const next = this.peek();
    if (next === "") this.source.fail("TRUNCATED", this.at, `the content ends inside ${what}`, { openedAt: opened });
    if (next === bracket) {
      this.at++;
      return true;
    }
    if (separator === undefined) return false;
    if (next !== separator) this.#unexpected(`"," or ${JSON.stringify(bracket)} in ${what}`);
    this.at++;
    return false;
  }

  #wrongType(what: string, kind: string): never {
    if (this.peek() === "") this.source.fail("TRUNCATED", this.at, `the content ends before ${what}, ${kind}`);
    const isValue = /["[{\d-]|true|false|null/y;
    isValue.lastIndex = this.at;
    if (!isValue.test(this.source.text)) this.#unexpected(`${what}, ${kind}`);
    this.source.fail("WRONG_TYPE", this.at, `${what} must be ${kind}, not ${quoted(this.#rest())}`, { what });
  }

  #unexpected(wanted: string): never {
    if (this.peek() === "") this.source.fail("TRUNCATED", this.at, `the content ends before ${wanted}`);
    this.source.fail("SYNTAX", this.at, `here stands ${quoted(this.#rest())}; JSON wants ${wanted}`);
  }

  #rest(): string {
    const [token = ""] = /^[\w.+-]+|^./su.exec(this.source.text.slice(this.at, this.at + 20)) ?? [];
    return token;
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const SPACE = 32;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
