/** The commands and their options as completion needs them, read from the tree of commands itself. */
import type { Command, Option } from "commander";

export interface CompletedOption {
  /** `--json`, `-o`. */
  readonly flags: readonly string[];
  readonly description: string;
  /** What follows it. */
  readonly value: ValueKind;
}

/** Nothing; a file; one of a list, where a comma list takes several; or something that nobody can guess. */
export type ValueKind =
  | { readonly kind: "none" | "file" | "free" }
  | {
      readonly kind: "choice";
      readonly choices: readonly string[];
      readonly isCommaList: boolean;
      /** Whether it may be a file instead. */
      readonly orFile: boolean;
    };

export interface CompletedCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly CompletedOption[];
  /** What stands without an option. */
  readonly argument: ValueKind;
}

/** Values by the name of an option or of `command argument`, for those that are known. */
export type KnownValues = Readonly<Record<string, readonly string[]>>;

const filePattern = /<(?:file|path|files|name\|file)/;

/** Every command, the default one first, without hidden ones. @param known what options can be, by their long flag. */
export function completionTree(root: Command, known: KnownValues): CompletedCommand[] {
  return root.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: [
      ...command.options.filter((option) => !option.hidden).map((option) => completedOption(option, known)),
      { flags: ["-h", "--help"], description: "display help for command", value: { kind: "none" } },
    ],
    argument: argumentOf(command, known),
  }));
}

function completedOption(option: Option, known: KnownValues): CompletedOption {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined);
  return { flags, description: option.description, value: valueKindOf(option, known) };
}

function valueKindOf({ flags, long, required, optional }: Option, known: KnownValues): ValueKind {
  if (!required && !optional) return { kind: "none" };
  const choices = long === undefined ? undefined : known[long];
  if (choices !== undefined)
    return { kind: "choice", choices, isCommaList: long === "--policy", orFile: long === "--cluster" };
  return { kind: filePattern.test(flags) ? "file" : "free" };
}

function argumentOf(command: Command, known: KnownValues): ValueKind {
  const [argument] = command.registeredArguments;
  if (argument === undefined) return { kind: "none" };
  const choices = argument.argChoices ?? known[`${command.name()} ${argument.name()}`];
  return choices === undefined ? { kind: "file" } : { kind: "choice", choices, isCommaList: false, orFile: false };
}
