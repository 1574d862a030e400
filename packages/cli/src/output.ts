/** Writing result files: a folder that is missing, or no permission, is told in a line. */
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { extname } from "node:path";
import { CliError } from "./errors.ts";

/** Errors: FILE_UNWRITABLE. */
export function writeOutput(file: string, content: string | Uint8Array): void {
  attempt(file, () => writeFileSync(file, content));
}

/** Writes piece by piece, so that no single string has to hold a long file. Errors: FILE_UNWRITABLE. */
export function writePieces(file: string, pieces: Iterable<string>): void {
  const output = new OutputFile(file);
  try {
    for (const piece of pieces) output.write(piece);
  } finally {
    output.close();
  }
}

const bufferedMax = 1 << 20;

/** A file that is written as things happen, in large pieces. */
export class OutputFile {
  readonly #file: string;
  readonly #descriptor: number;
  #waiting: string[] = [];
  #length = 0;

  /** Creates or empties the file. Errors: FILE_UNWRITABLE. */
  constructor(file: string) {
    this.#file = file;
    this.#descriptor = attempt(file, () => openSync(file, "w"));
  }

  write(text: string): void {
    this.#waiting.push(text);
    this.#length += text.length;
    if (this.#length >= bufferedMax) this.#flush();
  }

  close(): void {
    try {
      this.#flush();
    } finally {
      closeSync(this.#descriptor);
    }
  }

  #flush(): void {
    const text = this.#waiting.join("");
    this.#waiting = [];
    this.#length = 0;
    const bytes = Buffer.from(text);
    let written = 0;
    while (written < bytes.length) {
      written += attempt(this.#file, () => writeSync(this.#descriptor, bytes, written));
    }
  }
}

/** `out.run` for one policy; `out.slicescheduler.run` where there are several. */
export function nameByPolicy(file: string, policy: string, policies: number): string {
  if (policies === 1) return file;
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}.${policy}${extension}`;
}

function attempt<Result>(file: string, write: () => Result): Result {
  try {
    return write();
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "its folder does not exist" : (code ?? String(cause));
    throw new CliError("FILE_UNWRITABLE", `${file}: cannot be written (${why})`, { cause });
  }
}
