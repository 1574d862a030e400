/** The command line as a function: arguments and surroundings in, exit code out. */
import { TraceFaultsError, WorkloadError } from "@slicescheduler/workloads";
import { CommanderError } from "commander";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";
import { printableIo } from "./printable.ts";
import { buildProgram } from "./program.ts";
import type { Replay } from "./replay/command.ts";
import { checkWords } from "./unknown-words.ts";

/**
 * Exit codes: 0 done; 1 a replay broke an invariant, or something failed inside; 2 bad input: options, files, or faults that
 * `validate` found. Errors are a line each on stderr. Control characters of files and arguments are printed escaped.
 */
export async function main(args: readonly string[], io: Io, replay?: Replay): Promise<number> {
  const printing = printableIo(io);
  try {
    const program = buildProgram({ io: printing, replay, args });
    checkWords(args, program, "replay");
    await program.parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    return report(error, printing);
  }
}

function report(error: unknown, io: Io): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof CliError) {
    const isFileFaults = error.code === "FILE_INVALID";
    for (const line of error.message.split("\n")) io.err(isFileFaults ? `${line}\n` : `error: ${line}\n`);
    return 2;
  }
  if (error instanceof TraceFaultsError) {
    for (const { line, reason } of error.faults) io.err(`${error.file}${line === null ? "" : `:${line}`}: ${reason}\n`);
    if (error.limited) io.err(`${error.file}: there may be more\n`);
    return 2;
  }
  if (error instanceof WorkloadError) {
    io.err(`error: ${error.message}\n`);
    return error.code === "REPLAY_CHECK_FAILED" ? 1 : 2;
  }
  if (isTyped(error)) {
    io.err(`error: ${error.message}\n`);
    return 2;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  io.err(`internal error, please report it: ${text}\n`);
  return 1;
}

/** Errors that a package of this repository throws for bad input have a code of capitals; those of Node have a system call or an `ERR_`. */
function isTyped(error: unknown): error is Error {
  if (!(error instanceof Error) || "syscall" in error || !("code" in error)) return false;
  const { code } = error;
  return (
    typeof code === "string" &&
    /^[A-Z]+(_[A-Z]+)+$/.test(code) &&
    !code.startsWith("ERR_") &&
    code !== "INVARIANT_BROKEN"
  );
}
