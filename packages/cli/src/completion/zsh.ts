/** Completion for zsh, with descriptions. */
import { quoted } from "./bash.ts";
import type { CompletedCommand, CompletedOption, ValueKind } from "./tree.ts";

/** A script for a folder of `fpath`, or to source. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const [first] = commands;
  const lines = [
    "#compdef slicescheduler",
    "# zsh completion for slicescheduler; made by `slicescheduler completion zsh`.",
    "_slicescheduler() {",
    "  local -a commands",
    "  commands=(",
    ...commands.map(({ name, description }) => `    ${quoted(`${name}:${description.replaceAll(":", "\\:")}`)}`),
    "  )",
    "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
    "    _describe command commands",
    "    return",
    "  fi",
    "  local command=$words[2]",
    `  if [[ $command == -* ]]; then command=${first?.name ?? ""}; else shift words; (( CURRENT-- )); fi`,
    "  case $command in",
    ...commands.flatMap((command) => [
      `    ${command.name})`,
      `      _arguments -S ${[...command.options.flatMap(optionSpecs), ...argumentSpecs(command.argument)].join(" ")}`,
      "      ;;",
    ]),
    "  esac",
    "}",
    "(( $+functions[compdef] )) && compdef _slicescheduler slicescheduler",
  ];
  return `${lines.join("\n")}\n`;
}

function optionSpecs({ flags, description, value }: CompletedOption): string[] {
  const text = description
    .replaceAll("\\", "\\\\")
    .replaceAll("[", "\\[")
    .replaceAll("]", "\\]")
    .replaceAll(":", "\\:");
  const action = value.kind === "none" ? "" : `:value:${actionOf(value)}`;
  return flags.map((flag) => quoted(`*${flag}[${text}]${action}`));
}

function argumentSpecs(value: ValueKind): string[] {
  return value.kind === "none" ? [] : [quoted(`*:argument:${actionOf(value)}`)];
}

function actionOf(value: ValueKind): string {
  if (value.kind === "file") return "_files";
  if (value.kind !== "choice") return " ";
  const words = value.choices.join(" ");
  if (value.orFile) return `{_alternative "names:name:(${words})" "files:file:_files"}`;
  return value.isCommaList ? `_values -s , value ${words}` : `(${words})`;
}
