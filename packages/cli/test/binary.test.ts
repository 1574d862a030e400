/** The command line as a process of its own: bundled from the sources, found files beside it, streams, exit codes. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
/** One folder below the package, as `dist` is, so that it finds what comes with the package; ignored by git. */
const binary = join(root, "node_modules", `.cli-${process.pid}.mjs`);
const dir = mkdtempSync(join(tmpdir(), "binary-"));

beforeAll(async () => {
  await build({
    entryPoints: [join(root, "src/cli.ts")],
    outfile: binary,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@slicescheduler/source"],
    logLevel: "error",
    // What is CommonJS among the dependencies asks for this.
    banner: { js: "import { createRequire as _create } from 'node:module'; const require = _create(import.meta.url);" },
  });
  const rows = ["arrivalNs,inputTokens,outputTokens,tenant,class,session", "0,300,3,a,,", "1000000,200,2,b,,"];
  writeFileSync(join(dir, "tiny.csv"), `${rows.join("\n")}\n`);
});

afterAll(() => {
  rmSync(dir, { recursive: true });
  rmSync(binary, { force: true });
});

const run = (...args: string[]) => spawnSync(process.execPath, [binary, ...args], { cwd: dir, encoding: "utf8" });
const tiny = ["--trace", "tiny.csv", "--recipe", "plain"];

describe("the binary", () => {
  test("replays, quietly where stderr is no terminal, and without colours where stdout is none", () => {
    const { status, stdout, stderr } = run(...tiny);
    expect(status).toBe(0);
    expect(stdout).toContain("slicescheduler over static-online");
    expect(stdout + stderr).not.toContain("\u001b");
    expect(stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^static-online: replayed in/),
      expect.stringMatching(/^slicescheduler: replayed in/),
    ]);
  });

  test("--json is the last line of stdout, the same bytes twice", () => {
    const once = run("replay", ...tiny, "--json");
    expect(once.status).toBe(0);
    expect(JSON.parse(once.stdout.trimEnd().split("\n").at(-1) ?? "").workload.online.requests).toBe(2);
    expect(run("replay", ...tiny, "--json").stdout).toBe(once.stdout);
  });

  test("exit codes: 2 for bad input, on stderr alone; 0 for help", () => {
    for (const args of [["nonsense"], ["replay", "--minutes", "0"], ["validate", "gone.yaml"], ["inspect", "gone"]]) {
      const { status, stdout, stderr } = run(...args);
      expect([args[0], status, stdout]).toEqual([args[0], 2, ""]);
      expect(stderr).not.toContain("    at ");
    }
    expect(run("--help").status).toBe(0);
  });

  test("schemas and ready clusters are found beside it; a report is written", () => {
    expect(run("validate", "h100-node").stdout).toBe("ok h100-node (cluster)\n");
    expect(run("replay", ...tiny, "--report", "r.html", "--policy", "static-online").status).toBe(0);
    expect(readFileSync(join(dir, "r.html"), "utf8")).toMatch(/<!doctype html>/i);
  });

  test("a reader that has seen enough is no failure", () => {
    const { stderr } = spawnSync("sh", ["-c", `"${process.execPath}" "${binary}" --help | head -n 1`], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
  });

  test("serve-view ends in order when it is interrupted", async () => {
    const child = spawn(process.execPath, [binary, "serve-view", ...tiny, "--json"], { cwd: dir });
    let out = "";
    for await (const piece of child.stdout) {
      out += String(piece);
      if (out.includes("\n")) break;
    }
    expect((await fetch(JSON.parse(out).url)).status).toBe(200);
    const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve([code, signal])));
    child.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
  });
});
