/** Writing result files: a folder that is missing, or no permission, is told in a line. */
import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { CliError, UsageError } from "./errors.ts";

/** A file, and by which option or argument it was named. */
export interface NamedFile {
  /** Such as `--record`. */
  readonly option: string;
  /** As messages show it. */
  readonly shown: string;
  /** Absolute. */
  readonly path: string;
}

/**
 * To be called before the work: outputs can be written, and none of them is a file that is read, or another output, by whatever
 * names, links included. What is no regular file (a pipe, a device) may be named more than once.
 * Errors: FILE_UNWRITABLE where that is all there is; else USAGE; a line for each output that cannot be written or is in the way.
 */
export function checkOutputs(outputs: readonly NamedFile[], inputs: readonly NamedFile[] = []): void {
  const taken = new Map<string, NamedFile>();
  const faults: string[] = [];
  const unwritables: CliError[] = [];
  for (const input of inputs) {
    const identity = identityOf(input.path);
    if (identity !== null) taken.set(identity, input);
  }
  const read = new Set<NamedFile>(inputs);
  for (const output of outputs) {
    const fault = unwritableFault(output);
    if (fault !== null) {
      unwritables.push(fault);
      continue;
    }
    const identity = identityOf(output.path);
    if (identity === null) continue;
    const other = taken.get(identity);
    if (other === undefined) taken.set(identity, output);
    else if (read.has(other))
      faults.push(`${nameOf(output)} is the file that is read as ${nameOf(other)}; name another`);
    else faults.push(`${nameOf(output)} is the file that ${nameOf(other)} is written to; name another`);
  }
  const messages = unwritables.map(({ message }) => message);
  if (faults.length > 0) throw new UsageError([...messages, ...faults]);
  if (messages.length > 0) throw new CliError("FILE_UNWRITABLE", [...new Set(messages)].join("\n"));
}

function nameOf({ option, shown }: NamedFile): string {
  return `${option} ${shown}`;
}

/** Equal for two names of one file, which need not exist; null for what is no regular file. */
function identityOf(path: string): string | null {
  const stats = statOf(path);
  if (stats === null) return `at ${targetOf(path)}`;
  return stats.isFile() ? `${stats.dev}:${stats.ino}` : null;
}

const linksMax = 40;

/** Where a file would be created that does not exist: a link may lead there. */
function targetOf(path: string): string {
  let target = resolve(path);
  for (let links = 0; links < linksMax; links++) {
    const folder = attemptOr(() => realpathSync(dirname(target)), dirname(target));
    target = join(folder, basename(target));
    const link = attemptOr(() => readlinkSync(target), null);
    if (link === null) break;
    target = resolve(folder, link);
  }
  return target;
}

function unwritableFault(output: NamedFile): CliError | null {
  try {
    checkWritable(output);
    return null;
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
}

/** Errors: FILE_UNWRITABLE. */
function checkWritable({ option, shown, path }: NamedFile): void {
  // Also with a policy's name behind it.
  if (shown === "-" || shown.startsWith("-."))
    throw new CliError(
      "FILE_UNWRITABLE",
      `${option} -: takes a file, and - is not stdout here; ./- is a file of that name`,
    );
  const stats = statOf(path);
  if (stats?.isDirectory() === true) throw unwritable(shown, "it is a folder");
  const target = stats === null ? dirname(targetOf(path)) : path;
  attempt(shown, () => accessSync(target, constants.W_OK));
  if (stats === null && statOf(target)?.isDirectory() !== true) throw unwritable(shown, "its folder does not exist");
}

function statOf(path: string): BigIntStats | null {
  return attemptOr(() => statSync(path, { bigint: true }), null);
}

function attemptOr<Result, Fallback>(read: () => Result, fallback: Fallback): Result | Fallback {
  try {
    return read();
  } catch {
    return fallback;
  }
}

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
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    throw unwritable(file, isMissing ? "its folder does not exist" : (code ?? String(cause)), cause);
  }
}

function unwritable(file: string, why: string, cause?: unknown): CliError {
  return new CliError("FILE_UNWRITABLE", `${file}: cannot be written (${why})`, { cause });
}
