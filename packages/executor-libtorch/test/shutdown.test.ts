import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeNative } from "../src/native/describe-native.fixture.ts";

/** Within the package, where the addon is found. */
const inside = join(import.meta.dirname, "..", "node_modules", ".cache", "shutdown");
const outside = mkdtempSync(join(tmpdir(), "slice-shutdown-"));
afterAll(() => rmSync(outside, { recursive: true, force: true }));

async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, entry)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@slicescheduler/source"],
  });
}

describeNative("a process that ends with work under way", () => {
  const script = join(inside, "child.mjs");
  beforeAll(async () => {
    mkdirSync(inside, { recursive: true });
    await bundle("shutdown.child.ts", script);
  });

  test.each([
    ["by itself, when nothing is under way", "idle", 0, ""],
    ["by itself, when the work is done", "drain", 0, "done 6, live 0"],
    ["after close", "close", 0, "live 0"],
    ["by process.exit", "exit", 7, ""],
    ["by an error that nobody caught", "throw", 1, ""],
    ["by itself, though a listener throws each time", "listener", 0, "thrown 12"],
    ["in a worker that is terminated, and the process goes on", "terminate", 0, "terminated 1\nlive 0"],
  ])("ends %s", (_, way, status, out) => {
    const child = spawnSync(process.execPath, [script, way], { encoding: "utf8", timeout: 100_000 });
    expect({
      status: child.status,
      signal: child.signal,
      out: child.stdout.trim(),
      err: way === "throw" ? "" : child.stderr,
    }).toEqual({
      status,
      signal: null,
      out,
      err: "",
    });
  });
});

test("without the addon the package can be imported, and the executor says what to run", async () => {
  const script = join(outside, "missing.mjs");
  await bundle("missing.child.ts", script);
  const child = spawnSync(process.execPath, [script], { encoding: "utf8" });
  const found = JSON.parse(child.stdout);
  expect(found).toMatchObject({ available: false, name: "LibtorchError", code: "LIBTORCH_MISSING" });
  expect(found.message).toContain("npm run setup:libtorch");
});
