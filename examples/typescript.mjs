// Hooks for Node's module loader: TypeScript is stripped of its types, packages of this repository are taken from their sources.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";

/** @type {import("node:module").ResolveHook} */
export function resolve(specifier, context, next) {
  return next(specifier, { ...context, conditions: ["@slicescheduler/source", ...context.conditions] });
}

/** @type {import("node:module").LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
  const sourcefile = fileURLToPath(url);
  const text = await readFile(sourcefile, "utf8");
  const { code } = await transform(text, { loader: "ts", target: "node20", sourcemap: "inline", sourcefile });
  return { format: "module", source: code, shortCircuit: true };
}
