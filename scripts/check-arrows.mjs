// Fails when a package imports, or declares, what DESIGN §4 does not allow it to.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { isBundled, isMain, isTest, lineOf, parse, report, sourceFiles, walk } from "./source-files.mjs";

/** The graph and what it rests on. */
const GRAPH = ["templates", "memory", "gmg"];
/** The master and everything below it. */
const MASTER = [...GRAPH, "estimators", "arbitration", "simulator", "scheduler", "executor", "slicescheduler"];

/**
 * The arrows of DESIGN §4, by folder, from the bottom up: a package may import packages of its own row and nothing else
 * of this repository. A row names only rows above it, which is why there can be no cycle.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const ARROWS = {
  templates: [],
  memory: ["templates"],
  gmg: ["templates", "memory"],
  estimators: [],
  arbitration: [],
  simulator: [...GRAPH, "estimators", "arbitration"],
  scheduler: [...GRAPH, "estimators", "simulator"],
  executor: [...GRAPH, "arbitration"],
  "executor-libtorch": [...GRAPH, "executor"],
  slicescheduler: [...GRAPH, "estimators", "arbitration", "simulator", "scheduler", "executor"],
  workloads: MASTER,
  testing: MASTER,
  timeline: MASTER,
  metrics: MASTER,
  "live-view": MASTER,
  report: [...GRAPH, "timeline", "workloads"],
  cli: [...MASTER, "executor-libtorch", "workloads", "testing", "timeline", "metrics", "live-view", "report"],
};

/**
 * What the tests of a package may use beyond its row: a backend is proved by the published suite, and serves a master.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const TEST_ARROWS = { "executor-libtorch": ["testing", "slicescheduler"] };

/** Packages that an application embeds: siblings and these, no other runtime dependency. */
const CORE = [
  "templates",
  "memory",
  "gmg",
  "estimators",
  "arbitration",
  "simulator",
  "scheduler",
  "executor",
  "executor-libtorch",
  "slicescheduler",
];
const CORE_DEPENDENCIES = ["eventemitter3"];
/** The built-in modules that core packages may use: files, sockets, clocks and randomness come in as arguments. */
const CORE_BUILTINS = ["node:worker_threads"];
/**
 * A package around a native library has to find and open files.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const PACKAGE_BUILTINS = { "executor-libtorch": ["node:fs", "node:module", "node:os", "node:path", "node:url"] };
const TEST_TOOLS = [
  "vitest",
  "fast-check",
  "@fast-check/vitest",
  "playwright-core",
  "axe-core",
  "esbuild",
  "typescript",
];

/**
 * @param {string} root
 * @returns {{ problems: string[], modules: number, imports: number, summary: string }}
 */
export function checkArrows(root) {
  const packages = readPackages(root);
  const problems = packages.flatMap((it) => manifestProblems(it, packages));
  let modules = 0;
  let imports = 0;
  for (const it of packages) {
    const files = sourceFiles(root, `packages/${it.dir}`);
    const seen = new Set();
    for (const file of files) {
      const source = parse(root, file);
      for (const { node, specifier } of importsOf(source)) {
        imports++;
        if (specifier !== undefined && !isTest(file)) seen.add(packageOf(specifier));
        const why = importProblem(it, packages, file, specifier);
        if (why !== undefined) problems.push(`${file}:${lineOf(node, source)}: ${why}`);
      }
    }
    modules += files.length;
    if (files.length === 0) problems.push(`packages/${it.dir}: no module found`);
    // An arrow that is declared and never met is either dead or a sign that imports are no longer read.
    for (const name of Object.keys(it.manifest.dependencies ?? {}).filter((name) => !seen.has(name))) {
      problems.push(`packages/${it.dir}/package.json: depends on ${name} and imports it nowhere`);
    }
  }
  if (modules === 0 || imports === 0) problems.push("nothing was checked");
  return { problems, modules, imports, summary: `${packages.length} packages, ${modules} modules, ${imports} imports` };
}

/** @typedef {{ dependencies?: Record<string, string>, name: string, exports?: Record<string, unknown>, [field: string]: unknown }} Manifest */
/** @typedef {{ dir: string, manifest: Manifest }} Package */

/**
 * @param {string} root
 * @returns {Package[]}
 */
function readPackages(root) {
  return readdirSync(join(root, "packages"))
    .filter((dir) => existsSync(join(root, "packages", dir, "package.json")))
    .map((dir) => ({ dir, manifest: JSON.parse(readFileSync(join(root, "packages", dir, "package.json"), "utf8")) }));
}

/**
 * @param {Package} it
 * @param {readonly Package[]} packages
 * @returns {string[]}
 */
function manifestProblems({ dir, manifest }, packages) {
  const row = ARROWS[dir];
  if (row === undefined) return [`packages/${dir}: has no row in the table of arrows (scripts/check-arrows.mjs)`];
  const problems = [];
  for (const field of ["dependencies", "peerDependencies", "optionalDependencies", "devDependencies"]) {
    for (const name of Object.keys(/** @type {object} */ (manifest[field] ?? {}))) {
      const sibling = packages.find((other) => other.manifest.name === name);
      const rowOfField = field === "devDependencies" ? [...row, ...(TEST_ARROWS[dir] ?? [])] : row;
      if (sibling !== undefined && !rowOfField.includes(sibling.dir)) {
        problems.push(`packages/${dir}/package.json: ${field} names ${name}, to which there is no arrow`);
      }
      if (
        sibling === undefined &&
        field !== "devDependencies" &&
        CORE.includes(dir) &&
        !CORE_DEPENDENCIES.includes(name)
      ) {
        problems.push(
          `packages/${dir}/package.json: ${field} names ${name}; a core package has siblings and ${CORE_DEPENDENCIES} only`,
        );
      }
    }
  }
  return problems;
}

/**
 * Every import of a file: static, re-exported, of a type, dynamic, and by require.
 * @param {ts.SourceFile} source
 * @returns {{ node: ts.Node, specifier: string | undefined }[]} no specifier where it is computed
 */
function importsOf(source) {
  /** @type {{ node: ts.Node, specifier: string | undefined }[]} */
  const found = [];
  /** @param {ts.Node} node @param {ts.Node | undefined} name */
  const add = (node, name) => {
    found.push({ node, specifier: name !== undefined && ts.isStringLiteralLike(name) ? name.text : undefined });
  };
  walk(source, (node) => {
    if (ts.isImportDeclaration(node)) add(node, node.moduleSpecifier);
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) add(node, node.moduleSpecifier);
    else if (ts.isExternalModuleReference(node)) add(node, node.expression);
    else if (ts.isImportTypeNode(node))
      add(node, ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument);
    else if (ts.isCallExpression(node)) {
      // A computed `require` is no way out: only node:module could give a module one, and the core may not import that.
      const isRequire = /^(require|require\.resolve|import\.meta\.resolve)$/.test(node.expression.getText(source));
      const [name] = node.arguments;
      if (node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node, name);
      else if (isRequire && name !== undefined && ts.isStringLiteralLike(name)) add(node, name);
    }
  });
  for (const reference of [...source.referencedFiles, ...source.typeReferenceDirectives]) {
    const specifier =
      source.referencedFiles.includes(reference) && !/^[./]/.test(reference.fileName)
        ? `./${reference.fileName}`
        : reference.fileName;
    found.push({ node: source, specifier });
  }
  return found;
}

/**
 * @param {Package} it
 * @param {readonly Package[]} packages
 * @param {string} file
 * @param {string | undefined} specifier
 * @returns {string | undefined} what is wrong with it
 */
function importProblem({ dir, manifest }, packages, file, specifier) {
  const test = isTest(file);
  if (specifier === undefined) return test ? undefined : "imports a computed name, which cannot be checked";
  if (/^[./]/.test(specifier)) {
    const target = normalize(join(dirname(file), specifier)).replaceAll("\\", "/");
    return specifier.startsWith("/") || !target.startsWith(`packages/${dir}/`)
      ? `imports ${specifier}, outside of its package`
      : undefined;
  }
  if (specifier.startsWith("node:") || builtinModules.includes(specifier)) {
    const allowed =
      test || !CORE.includes(dir) || [...CORE_BUILTINS, ...(PACKAGE_BUILTINS[dir] ?? [])].includes(specifier);
    return allowed ? undefined : `imports ${specifier}; a core package may use ${CORE_BUILTINS} only`;
  }
  const name = packageOf(specifier);
  const target = packages.find((other) => other.manifest.name === name);
  if (target !== undefined) {
    const subpath = `.${specifier.slice(name.length)}`;
    const row = [...(ARROWS[dir] ?? []), ...(test ? (TEST_ARROWS[dir] ?? []) : [])];
    if (target.dir !== dir && !row.includes(target.dir)) return `imports ${specifier}, to which there is no arrow`;
    if (target.manifest.exports?.[subpath] === undefined) return `imports ${specifier}, which ${name} does not export`;
  }
  if (name === manifest.name || (test && TEST_TOOLS.includes(name))) return undefined;
  const declared = {
    ...manifest.dependencies,
    .../** @type {object} */ (manifest["peerDependencies"]),
    ...(test || isBundled(file) ? /** @type {object} */ (manifest["devDependencies"]) : {}),
  };
  return name in declared ? undefined : `imports ${specifier}, which its package.json does not declare`;
}

/** @param {string} specifier */
function packageOf(specifier) {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

if (isMain(import.meta)) report("arrows", checkArrows(fileURLToPath(new URL("..", import.meta.url))));
