/** Words that no command knows, found before anything is parsed: all of them, where the parser ends at the first. */
import { nearest } from "@slicescheduler/workloads";
import type { Command, Option } from "commander";
import { UsageError } from "./errors.ts";

/** Errors: USAGE, for a first word that is no command, and for options that the command does not have. */
export function checkWords(args: readonly string[], program: Command, defaultCommand: string): void {
  const commands = program.commands.map((command) => command.name());
  const [first, second] = args;
  const isHelp = first === "help";
  const named = isHelp ? second : first;
  if (named !== undefined && !named.startsWith("-") && named !== "help" && !commands.includes(named))
    throw unknownCommand(named, commands);
  if (isHelp || named === "help") return;
  const isNamed = named !== undefined && commands.includes(named);
  const command = program.commands.find((one) => one.name() === (isNamed ? named : defaultCommand));
  if (command === undefined) return;
  const unknown = unknownOptions(args.slice(isNamed ? 1 : 0), command);
  const known = command.options.flatMap(({ long }) => long ?? []);
  if (unknown.length > 0) throw new UsageError(unknown.map((option) => unknownOption(option, known)));
}

function unknownCommand(name: string, commands: readonly string[]): UsageError {
  const near = nearest(name, commands);
  const hint = near === undefined ? "" : `did you mean "${near}"? `;
  return new UsageError([`unknown command ${JSON.stringify(name)}; ${hint}known: ${commands.join(", ")}`]);
}

function unknownOption(option: string, known: readonly string[]): string {
  const near = nearest(option, known);
  return `unknown option '${option}'${near === undefined ? "" : ` (did you mean ${near}?)`}`;
}

/** Of every command. */
const common: readonly string[] = ["-h", "--help", "-V", "--version"];

/** As the parser takes words apart: the value of an option is whatever follows it. */
function unknownOptions(words: readonly string[], command: Command): string[] {
  const unknown: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--") break;
    if (!/^-[^\d-]|^--./.test(word)) continue;
    const [flag = ""] = word.split("=", 1);
    const option = command.options.find((one) => isFlag(one, flag));
    if (option !== undefined) {
      if (option.required && flag === word && isWhole(option, flag)) at++;
    } else if (!common.includes(flag)) unknown.push(flag);
  }
  return unknown;
}

/** A short option may have its value or further ones behind it: `-oout.html`. */
function isFlag(option: Option, flag: string): boolean {
  return isWhole(option, flag) || (/^-[^-]/.test(flag) && option.short === flag.slice(0, 2));
}

function isWhole({ long, short }: Option, flag: string): boolean {
  return flag === long || flag === short;
}
