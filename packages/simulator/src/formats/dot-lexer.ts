import { quoted } from "./errors.ts";
import type { Source } from "./source.ts";

export interface DotToken {
  readonly kind: "id" | "punctuation" | "end";
  /** The id without quotes and escapes, or the punctuation itself. */
  readonly text: string;
  /** False for an id that was quoted: such a one is no keyword. */
  readonly isBare: boolean;
  readonly at: number;
}

/** The tokens of DOT (the language of Graphviz), one at a time; blanks and comments of all three kinds are passed over. */
export class DotLexer {
  readonly source: Source;
  #at = 0;
  #peeked: DotToken | null = null;

  constructor(source: Source) {
    this.source = source;
  }

  peek(): DotToken {
    this.#peeked ??= this.#read();
    return this.#peeked;
  }

  next(): DotToken {
    const token = this.peek();
    if (token.kind !== "end") this.#peeked = null;
    return token;
  }

  /** Takes the token if it is this punctuation. */
  take(punctuation: string): boolean {
    const { kind, text } = this.peek();
    if (kind !== "punctuation" || text !== punctuation) return false;
    this.next();
    return true;
  }

  /** Whether a keyword comes next; DOT does not look at their case. */
  isKeyword(keyword: string): boolean {
    const { kind, text, isBare } = this.peek();
    return kind === "id" && isBare && text.toLowerCase() === keyword;
  }

  expect(punctuation: string, what: string): void {
    if (!this.take(punctuation)) this.unexpected(`${quoted(punctuation)} ${what}`);
  }

  id(what: string): DotToken {
    const token = this.peek();
    if (token.kind !== "id") this.unexpected(what);
    return this.next();
  }

  unexpected(wanted: string): never {
    const { kind, text, at } = this.peek();
    if (kind === "end") this.source.fail("TRUNCATED", at, `the graph ends before ${wanted}`);
    this.source.fail("SYNTAX", at, `here stands ${quoted(text)}; DOT wants ${wanted}`);
  }

  #read(): DotToken {
    this.#skip();
    const at = this.#at;
    const { text } = this.source;
    if (at === text.length) return { kind: "end", text: "", isBare: false, at };
    if (text[at] === '"') return this.#quoted(at);
    const bare = match(BARE, text, at) ?? match(NUMERAL, text, at);
    if (bare !== undefined) {
      this.#at += bare.length;
      return { kind: "id", text: bare, isBare: true, at };
    }
    const mark = match(PUNCTUATION, text, at);
    if (mark === "<") this.source.fail("UNSUPPORTED", at, "HTML strings are not read; write the id in quotes");
    if (mark === "+") this.source.fail("UNSUPPORTED", at, "strings joined by + are not read; write one string");
    if (mark === "--") this.source.fail("UNSUPPORTED", at, "undirected edges are not read; write ->");
    if (mark === undefined)
      this.source.fail(
        "SYNTAX",
        at,
        `${quoted(String.fromCodePoint(text.codePointAt(at) ?? 0))} begins no token of DOT`,
      );
    this.#at += mark.length;
    return { kind: "punctuation", text: mark, isBare: false, at };
  }

  /** In a quoted id only `\"` is an escape; a backslash before the end of a line joins it with the next. */
  #quoted(at: number): DotToken {
    const { text } = this.source;
    let end = at + 1;
    while (text[end] !== '"') {
      if (end >= text.length) this.source.fail("TRUNCATED", at, "the quoted id that begins here does not end");
      end += text[end] === "\\" ? 2 : 1;
    }
    this.#at = end + 1;
    const inner = text.slice(at + 1, end).replaceAll(/\\(?:\r?\n|["\\])/g, (pair) => {
      if (pair === '\\"') return '"';
      return pair === "\\\\" ? pair : "";
    });
    return { kind: "id", text: inner, isBare: false, at };
  }

  #skip(): void {
    const { text } = this.source;
    for (;;) {
      BLANKS.lastIndex = this.#at;
      BLANKS.test(text);
      this.#at = BLANKS.lastIndex;
      const at = this.#at;
      const isLineStart = at === 0 || text[at - 1] === "\n";
      if (text.startsWith("/*", at)) {
        const end = text.indexOf("*/", at + 2);
        if (end === -1) this.source.fail("TRUNCATED", at, "the comment that begins here does not end");
        this.#at = end + 2;
      } else if (text.startsWith("//", at) || (text[at] === "#" && isLineStart)) {
        const end = text.indexOf("\n", at);
        this.#at = end === -1 ? text.length : end;
      } else return;
    }
  }
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const BLANKS = /[\s]*/y;
const BARE = /[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*/y;
const NUMERAL = /-?(?:\.\d+|\d+(?:\.\d*)?)/y;
const PUNCTUATION = /->|--|[{}[\];,=:<+]/y;
