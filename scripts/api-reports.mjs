// The public API of every package, as its declarations state it, in docs/api-reports: a change of it shows in the diff of a review. Without
// `--write`, fails when a report is not what the built declarations give. Builds first, unless `--built` says that it was done.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor";
import { root } from "./npm.mjs";
import { report } from "./source-files.mjs";

const folder = join(root, "docs/api-reports");
const isWriting = process.argv.includes("--write");

/** Said about every export that has no release tag, or that comes from a file of its own: nothing a reader of the report needs. */
const QUIET = ["ae-missing-release-tag", "ae-forgotten-export", "ae-unresolved-link"];

/** @returns {{ name: string, packageFolder: string, declarations: string }[]} */
function entries() {
  return readdirSync(join(root, "packages")).flatMap((dir) => {
    const packageFolder = join(root, "packages", dir);
    const { exports } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8"));
    return Object.entries(exports).flatMap(([subpath, target]) => {
      if (typeof target === "string") return [];
      const name = subpath === "." ? dir : `${dir}-${subpath.slice(2).replaceAll("/", "-")}`;
      return [{ name, packageFolder, declarations: join(packageFolder, target.types) }];
    });
  });
}

/**
 * @param {{ name: string, packageFolder: string, declarations: string }} entry
 * @param {string} work
 * @returns {string} the report
 */
function reportOf({ name, packageFolder, declarations }, work) {
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: packageFolder,
      mainEntryPointFilePath: declarations,
      compiler: {
        overrideTsconfig: {
          compilerOptions: { target: "es2023", module: "nodenext", moduleResolution: "nodenext", strict: true },
          files: [declarations],
        },
      },
      apiReport: { enabled: true, reportFileName: name, reportFolder: work, reportTempFolder: work },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: "lf",
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        extractorMessageReporting: Object.fromEntries(
          [...QUIET, "default"].map((code) => [code, { logLevel: ExtractorLogLevel.None }]),
        ),
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(packageFolder, "package.json"),
  });
  Extractor.invoke(config, {
    localBuild: true,
    messageCallback(message) {
      message.handled = true;
    },
  });
  return readFileSync(join(work, `${name}.api.md`), "utf8");
}

if (!process.argv.includes("--built")) {
  const build = [join(root, "scripts/build.mjs"), "--types"];
  if (spawnSync(process.execPath, build, { cwd: root, stdio: "inherit" }).status !== 0) process.exit(1);
}
const work = mkdtempSync(join(tmpdir(), "slicescheduler-api-"));
/** @type {string[]} */
const problems = [];
const names = new Set();
try {
  mkdirSync(folder, { recursive: true });
  for (const entry of entries()) {
    const file = join(folder, `${entry.name}.api.md`);
    names.add(`${entry.name}.api.md`);
    const text = reportOf(entry, work);
    if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
    if (isWriting) writeFileSync(file, text);
    else
      problems.push(
        `docs/api-reports/${entry.name}.api.md is not what the package exports; run npm run api and look at the change`,
      );
  }
  for (const old of readdirSync(folder).filter((file) => !names.has(file))) {
    if (isWriting) rmSync(join(folder, old));
    else problems.push(`docs/api-reports/${old} is of no package`);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
report("api", { problems, summary: `${names.size} entry points` });
