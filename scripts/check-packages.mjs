// Fails when what would be published is not usable: builds, packs, lints the tarballs, installs them into a scratch
// project with npm, and uses them there from ESM, from CommonJS, from strict TypeScript and from the command line, and as the tutorial says.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { npm, pnpm, root } from "./npm.mjs";
import { readSnippets } from "./snippets.mjs";
import { report } from "./source-files.mjs";
import { runTutorial } from "./tutorial.mjs";

/**
 * Code that an application bundles, minified and gzipped, the packages it depends on apart.
 * @type {Readonly<Record<string, number>>}
 */
const GZIPPED_KB_MAX = {
  ...{ templates: 30, memory: 30, gmg: 30, estimators: 30, arbitration: 30, simulator: 30, scheduler: 30 },
  ...{ executor: 30, "executor-libtorch": 30, slicescheduler: 30, timeline: 30, metrics: 30, "live-view": 30 },
};

/** @type {string[]} */
const problems = [];
const work = mkdtempSync(join(tmpdir(), "slicescheduler-packages-"));
try {
  report("packages", { problems, summary: await check() });
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** @returns {Promise<string>} what was checked */
async function check() {
  if (!succeeds("build", process.execPath, [join(root, "scripts/build.mjs"), "--types"], root))
    return "nothing was built";
  const packed = pnpm(["--filter", "./packages/*", "pack", "--pack-destination", work], { encoding: "utf8" });
  const tarballs = readdirSync(work).filter((file) => file.endsWith(".tgz"));
  const dirs = readdirSync(join(root, "packages"));
  if (tarballs.length !== dirs.length) {
    problems.push(`${dirs.length} packages gave ${tarballs.length} tarballs\n${packed.stdout}${packed.stderr}`);
    return "nothing was checked";
  }
  for (const file of tarballs) await lint(join(work, file));
  const names = dirs.map((dir) => JSON.parse(readFileSync(join(root, "packages", dir, "package.json"), "utf8")).name);
  const scratch = join(work, "scratch");
  if (install(scratch, tarballs)) {
    for (const name of names) inspect(join(scratch, "node_modules", name), name);
    useFromJavaScript(scratch, names);
    useFromTypeScript(scratch, names);
    useCommandLine(scratch);
    problems.push(...runTutorial(root, scratch));
  }
  const lines = [];
  for (const dir of dirs) lines.push(await sizes(dir, tarballs));
  return `${lines.join("\n  ")}\n  ${tarballs.length} tarballs`;
}

/**
 * @param {string} dir
 * @param {readonly string[]} tarballs
 * @returns {Promise<string>} what is reported
 */
async function sizes(dir, tarballs) {
  const { outputFiles } = await build({
    entryPoints: [join(root, "packages", dir, "dist/index.js")],
    ...{ bundle: true, minify: true, write: false, packages: "external", logLevel: "error" },
    ...{ format: "esm", platform: "node", target: "node20" },
  });
  const kilobytes = gzipSync(outputFiles[0]?.contents ?? new Uint8Array(), { level: 9 }).byteLength / 1000;
  const limit = GZIPPED_KB_MAX[dir];
  if (limit !== undefined && kilobytes > limit)
    problems.push(`packages/${dir}: ${kilobytes.toFixed(1)} kB minified and gzipped, at most ${limit} are allowed`);
  const tarball = tarballs.find((file) => file.replace(/^slicescheduler-(?=[a-z])/, "").startsWith(`${dir}-0`)) ?? "";
  const packed = tarball === "" ? "" : `, tarball ${(statSync(join(work, tarball)).size / 1000).toFixed(0)} kB`;
  return `${dir.padEnd(18)} ${kilobytes.toFixed(1).padStart(6)} kB minified and gzipped${packed}`;
}

/** @param {string} tarball */
async function lint(tarball) {
  const bytes = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
    strict: true,
  });
  for (const message of messages)
    problems.push(`${pkg["name"]}: publint: ${formatMessage(message, pkg, { color: false })}`);
  const attw = ["--profile", "esm-only", "--no-definitely-typed", "--no-color", "--no-emoji", "--format", "ascii"];
  succeeds(`attw ${pkg["name"]}`, join(root, "node_modules/.bin/attw"), [tarball, ...attw], root);
}

/**
 * @param {string} scratch
 * @param {readonly string[]} tarballs
 */
function install(scratch, tarballs) {
  mkdirSync(scratch);
  writeFileSync(join(scratch, "package.json"), '{ "private": true, "type": "module" }\n');
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
  const result = npm(["install", ...quiet, ...tarballs.map((file) => join("..", file))], {
    cwd: scratch,
    encoding: "utf8",
  });
  if (result.status !== 0) problems.push(`npm install of the tarballs failed\n${result.stdout}${result.stderr}`);
  return result.status === 0;
}

/**
 * The texts that must travel with a package, and the workers that its code starts by a path of its own.
 * @param {string} dir
 * @param {string} name
 */
function inspect(dir, name) {
  for (const file of ["README.md", "LICENSE"]) {
    if (!existsSync(join(dir, file))) problems.push(`${name}: the tarball has no ${file}`);
  }
  for (const file of builtFiles(dir)) {
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(
      /new URL\(\s*["'](\.[^"']+)["'],\s*import\.meta\.url/g,
    )) {
      if (!existsSync(join(dirname(file), target)))
        problems.push(`${name}: starts ${target}, which the tarball does not hold`);
    }
  }
}

/** @param {string} dir */
function builtFiles(dir) {
  return readdirSync(join(dir, "dist"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".js"))
    .map((file) => join(dir, "dist", file));
}

/**
 * Both ways of loading a package must give the same values: two copies of one class are strangers to `instanceof`.
 * @param {string} scratch
 * @param {readonly string[]} names
 */
function useFromJavaScript(scratch, names) {
  const code = `
    const assert = require("node:assert/strict");
    (async () => {
      for (const name of ${JSON.stringify(names)}) {
        const required = require(name);
        const imported = await import(name);
        const values = Object.keys(imported);
        assert.ok(values.length > 0, name + " exports nothing");
        for (const value of values) assert.equal(required[value], imported[value], name + " has two of " + value);
      }
    })();`;
  writeFileSync(join(scratch, "use.cjs"), code);
  succeeds(
    "use from CommonJS and ESM",
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "use.cjs"],
    scratch,
  );
}

/**
 * All declarations, checked without skipLibCheck and without the types of Node; then the embedding of README.md, run.
 * @param {string} scratch
 * @param {readonly string[]} names
 */
function useFromTypeScript(scratch, names) {
  const imports = names.map(
    (name, at) => `import * as it${at} from "${name}";\nexport type It${at} = typeof it${at};\n`,
  );
  writeFileSync(join(scratch, "use.mts"), imports.join(""));
  compiles("declarations under strict TypeScript", scratch, "use", { types: [], noEmit: true });

  const [embedding] = existsSync(join(root, "README.md")) ? readSnippets(root, "README.md") : [];
  if (embedding === undefined) {
    problems.push("README.md has no ts block that could be tried on the tarballs");
    return;
  }
  writeFileSync(join(scratch, "readme.mts"), embedding.code);
  const node = { types: ["node"], typeRoots: [join(root, "node_modules/@types")], skipLibCheck: true };
  if (compiles("README.md under strict TypeScript", scratch, "readme", node)) {
    succeeds("README.md on the tarballs", process.execPath, ["readme.mjs"], scratch);
  }
}

/**
 * @param {string} what
 * @param {string} scratch
 * @param {string} name
 * @param {Record<string, unknown>} options
 */
function compiles(what, scratch, name, options) {
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const compilerOptions = { target: "es2023", module: "nodenext", ...strict, ...options };
  writeFileSync(join(scratch, `tsconfig.${name}.json`), JSON.stringify({ compilerOptions, files: [`${name}.mts`] }));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  return succeeds(what, process.execPath, [tsc, "-p", `tsconfig.${name}.json`], scratch);
}

/** @param {string} scratch */
function useCommandLine(scratch) {
  const command = join(scratch, "node_modules/.bin/slicescheduler");
  succeeds("slicescheduler --help", command, ["--help"], scratch);
  succeeds("slicescheduler validate", command, ["validate", "h100-node", "a16-node"], scratch);
  succeeds("slicescheduler --minutes 1 --json", command, ["--minutes", "1", "--json"], scratch);
}

/**
 * @param {string} what
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 */
function succeeds(what, command, args, cwd) {
  const result = spawnSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  if (result.status !== 0) {
    problems.push(
      `${what} failed: ${result.error?.message ?? `exit ${result.status ?? result.signal}`}\n${result.stdout}${result.stderr}`,
    );
  }
  return result.status === 0;
}
