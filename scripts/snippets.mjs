// The fenced `ts` blocks of the documentation: the test suite compiles and runs each as a module of its own.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {object} Snippet
 * @property {string} file Relative to the root.
 * @property {number} line Of the opening fence.
 * @property {string} code
 * @property {string | undefined} noRun Why it is compiled only: the text after `no-run:` on the fence.
 */

/** Below docs/: the API reference of typedoc, and the reports of what packages export. */
const GENERATED = /^api(-reports)?[/\\]/;

/**
 * README.md, everything below docs/, and the README.md of each package.
 * @param {string} root
 * @returns {string[]}
 */
export function documents(root) {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".md") && !GENERATED.test(file),
  );
  const readmes = readdirSync(join(root, "packages")).map((dir) => `packages/${dir}/README.md`);
  const all = ["README.md", ...docs.map((file) => `docs/${file.replaceAll("\\", "/")}`), ...readmes];
  return all.filter((file) => existsSync(join(root, file))).sort();
}

/**
 * @param {string} root
 * @param {string} file
 * @returns {Snippet[]}
 */
export function readSnippets(root, file) {
  /** @type {Snippet[]} */
  const snippets = [];
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  for (let at = 0; at < lines.length; at++) {
    const fence = /^\s*(`{3,})(.*)$/.exec(lines[at] ?? "");
    if (fence === null) continue;
    const line = at + 1;
    const code = [];
    for (at++; at < lines.length && (lines[at] ?? "").trim() !== fence[1]; at++) code.push(lines[at] ?? "");
    const [language = "", ...rest] = (fence[2] ?? "").trim().split(/\s+/);
    if (/^(js|javascript|mjs|typescript|mts|tsx|jsx)$/i.test(language)) {
      throw new Error(
        `${file}:${line}: \`${language}\` would not be run; the fence of code in the documentation is \`ts\``,
      );
    }
    if (language === "ts")
      snippets.push({ file, line, code: `${code.join("\n")}\n`, noRun: reason(rest.join(" "), file, line) });
  }
  return snippets;
}

/**
 * @param {string} rest
 * @param {string} file
 * @param {number} line
 */
function reason(rest, file, line) {
  if (rest === "") return undefined;
  const match = /^no-run: (.{10,})$/.exec(rest);
  if (match === null)
    throw new Error(`${file}:${line}: after \`ts\` only \`no-run: REASON\` may follow, not \`${rest}\``);
  return match[1];
}
