// Does what docs/tutorial.md says, in its order: writes the files that it shows, and runs its commands. The prose names a file in backquotes and
// ends with a colon directly before the file's fence; commands are in `sh` fences; `text` fences show what they print and are not run.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * @typedef {{ readonly line: number } & ({ readonly file: string, readonly text: string } | { readonly command: string })} Step
 */

/**
 * @param {string} markdown
 * @returns {Step[]}
 */
export function tutorialSteps(markdown) {
  /** @type {Step[]} */
  const steps = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const [, language] = /^```(\S*)/.exec(lines[at] ?? "") ?? [];
    if (language === undefined) continue;
    const line = at + 1;
    const before = lines.slice(0, at).findLast((it) => it.trim() !== "") ?? "";
    const body = [];
    for (at++; at < lines.length && lines[at] !== "```"; at++) body.push(lines[at] ?? "");
    const [, file] = /`([\w.-]+\.[a-z]+)`:$/.exec(before) ?? [];
    if (file !== undefined && language !== "sh") steps.push({ line, file, text: `${body.join("\n")}\n` });
    else if (language === "sh")
      for (const [index, command] of commandsOf(body)) steps.push({ line: line + 1 + index, command });
    else if (language !== "text" && language !== "mermaid")
      throw new Error(`docs/tutorial.md:${line}: a fence of ${language || "no language"} that no file's name precedes`);
  }
  return steps;
}

/**
 * One per line, a trailing backslash continues it; what follows two spaces and a # is a remark.
 * @param {readonly string[]} body
 * @returns {[number, string][]}
 */
function commandsOf(body) {
  /** @type {[number, string][]} */
  const commands = [];
  let open = "";
  for (const [index, text] of body.entries()) {
    const line = open + text.replace(/\s{2,}#.*$/, "").trim();
    open = line.endsWith("\\") ? `${line.slice(0, -1).trim()} ` : "";
    if (open === "" && line !== "" && !line.startsWith("#")) commands.push([index, line]);
  }
  return commands;
}

/**
 * @param {string} root
 * @param {string} folder Where the packages are installed already: `npm install` is left out.
 * @returns {string[]} what went wrong
 */
export function runTutorial(root, folder) {
  const env = { ...process.env, PATH: `${join(folder, "node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}` };
  for (const step of tutorialSteps(readFileSync(join(root, "docs/tutorial.md"), "utf8"))) {
    if ("file" in step) writeFileSync(join(folder, step.file), step.text);
    else if (!/^npm (install|init)\b|^mkdir |^cd /.test(step.command)) {
      const command = step.command.replace(/^npx (--no )?/, "");
      const result = spawnSync("bash", ["-ec", command], { cwd: folder, encoding: "utf8", env, timeout: 300_000 });
      if (result.status !== 0) {
        const ended = result.error?.message ?? `exit ${result.status ?? result.signal}`;
        return [
          `docs/tutorial.md:${step.line}: ${step.command}\nended with ${ended}\n${result.stdout}${result.stderr}`,
        ];
      }
    }
  }
  return [];
}
