// Builds the dist folder of every package, unless it is up to date (then some ms). `--types` always builds, with declarations.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "node_modules", ".build");
const withTypes = process.argv.includes("--types");

if (!withTypes && existsSync(stamp) && readFileSync(stamp, "utf8") === state()) process.exit(0);
if (!withTypes) removeOldCode();
const tsup = join(root, "node_modules", "tsup", "dist", "cli-default.js");
// Only warnings and errors, and those on stderr: stdout belongs to the program that is started next.
const result = spawnSync(process.execPath, [tsup, "--silent", ...(withTypes ? [] : ["--no-dts"])], {
  cwd: root,
  stdio: ["ignore", 2, 2],
});
if (result.status !== 0) {
  console.error(`Build failed: ${result.error?.message ?? `exit ${result.status}`}`);
  process.exit(result.status ?? 1);
}
writeFileSync(stamp, state());

/** Chunks have names of their contents: without this those of earlier builds would stay. Declarations are left, a build without types makes none. */
function removeOldCode() {
  for (const name of readdirSync(join(root, "packages"))) {
    const dist = join(root, "packages", name, "dist");
    if (!existsSync(dist)) continue;
    for (const file of readdirSync(dist)) if (/\.js(\.map)?$/.test(file)) rmSync(join(dist, file));
  }
}

/** Hash of all that goes in and of all that came out, so that a dist folder changed by hand is built again. */
function state() {
  const hash = createHash("sha256").update(process.version);
  const files = ["package.json", "pnpm-lock.yaml", "tsup.config.ts", "tsconfig.base.json"];
  for (const name of readdirSync(join(root, "packages")).sort()) {
    files.push(`packages/${name}/package.json`, `packages/${name}/tsconfig.json`);
    for (const dir of [`packages/${name}/src`, `packages/${name}/dist`]) {
      if (!existsSync(join(root, dir))) continue;
      for (const file of readdirSync(join(root, dir), { recursive: true, encoding: "utf8" }).sort()) {
        if (/\.[cm]?[jt]s$/.test(file) && !file.endsWith(".test.ts")) files.push(`${dir}/${file}`);
      }
    }
  }
  for (const file of files)
    hash.update(`\0${file}\0`).update(existsSync(join(root, file)) ? readFileSync(join(root, file)) : "");
  return hash.digest("hex");
}
