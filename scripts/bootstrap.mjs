// Makes a fresh clone ready with only Node and npm: installs with exactly the pnpm
// that package.json names, fetched by npm. Does nothing (some ms) when up to date.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifest, pnpm, root } from "./npm.mjs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Node ${manifest.engines.node} is needed; this is ${process.version}.`);
  process.exit(1);
}

const members = ["packages", "examples"].flatMap((dir) =>
  existsSync(join(root, dir)) ? readdirSync(join(root, dir)).map((name) => `${dir}/${name}/package.json`) : [],
);
const hash = createHash("sha256").update(`${process.version} ${process.platform} ${process.arch}`);
for (const file of ["package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", ...members.sort()]) {
  if (existsSync(join(root, file))) hash.update(file).update(readFileSync(join(root, file)));
}
const state = hash.digest("hex");
const stamp = join(root, "node_modules", ".bootstrap");
if (existsSync(stamp) && readFileSync(stamp, "utf8") === state) process.exit(0);

console.error(`Installing with ${manifest.packageManager} (first run, or dependencies changed)`);
// Its messages go to stderr: stdout belongs to the program that is started next.
const result = pnpm(["install", "--frozen-lockfile", "--prefer-offline"], { stdio: ["ignore", 2, 2] });
if (result.status !== 0) {
  console.error(`Set-up failed: ${result.error?.message ?? `exit ${result.status}`}`);
  process.exit(result.status ?? 1);
}
writeFileSync(stamp, state);
