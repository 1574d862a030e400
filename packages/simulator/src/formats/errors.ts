import { type FormatErrorCode, SimulatorError } from "../errors.ts";

export { quoted } from "../errors.ts";

/** Lines and columns count from 1, columns in UTF-16 units; bytes from 0. */
export type FormatPosition = { readonly line: number; readonly column: number } | { readonly byteOffset: number };

/** What a reader of task graphs found wrong, and where; match on `code`, not on the message. */
export class FormatError extends SimulatorError {
  declare readonly code: FormatErrorCode;
  /** `null` where an option is wrong and not the content. */
  readonly position: FormatPosition | null;

  constructor(
    code: FormatErrorCode,
    position: FormatPosition | null,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(code, position === null ? message : `${placeOf(position)}: ${message}`, details);
    this.name = "FormatError";
    this.position = position;
  }
}

function placeOf(position: FormatPosition): string {
  if ("line" in position) return `line ${position.line}, column ${position.column}`;
  return `byte ${position.byteOffset}`;
}
