import type { FormatErrorCode } from "../errors.ts";
import { FormatError, type FormatPosition } from "./errors.ts";

/** The text of a file, and how its readers refuse it: by offset, which becomes a line and a column only in an error. */
export class Source {
  readonly text: string;

  /** Throws ENCODING for bytes that are not UTF-8. A byte order mark is dropped. */
  constructor(content: string | Uint8Array) {
    const text = typeof content === "string" ? content : decode(content);
    this.text = text.startsWith("\uFEFF") ? text.slice(1) : text;
  }

  fail(code: FormatErrorCode, at: number, message: string, details: Readonly<Record<string, unknown>> = {}): never {
    throw new FormatError(code, this.position(at), message, details);
  }

  position(at: number): FormatPosition {
    let line = 1;
    let lineStart = 0;
    for (;;) {
      const newline = this.text.indexOf("\n", lineStart);
      if (newline === -1 || newline >= at) return { line, column: at - lineStart + 1 };
      line++;
      lineStart = newline + 1;
    }
  }

  /** Bytes as a file states them: whole, from 0 to 2^53 − 1. */
  requireBytes(value: number, at: number, what: string): number {
    if (Number.isSafeInteger(value) && value >= 0) return value;
    const code = value > Number.MAX_SAFE_INTEGER ? "BYTES_OVERFLOW" : "INVALID_BYTES";
    this.fail(code, at, `${what} is ${value}; it must be a whole number from 0 to 2^53 − 1`, { what, value });
  }

  /** A duration that became nanoseconds: whole, from 1 to 2^53 − 1. */
  requireDuration(value: number, at: number, what: string): number {
    if (Number.isSafeInteger(value) && value >= 1) return value;
    this.fail("INVALID_DURATION", at, `${what} is ${value} ns; it must be a whole number from 1 to 2^53 − 1`, {
      what,
      value,
    });
  }

  /** Any other whole number from `min` to 2^53 − 1. */
  requireWhole(value: number, min: number, at: number, what: string): number {
    if (Number.isSafeInteger(value) && value >= min) return value;
    this.fail("INVALID_NUMBER", at, `${what} is ${value}; it must be a whole number from ${min} to 2^53 − 1`, {
      what,
      value,
      min,
    });
  }

  requireName(name: string, at: number, what: string): string {
    if (name !== "") return name;
    this.fail("INVALID_NAME", at, `the name of ${what} is empty`);
  }
}

function decode(content: Uint8Array): string {
  if (!(content instanceof Uint8Array))
    throw new FormatError("INVALID_OPTION", null, `content is ${typeof content}; it must be a string or a Uint8Array`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    const byteOffset = validBytes(content);
    throw new FormatError(
      "ENCODING",
      { byteOffset },
      `the byte 0x${(content[byteOffset] ?? 0).toString(16)} is not UTF-8 here`,
    );
  }
}

/** The longest prefix that is the beginning of UTF-8: a longer prefix can only be worse, so halving finds it. */
function validBytes(content: Uint8Array): number {
  let valid = 0;
  let invalid = content.length;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >>> 1;
    if (isBeginning(content.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

function isBeginning(content: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(content, { stream: true });
    return true;
  } catch {
    return false;
  }
}
