// Bundles src/client into src/client-bundle.ts, which the page holds as text: node packages/report/scripts/bundle-client.mjs
// A committed module, so that the package works from its sources and needs no bundler where it runs; a test checks that it is fresh.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
// biome-ignore lint/correctness/noUndeclaredDependencies: a tool of the repository, declared at its root
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "src", "client-bundle.ts");

/** @returns {Promise<string>} what the module has to be */
export async function clientBundle() {
  const uplot = dirname(createRequire(join(root, "package.json")).resolve("uplot/package.json"));
  const script = await bundled("main.ts");
  const style = readFileSync(join(uplot, "dist", "uPlot.min.css"), "utf8").trim() + (await bundled("report.css"));
  const licence = readFileSync(join(uplot, "LICENSE"), "utf8").trim();
  return `// Made by packages/report/scripts/bundle-client.mjs from src/client; do not edit.
// biome-ignore-all format: not written by hand
// biome-ignore-all lint: not written by hand

/** The page's script, minified, uPlot in it. */
export const clientScript: string = ${literal(script)};

/** The page's style sheet. */
export const clientStyle: string = ${literal(style)};

/** Of uPlot. */
export const uplotLicence: string = ${literal(licence)};
`;
}

/** @param {string} entry */
async function bundled(entry) {
  const { outputFiles } = await build({
    entryPoints: [join(root, "src", "client", entry)],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["chrome103", "firefox113", "safari16.4"],
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
  const text = outputFiles[0]?.text.trim() ?? "";
  // Neither may end the element that holds it, nor open a comment in it.
  return text.replaceAll(/<\/(script|style)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
}

/** @param {string} text */
function literal(text) {
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(target, await clientBundle());
}
