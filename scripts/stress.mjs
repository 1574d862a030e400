// Runs the property tests again and again, each time with another seed, until one fails or the time is up:
//     npm run stress -- --minutes 30 [part of a path…]
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sourceFiles } from "./source-files.mjs";

const root = join(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  options: { minutes: { type: "string", default: "30" } },
  allowPositionals: true,
});
const endMs = Date.now() + Number(values.minutes) * 60_000;
const files = sourceFiles(root, "packages").filter(
  (file) =>
    file.endsWith(".test.ts") &&
    readFileSync(join(root, file), "utf8").includes('"fast-check"') &&
    (positionals.length === 0 || positionals.some((part) => file.includes(part))),
);
if (files.length === 0) {
  console.error(`no property test has ${positionals.join(" or ")} in its path`);
  process.exit(2);
}
do {
  const seed = randomInt(2 ** 31);
  console.log(`SEED=${seed}, ${files.length} files`);
  const { status } = spawnSync("npx", ["vitest", "run", "--reporter=dot", ...files], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, SEED: String(seed) },
  });
  if (status !== 0) process.exit(status ?? 1);
} while (Date.now() < endMs);
