import type { Command } from "commander";

/** Longer command lines have their meaning on a line of its own. */
const besideMax = 58;

/** What every command's help ends with: at least one example that works as it stands. */
export function withExamples(command: Command, examples: readonly (readonly [line: string, what: string])[]): Command {
  const width = Math.min(besideMax, Math.max(...examples.map(([line]) => line.length)));
  const lines = examples.map(([line, what]) =>
    line.length > besideMax ? `  $ ${line}\n      ${what}` : `  $ ${line.padEnd(width)}  ${what}`,
  );
  return command.addHelpText("after", `\n${examples.length > 1 ? "Examples" : "Example"}:\n${lines.join("\n")}`);
}

const helpWidth = 100;

/** A paragraph for help, broken between words. */
export function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= helpWidth) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join("\n");
}

/** The words of `--json`, the same everywhere. */
export const jsonWords = "print one JSON object as the last line of stdout";
