export type FormatErrorCode =
  | "SYNTAX"
  | "ENCODING"
  | "TRUNCATED"
  | "TOO_LARGE"
  | "UNSUPPORTED"
  | "WRONG_TYPE"
  | "UNKNOWN_FIELD"
  | "MISSING_FIELD"
  | "DUPLICATE_FIELD"
  | "DUPLICATE_NAME"
  | "INVALID_NAME"
  | "UNKNOWN_OPERATOR"
  | "UNKNOWN_ACCELERATOR"
  | "NO_ACCELERATOR"
  | "CYCLE"
  | "INVALID_DURATION"
  | "INVALID_BYTES"
  | "BYTES_OVERFLOW"
  | "INVALID_NUMBER"
  | "NOT_EXPRESSIBLE"
  | "INVALID_OPTION";

/** Lines and columns count from 1, columns in UTF-16 units; bytes from 0. */
export type FormatPosition = { readonly line: number; readonly column: number } | { readonly byteOffset: number };

/** What a reader of task graphs found wrong, and where; match on `code`, not on the message. */
export class FormatError extends Error {
  readonly code: FormatErrorCode;
  /** `null` where an option is wrong and not the content. */
  readonly position: FormatPosition | null;
  /** The numbers and names of the message, as plain data. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: FormatErrorCode,
    position: FormatPosition | null,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(position === null ? message : `${placeOf(position)}: ${message}`);
    this.name = "FormatError";
    this.code = code;
    this.position = position;
    this.details = details;
  }
}

function placeOf(position: FormatPosition): string {
  if ("line" in position) return `line ${position.line}, column ${position.column}`;
  return `byte ${position.byteOffset}`;
}

/** A name or a piece of the content for a message: quoted, and cut where it would flood the message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > NAME_SHOWN_MAX ? `${text.slice(0, NAME_SHOWN_MAX)}…` : text);
}

const NAME_SHOWN_MAX = 80;
