import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import { describeNative } from "../src/native/describe-native.fixture.ts";

/** Within the package, where the addon is found. */
const folder = join(import.meta.dirname, "..", "node_modules", ".cache", "direct");

describeNative("a direct loop of days ends between two steps", () => {
  const script = join(folder, "child.mjs");
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    await build({
      entryPoints: [join(import.meta.dirname, "direct.child.ts")],
      outfile: script,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      conditions: ["@slicescheduler/source"],
    });
  });

  test.each([
    ["by process.exit", "exit", 7, ""],
    ["by an error that nobody caught", "throw", 1, ""],
    ["in a worker that is terminated, and the process goes on", "terminate", 0, "terminated 1"],
  ])(
    "%s",
    (_, way, status, said) => {
      const env = { ...process.env, OPENBLAS_NUM_THREADS: "1" };
      const child = spawnSync(process.execPath, [script, way], { encoding: "utf8", env, timeout: 120_000 });
      expect([child.signal, child.status, child.stdout.trim()]).toEqual([null, status, said]);
    },
    150_000,
  );
});
