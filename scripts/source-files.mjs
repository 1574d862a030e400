// What the checks of the sources share: which files there are, and their syntax trees.
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/**
 * Source files below a folder, relative to the root with forward slashes, sorted.
 * @param {string} root
 * @param {string} dir
 * @returns {string[]}
 */
export function sourceFiles(root, dir) {
  if (!existsSync(join(root, dir))) return [];
  return readdirSync(join(root, dir), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${dir}/${entry.name}`;
      if (entry.isDirectory()) return /^(node_modules|dist|coverage)$/.test(entry.name) ? [] : sourceFiles(root, path);
      return /\.[cm]?tsx?$|\.[cm]?js$/.test(entry.name) ? [path] : [];
    })
    .sort();
}

/**
 * @param {string} root
 * @param {string} file
 * @returns {ts.SourceFile}
 */
export function parse(root, file) {
  return ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true);
}

/**
 * Tests, what only tests use, and scripts of a package are not published: they may use tools that the package itself may not.
 * @param {string} file
 */
export function isTest(file) {
  return /\.(test|fixture)\.[cm]?tsx?$/.test(file) || /^packages\/[^/]+\/(test|scripts|native)\//.test(file);
}

/**
 * Code for browsers is bundled, with what it imports, into a module of the package.
 * @param {string} file
 */
export function isBundled(file) {
  return /^packages\/[^/]+\/src\/client\//.test(file);
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
export function lineOf(node, source) {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/**
 * Calls `visit` for a node and everything below it.
 * @param {ts.Node} node
 * @param {(node: ts.Node) => void} visit
 */
export function walk(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/**
 * Prints what a check found and sets the exit code: one line per problem, then one line with the counts.
 * @param {string} name
 * @param {{ problems: readonly string[], summary: string }} result
 */
export function report(name, { problems, summary }) {
  for (const problem of problems) console.error(problem);
  console.log(`${name}: ${summary}, ${problems.length === 0 ? "no problem" : `${problems.length} problem(s)`}`);
  if (problems.length > 0) process.exitCode = 1;
}

/**
 * True in the file that Node was started with.
 * @param {ImportMeta} meta
 */
export function isMain(meta) {
  return process.argv[1] !== undefined && meta.filename === realpathSync(process.argv[1]);
}
