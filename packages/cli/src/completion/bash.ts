/** Completion for bash: one function, with what the tree says written out. */
import type { CompletedCommand, CompletedOption, ValueKind } from "./tree.ts";

/** A script to source; it needs nothing but bash 3.2 or newer. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const [first] = commands;
  const names = commands.map(({ name }) => name);
  const lines = [
    "# bash completion for slicescheduler; made by `slicescheduler completion bash`.",
    ...filesFunction,
    "_slicescheduler() {",
    `  local current="\${COMP_WORDS[COMP_CWORD]}" previous="" command="" word i`,
    `  if (( COMP_CWORD > 0 )); then previous="\${COMP_WORDS[COMP_CWORD-1]}"; fi`,
    "  COMPREPLY=()",
    "  for (( i = 1; i < COMP_CWORD; i++ )); do",
    `    word="\${COMP_WORDS[i]}"`,
    '    case "$word" in',
    `      ${names.join("|")}) command="$word"; break ;;`,
    "      -*) break ;;",
    "    esac",
    "  done",
    `  local key="\${command:-${first?.name ?? ""}} $previous"`,
    '  case "$key" in',
    ...commands.flatMap((command) => valueCases(command)),
    "  esac",
    '  if [[ "$current" == -* ]]; then',
    `    case "\${command:-${first?.name ?? ""}}" in`,
    ...commands.map((command) => `      ${command.name}) ${reply(flagsOf(command.options))} ;;`),
    "    esac",
    "    return",
    "  fi",
    '  if [[ -z "$command" && COMP_CWORD -eq 1 ]]; then',
    `    ${reply([...names, "help"])}`,
    "    return",
    "  fi",
    '  case "$command" in',
    ...commands.map((command) => `    ${command.name}) ${argumentReply(command.argument)} ;;`),
    "  esac",
    "}",
    "complete -o filenames -o bashdefault -F _slicescheduler slicescheduler",
  ];
  return `${lines.join("\n")}\n`;
}

function valueCases({ name, options }: CompletedCommand): string[] {
  return options.flatMap(({ flags, value }) => {
    if (value.kind === "none") return [];
    const patterns = flags.map((flag) => `"${name} ${flag}"`).join("|");
    return [`    ${patterns}) ${valueReply(value)}; return ;;`];
  });
}

function valueReply(value: ValueKind): string {
  if (value.kind === "file") return files;
  if (value.kind !== "choice") return ":";
  if (value.isCommaList) return commaReply(value.choices);
  return value.orFile ? `${reply(value.choices)}; ${files}` : reply(value.choices);
}

function argumentReply(value: ValueKind): string {
  if (value.kind === "none") return ":";
  return value.kind === "choice" ? reply(value.choices) : files;
}

const files = "_slicescheduler_files";

/** Names are lines, whatever spaces they have; what is typed of them may be quoted already. */
const filesFunction = [
  "_slicescheduler_files() {",
  `  local file typed="\${current#[\\"\\']}"`,
  `  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "\${typed//\\\\/}")`,
  "}",
];

function reply(words: readonly string[]): string {
  return `COMPREPLY=( $(compgen -W ${quoted(words.join(" "))} -- "$current") )`;
}

/** What stands before the last comma is kept. */
function commaReply(words: readonly string[]): string {
  const head = `local head=""; if [[ "$current" == *,* ]]; then head="\${current%,*},"; fi`;
  return `${head}; COMPREPLY=( $(compgen -P "$head" -W ${quoted(words.join(" "))} -- "\${current##*,}") )`;
}

function flagsOf(options: readonly CompletedOption[]): string[] {
  return options.flatMap(({ flags }) => flags);
}

/** In single quotes, for a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
