// node bench/run.mjs benchmarks|experiments NAME [--json] [ARGUMENTS]: runs one measurement on the built packages.
// A file is bundled alone, the packages stay outside: what is measured is what is published.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const [kind = "", name = "", ...rest] = process.argv.slice(2);
const folder = join(import.meta.dirname, kind);
const names = existsSync(folder) ? readdirSync(folder).flatMap((file) => /^([\w-]+)\.ts$/.exec(file)?.[1] ?? []) : [];
if (!names.includes(name)) {
  const asked = name === "" ? "No name given" : `There is no ${JSON.stringify(name)} in bench/${kind}`;
  console.error(`${asked}; the names are: ${names.sort().join(", ") || "(none)"}`);
  process.exit(2);
}

// Inside the repository, so that the packages are found; in dist, so that nobody commits it.
const outfile = join(import.meta.dirname, "dist", kind, `${name}.mjs`);
await build({
  entryPoints: [join(folder, `${name}.ts`)],
  outfile,
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});
/** @type {{ measure: import("./measurement.ts").Measure }} */
const { measure } = await import(pathToFileURL(outfile).href);
const { text, json } = await measure(rest.filter((it) => it !== "--json"));
process.stdout.write(`${text}\n`);
if (rest.includes("--json")) process.stdout.write(`${JSON.stringify(json)}\n`);
