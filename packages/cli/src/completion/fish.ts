/** Completion for fish, with descriptions. */
import { quoted } from "./bash.ts";
import type { CompletedCommand, CompletedOption, ValueKind } from "./tree.ts";

/** A script for fish's `completions` folder. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const [first] = commands;
  const lines = [
    "# fish completion for slicescheduler; made by `slicescheduler completion fish`.",
    `set -l commands ${names}`,
    "complete -c slicescheduler -f",
    ...commands.map(
      ({ name, description }) =>
        `complete -c slicescheduler -n "not __fish_seen_subcommand_from $commands" -a ${name} -d ${quoted(description)}`,
    ),
    ...commands.flatMap((command) => {
      const seen = `__fish_seen_subcommand_from ${command.name}`;
      // The default command is meant where none is named.
      const when = command === first ? `"${seen}; or not __fish_seen_subcommand_from $commands"` : `"${seen}"`;
      return [...command.options.map((option) => optionLine(option, when)), ...argumentLines(command.argument, when)];
    }),
  ];
  return `${lines.join("\n")}\n`;
}

function optionLine({ flags, description, value }: CompletedOption, when: string): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  return ["complete -c slicescheduler -n", when, ...names, `-d ${quoted(description)}`, ...valueWords(value)].join(" ");
}

function valueWords(value: ValueKind): string[] {
  if (value.kind === "choice") {
    const words = value.choices.join(" ");
    return [
      ...(value.orFile ? ["-r", "-F"] : ["-x"]),
      "-a",
      value.isCommaList ? `"(__fish_append , ${words})"` : quoted(words),
    ];
  }
  const words = { none: [], file: ["-r", "-F"], free: ["-x"] };
  return words[value.kind];
}

function argumentLines(value: ValueKind, when: string): string[] {
  if (value.kind === "none") return [];
  const words = value.kind === "choice" ? `-a ${quoted(value.choices.join(" "))}` : "-F";
  return [`complete -c slicescheduler -n ${when} ${words}`];
}
