import { existsSync, readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Options } from "tsup";

// Every package in one process. Entries, flat in dist: each src file that "exports" names, src/cli.ts, and the workers,
// which `new URL("./x-worker.js", import.meta.url)` finds beside the built file that starts them.
const source = "@slicescheduler/source";
const packages = readdirSync("packages").map((dir) => {
  const manifest = JSON.parse(readFileSync(`packages/${dir}/package.json`, "utf8"));
  const exported = Object.values<Record<string, string>>(manifest.exports ?? {}).flatMap((e) => e[source] ?? []);
  const workers = readdirSync(`packages/${dir}/src`, { recursive: true, encoding: "utf8" })
    .filter((file) => /(^|[-/])worker\.ts$/.test(file))
    .map((file) => `./src/${file}`);
  const files = new Set([...exported, "./src/cli.ts", ...workers].map((e) => `packages/${dir}/${e.slice(2)}`));
  const entry = [...files].filter((e) => existsSync(e));
  const named = (paths: readonly string[]) => Object.fromEntries(paths.map((e) => [e.replace(/^.*\/|\.ts$/g, ""), e]));
  const typed = exported.map((e) => `packages/${dir}/${e.slice(2)}`);
  return { dir, manifest, entry: named(entry), typed: named(typed) };
});

export default defineConfig((cli) =>
  packages.map(
    ({ dir, manifest, entry, typed }): Options => ({
      name: dir,
      entry,
      outDir: `packages/${dir}/dist`,
      tsconfig: `packages/${dir}/tsconfig.json`,
      external: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
      format: ["esm"],
      target: "node20.19",
      platform: "node",
      removeNodeProtocol: false,
      sourcemap: true,
      clean: cli.dts !== false,
      // The type build sets baseUrl, which TypeScript 6 calls an error (TS5101) unless told so.
      dts: cli.dts === false ? false : { entry: typed, compilerOptions: { ignoreDeprecations: "6.0" } },
    }),
  ),
);
