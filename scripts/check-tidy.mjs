// Fails on what STYLE rules 4 and 12 forbid, and on addresses and paths that belong to one machine.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { isMain, isTest, lineOf, parse, report, sourceFiles, walk } from "./source-files.mjs";

const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 70;
const SOURCE_FOLDERS = ["packages", "scripts", "bench", "examples"];

/** Members of globals that read a clock or draw a random number. */
const IMPURE_MEMBERS = [
  "Date.now",
  "performance.now",
  "performance.timeOrigin",
  "Math.random",
  "process.hrtime",
  "process.nextTick",
];
/** Globals that do nothing else. */
const IMPURE_GLOBALS = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "crypto"];

/**
 * Shell files, and the globals that each may use. The cli is a shell as a whole, tests of all packages too; everything
 * else gets clocks, timers and randomness as arguments.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const SHELL = {
  // Advances simulated time by itself while nobody drives it, so that `await handle.done` settles.
  "packages/executor/src/simulated-time.ts": ["setImmediate"],
  // The time that passes outside: its clock and its timers, both of which can be given instead.
  "packages/executor/src/real-time.ts": ["performance.now", "setImmediate", "setTimeout"],
  // After many events it lets timers and I/O have their turn before it delivers more.
  "packages/executor-libtorch/src/libtorch-executor.ts": ["setImmediate"],
  // How long the conformance suite waits for a backend whose time passes by itself; the backend's own clock is under test.
  "packages/testing/src/conformance/patience.ts": ["setTimeout"],
  // The clock of the live view and its one timer; both can be given instead.
  "packages/live-view/src/host.ts": ["performance.now", "setTimeout"],
  // Tells listeners what a call caused once the call has returned, and throws what a listener threw on its own.
  "packages/slicescheduler/src/slice-scheduler.ts": ["queueMicrotask"],
};

/** What names one machine or one registry; each pattern is written so that it does not match itself. */
const LOCAL = [
  { pattern: /(?<![A-Za-z0-9_.~-])\/(?:work|root|farm|tmp|home|Users)\/[A-Za-z0-9]/, what: "a path of one machine" },
  {
    pattern: /\bhttps?:\/\/[^\s/"'`)]*(?:registry|npmjs|npmmirror|artifactory|nexus|verdaccio|jfrog)/i,
    what: "the address of a registry",
  },
  { pattern: /\bregistry\.[a-z0-9-]+\.[a-z]{2,}/i, what: "the host of a registry" },
];

/**
 * @param {string} root
 * @returns {{ problems: string[], summary: string }}
 */
export function checkTidy(root) {
  const sources = SOURCE_FOLDERS.flatMap((dir) => sourceFiles(root, dir));
  const texts = trackedFiles(root);
  const problems = [];
  let functions = 0;
  for (const file of sources) {
    const source = parse(root, file);
    const lines = lineCount(source.text);
    if (lines > FILE_LINES_MAX) problems.push(`${file}: ${lines} lines, more than ${FILE_LINES_MAX}`);
    walk(source, (node) => {
      if (isFunction(node)) {
        functions++;
        problems.push(...functionProblem(node, file, source));
      }
    });
    if (isPure(file)) problems.push(...impurities(file, source));
  }
  for (const file of texts) problems.push(...localNames(file, readFileSync(join(root, file), "utf8")));
  if (functions === 0 || texts.length === 0) problems.push("nothing was checked");
  return { problems, summary: `${sources.length} sources with ${functions} functions, ${texts.length} tracked files` };
}

/** @param {string} text */
function lineCount(text) {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** @param {ts.Node} node */
function isFunction(node) {
  return ts.isFunctionLike(node) && "body" in node && node.body !== undefined;
}

/**
 * @param {ts.Node} node
 * @param {string} file
 * @param {ts.SourceFile} source
 * @returns {string[]}
 */
function functionProblem(node, file, source) {
  const lines = lineCount(node.getText(source));
  if (lines <= FUNCTION_LINES_MAX || isSuite(node, source)) return [];
  const name = "name" in node && node.name ? /** @type {ts.Node} */ (node.name).getText(source) : "a function";
  return [`${file}:${lineOf(node, source)}: ${name} has ${lines} lines, more than ${FUNCTION_LINES_MAX}`];
}

/**
 * The callback of `describe` is a list of tests, not a function of its own.
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function isSuite(node, source) {
  return ts.isCallExpression(node.parent) && /^describe/.test(node.parent.expression.getText(source));
}

/** @param {string} file */
function isPure(file) {
  return /^packages\/[^/]+\/src\//.test(file) && !file.startsWith("packages/cli/") && !isTest(file);
}

/**
 * @param {string} file
 * @param {ts.SourceFile} source
 * @returns {string[]}
 */
function impurities(file, source) {
  /** @type {string[]} */
  const problems = [];
  walk(source, (node) => {
    const name = impureName(node, source);
    if (name === undefined || SHELL[file]?.includes(name)) return;
    problems.push(`${file}:${lineOf(node, source)}: uses ${name}; clocks, timers and randomness come in as arguments`);
  });
  return problems;
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 * @returns {string | undefined}
 */
function impureName(node, source) {
  if (ts.isPropertyAccessExpression(node)) return member(node.expression, node.name.text, source);
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    return member(node.expression, node.argumentExpression.text, source);
  }
  // `const { now } = Date`
  if (ts.isBindingElement(node) && ts.isVariableDeclaration(node.parent.parent) && node.parent.parent.initializer) {
    return member(node.parent.parent.initializer, (node.propertyName ?? node.name).getText(source), source);
  }
  // `new Date()` and `Date()` read the clock; with arguments, `new Date(…)` only converts.
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
    const isClock =
      node.expression.getText(source) === "Date" && (ts.isCallExpression(node) || !node.arguments?.length);
    return isClock ? "Date()" : undefined;
  }
  return ts.isIdentifier(node) && IMPURE_GLOBALS.includes(node.text) && isReference(node) ? node.text : undefined;
}

/**
 * @param {ts.Expression} object
 * @param {string} name
 * @param {ts.SourceFile} source
 */
function member(object, name, source) {
  const owner = object.getText(source).replace(/^globalThis\./, "");
  if (owner === "globalThis") return IMPURE_GLOBALS.find((global) => global === name);
  return IMPURE_MEMBERS.find((impure) => impure === `${owner}.${name}`);
}

/**
 * False for a name that only happens to be the same: a member, a key, a type, a parameter.
 * @param {ts.Identifier} node
 */
function isReference(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isTypeNode(parent) || ts.isTypeElement(parent) || ts.isClassElement(parent)) return false;
  return !("name" in parent && parent.name === node) || ts.isShorthandPropertyAssignment(parent);
}

/**
 * Files that are, or would be, committed.
 * @param {string} root
 * @returns {string[]}
 */
function trackedFiles(root) {
  const git = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  if (git.status !== 0) throw new Error(`git ls-files failed in ${root}: ${git.stderr ?? git.error?.message}`);
  return git.stdout.split("\0").filter((file) => file !== "" && existsSync(join(root, file)));
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {string[]}
 */
function localNames(file, text) {
  const problems = [];
  for (const [index, line] of text.split("\n").entries()) {
    for (const { pattern, what } of LOCAL) {
      if (pattern.test(line)) problems.push(`${file}:${index + 1}: holds ${what}`);
    }
    // The lock file is committed without any address, so that it serves whatever registry a machine is set up for.
    if (file.endsWith("pnpm-lock.yaml") && /https?:|tarball/.test(line))
      problems.push(`${file}:${index + 1}: holds an address`);
  }
  return problems;
}

if (isMain(import.meta)) report("tidy", checkTidy(fileURLToPath(new URL("..", import.meta.url))));
