// Runs npm, and by it exactly the pnpm that package.json names.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/**
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnSyncOptions} options
 */
export function npm(args, options) {
  // Inside an npm script, the same npm without a shell; elsewhere the one on the path, which is a .cmd file on Windows.
  const script = process.env["npm_execpath"];
  if (script?.endsWith("npm-cli.js")) return spawnSync(process.execPath, [script, ...args], { cwd: root, ...options });
  return spawnSync("npm", args, { cwd: root, shell: process.platform === "win32", ...options });
}

/**
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnSyncOptions} options
 */
export function pnpm(args, options) {
  return npm(["exec", "--yes", `--package=${manifest.packageManager}`, "--", "pnpm", ...args], options);
}
