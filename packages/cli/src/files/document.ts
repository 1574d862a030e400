/**
 * A YAML or JSON text as plain values that know where they stand. Nothing in the text is trusted: objects have no prototype, aliases,
 * nesting and size are limited, and every fault has its line.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
} from "yaml";
import { type FileFault, FileInvalidError } from "../errors.ts";
import { faultPath, type PathSegment, pointer } from "./path.ts";

/** Largest text that is parsed; a cluster of 4,096 accelerators written out in full has half of it. */
export const documentBytesMax = 1024 * 1024;
/** More nesting than any file here needs; a parser that recurses stands it. */
const documentDepthMax = 64;
/** Values after aliases are followed, so that a few lines of aliases cannot stand for billions of them. */
const valuesMax = 200_000;
const faultsMax = 100;

interface Place {
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

export interface LoadedDocument {
  readonly file: string;
  /** Objects have no prototype; keys are text. */
  readonly value: unknown;
  /** Where the value at a path stands, or the nearest one around it. */
  placeOf(path: readonly PathSegment[]): Place;
  /** Where the key of a field stands. */
  placeOfKey(path: readonly PathSegment[]): Place;
  /** A fault at a path. */
  fault(path: readonly PathSegment[], message: string, at?: "key" | "value"): FileFault;
}

/**
 * Parses a text. Linear in its size, which must not pass `documentBytesMax`.
 * @param file only named in faults. Errors: FILE_INVALID.
 */
export function parseDocument(text: string, file: string): LoadedDocument {
  const lines = new LineCounter();
  const fail = (offset: number, message: string): FileInvalidError => {
    const { line, col } = lines.linePos(offset);
    return new FileInvalidError([{ file, line: Math.max(1, line), column: Math.max(1, col), path: "", message }]);
  };
  if (text.length > documentBytesMax) throw fail(0, `has ${text.length} characters, at most ${documentBytesMax}`);
  const deep = tooDeep(text);
  if (deep !== null) {
    const place = { line: deep + 1, column: 1 };
    throw new FileInvalidError([{ file, ...place, path: "", message: `is nested deeper than ${documentDepthMax}` }]);
  }
  // Tabs may indent JSON but not YAML; a space each keeps every column where it was.
  const source = text.trimStart().startsWith("{") ? text.replaceAll("\t", " ") : text;
  const documents = parsed(source, lines, fail);
  const [document, second] = documents;
  if (document === undefined) throw fail(0, "is empty; a YAML or JSON object was expected");
  const faults = documents
    .flatMap(({ errors, warnings }) => [...errors, ...warnings.filter(isTag)])
    .slice(0, faultsMax);
  if (faults.length > 0) {
    throw new FileInvalidError(
      faults.map(({ pos, message }) => fail(pos[0], inWords(message)).faults[0]).filter((it) => it !== undefined),
    );
  }
  if (second !== undefined) throw fail(second.range[0], "a second document begins here; a file holds one");
  if (document.contents === null) throw fail(0, "is empty; a YAML or JSON object was expected");
  return new Walker(file, lines, document, fail).loaded();
}

function parsed(
  text: string,
  lineCounter: LineCounter,
  fail: (offset: number, message: string) => Error,
): Document.Parsed[] {
  try {
    // Keys are compared below: the parser would compare each with each.
    const all = parseAllDocuments(text, {
      lineCounter,
      prettyErrors: false,
      uniqueKeys: false,
      strict: true,
      version: "1.2",
      schema: "core",
      logLevel: "silent",
    });
    return Array.isArray(all) ? all : [];
  } catch (cause) {
    if (cause instanceof RangeError) throw fail(0, `is nested deeper than ${documentDepthMax}`);
    throw cause;
  }
}

/** What a tag asks for is not done, so that the value would be another one than the file says. */
function isTag({ code }: { readonly code: string }): boolean {
  return code === "TAG_RESOLVE_FAILED";
}

/** The 0-based line on which brackets, dashes and question marks nest too deeply to be read; a bound, quoted text counts as well. */
function tooDeep(text: string): number | null {
  let depth = 0;
  let line = 0;
  let dashes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text[i];
    if (unit === "\n") {
      line++;
      dashes = 0;
    } else if (unit === "[" || unit === "{") {
      if (++depth > documentDepthMax) return line;
    } else if (unit === "]" || unit === "}") depth = Math.max(0, depth - 1);
    else if (unit === "-" || unit === "?") {
      if ((text[i + 1] === " " || text[i + 1] === "\t") && ++dashes > documentDepthMax) return line;
    }
  }
  return null;
}

/** On one line, and short; the parser tells of nesting by what it ran into. */
function inWords(message: string): string {
  if (message.startsWith("Maximum call stack")) return `is nested deeper than ${documentDepthMax}`;
  const line = message.replace(/\s+/g, " ").trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** Walks the tree once: values without prototypes, and offsets of values and keys by path. */
class Walker {
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #document: Document.Parsed;
  readonly #fail: (offset: number, message: string) => FileInvalidError;
  readonly #values = new Map<string, number>();
  readonly #keys = new Map<string, number>();
  readonly #faults: FileFault[] = [];
  /** Anchors seen so far, in the text's order: an alias refers back. */
  readonly #anchors = new Map<string, Node>();
  /** Anchored nodes around the present one: an alias to one of them would be endless. */
  readonly #open = new Set<Node>();
  #count = 0;

  constructor(
    file: string,
    lines: LineCounter,
    document: Document.Parsed,
    fail: (offset: number, message: string) => FileInvalidError,
  ) {
    this.#file = file;
    this.#lines = lines;
    this.#document = document;
    this.#fail = fail;
  }

  loaded(): LoadedDocument {
    const value = this.#value(this.#document.contents, [], 0);
    if (this.#faults.length > 0) throw new FileInvalidError(this.#faults);
    const values = this.#values;
    const keys = this.#keys;
    const file = this.#file;
    const place = (offset: number): Place => {
      const { line, col } = this.#lines.linePos(offset);
      return { line: Math.max(1, line), column: Math.max(1, col) };
    };
    const placeOf = (path: readonly PathSegment[]): Place => {
      for (let length = path.length; length > 0; length--) {
        const offset = values.get(pointer(path.slice(0, length)));
        if (offset !== undefined) return place(offset);
      }
      return place(values.get("") ?? 0);
    };
    const placeOfKey = (path: readonly PathSegment[]): Place => {
      const offset = keys.get(pointer(path));
      return offset === undefined ? placeOf(path) : place(offset);
    };
    return {
      file,
      value,
      placeOf,
      placeOfKey,
      fault: (path, message, at = "value") => ({
        file,
        ...(at === "key" ? placeOfKey(path) : placeOf(path)),
        path: faultPath(path),
        message,
      }),
    };
  }

  #value(node: unknown, path: readonly PathSegment[], offset: number): unknown {
    if (++this.#count > valuesMax) throw this.#fail(offset, `stands for more than ${valuesMax} values`);
    if (path.length > documentDepthMax) throw this.#fail(offset, `is nested deeper than ${documentDepthMax}`);
    if (isAlias(node)) return this.#alias(node.source, node.range?.[0] ?? offset, path);
    if (node === null || node === undefined) {
      this.#values.set(pointer(path), offset);
      return null;
    }
    const start = (node as Node).range?.[0] ?? offset;
    if (!this.#values.has(pointer(path))) this.#values.set(pointer(path), start);
    const anchor = (node as { anchor?: string }).anchor;
    if (anchor !== undefined) this.#anchors.set(anchor, node as Node);
    this.#open.add(node as Node);
    const value = this.#inside(node, path, start);
    this.#open.delete(node as Node);
    return value;
  }

  #inside(node: unknown, path: readonly PathSegment[], start: number): unknown {
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item, i) => this.#value(item, [...path, i], start));
    if (isMap(node)) return this.#record(node.items, path, start);
    throw this.#fail(start, "is neither a value, a list nor an object");
  }

  #alias(name: string, offset: number, path: readonly PathSegment[]): unknown {
    const target = this.#anchors.get(name);
    if (target === undefined) throw this.#fail(offset, `no anchor &${name} stands before this alias`);
    if (this.#open.has(target)) throw this.#fail(offset, `the alias *${name} stands inside what it refers to`);
    this.#values.set(pointer(path), offset);
    return this.#value(target, path, offset);
  }

  #record(pairs: readonly Pair[], path: readonly PathSegment[], start: number): Record<string, unknown> {
    const record: Record<string, unknown> = Object.create(null);
    for (const { key, value } of pairs) {
      const offset = (key as Node | null)?.range?.[0] ?? start;
      if (!isScalar(key) || (typeof key.value === "object" && key.value !== null)) {
        this.#add(offset, path, "a key must be text");
        continue;
      }
      const name = key.value === null ? "" : String(key.value);
      const at = [...path, name];
      if (name === "<<" && key.type === "PLAIN") {
        this.#add(
          offset,
          path,
          "merge keys (<<) are not supported; write the fields out, or give an alias as a whole value",
        );
        continue;
      }
      if (Object.hasOwn(record, name)) {
        this.#add(offset, at, "stands twice in this object");
        continue;
      }
      if (!this.#keys.has(pointer(at))) this.#keys.set(pointer(at), offset);
      record[name] = this.#value(value, at, offset);
    }
    return record;
  }

  #add(offset: number, path: readonly PathSegment[], message: string): void {
    if (this.#faults.length >= faultsMax) return;
    const { line, col } = this.#lines.linePos(offset);
    this.#faults.push({
      file: this.#file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      path: faultPath(path),
      message,
    });
  }
}
