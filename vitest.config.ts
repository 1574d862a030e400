import { mkdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build, transform } from "esbuild";
import { defaultServerConditions, type Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { readSnippets } from "./scripts/snippets.mjs";

const source = "@slicescheduler/source";

/** In tests, `new URL("./x.js", import.meta.url)` next to an x.ts becomes a bundled temp file: workers run with no build step. */
function workerFromSource(): Plugin {
  const built = new Map<string, Promise<string>>();
  const bundle = async (entry: string) => {
    const outfile = join(
      import.meta.dirname,
      "node_modules/.cache/workers",
      `${relative(import.meta.dirname, entry).replaceAll("/", "__")}.mjs`,
    );
    mkdirSync(dirname(outfile), { recursive: true });
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      sourcemap: "inline",
      conditions: [source],
    });
    return pathToFileURL(outfile).href;
  };
  return {
    name: "worker-from-source",
    enforce: "pre",
    async transform(code, id) {
      if (!/\/packages\/[^/]+\/src\/.*\.ts$/.test(id)) return null;
      const re = /new URL\(\s*"(\.\/[\w./-]*worker)\.js"\s*,\s*import\.meta\.url\s*\)/g;
      let out = code;
      for (const m of code.matchAll(re)) {
        const entry = join(dirname(id), `${m[1]}.ts`);
        const url = built.get(entry) ?? bundle(entry);
        built.set(entry, url);
        out = out.replace(m[0], `new URL(${JSON.stringify(await url)})`);
      }
      return out === code ? null : { code: out, map: null };
    },
  };
}

/** `DOCUMENT.md?snippet=LINE` is a module: the `ts` block whose fence stands on that line. */
function snippets(): Plugin {
  const pattern = /^(.*\.md)\?snippet=(\d+)$/;
  return {
    name: "docs-snippets",
    enforce: "pre",
    resolveId: (id) => (pattern.test(id) ? id : null),
    async load(id) {
      const [, path, line] = pattern.exec(id) ?? [];
      if (path === undefined) return null;
      const all = readSnippets(import.meta.dirname, relative(import.meta.dirname, path));
      const snippet = all.find((it) => it.line === Number(line));
      if (snippet === undefined) throw new Error(`${path} has no ts block on line ${line}`);
      const { code, map } = await transform(snippet.code, {
        loader: "ts",
        target: "node20",
        sourcemap: true,
        sourcefile: id,
      });
      return { code, map };
    },
  };
}

export default defineConfig({
  plugins: [workerFromSource(), snippets()],
  ssr: { resolve: { conditions: [source, ...defaultServerConditions], externalConditions: [source] } },
  test: {
    include: ["packages/*/{src,test}/**/*.test.{ts,mjs}", "scripts/**/*.test.ts", "examples/**/*.test.ts"],
    setupFiles: ["./scripts/property-seed.setup.ts"],
    // Machines are shared: a test that is slow is not wrong.
    testTimeout: 120_000,
    reporters: ["default", "./scripts/count-reporter.ts"],
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"] },
  },
});
