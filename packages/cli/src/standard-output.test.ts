/** Standard output that cannot be written, in a process of its own. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import ts from "typescript";
import { afterAll, describe, expect, test } from "vitest";
import { watchOutput } from "./standard-output.ts";

const dir = mkdtempSync(join(tmpdir(), "stdout-"));
afterAll(() => rmSync(dir, { recursive: true }));

const source = readFileSync(new URL("./standard-output.ts", import.meta.url), "utf8");
const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
writeFileSync(join(dir, "standard-output.mjs"), ts.transpileModule(source, { compilerOptions }).outputText);
writeFileSync(
  join(dir, "main.mjs"),
  `import { watchOutput } from "./standard-output.mjs";
  const exitCode = watchOutput(process, (code) => { process.exitCode = code; });
  for (let i = 0; i < 20; i++) {
    process.stdout.write("x".repeat(10_000) + "\\n");
    await new Promise((resolve) => setTimeout(resolve));
  }
  process.exitCode = exitCode(Number(process.argv[2]));
  process.stdout.write("the last");`,
);

function run(stdout: number | "pipe", code = 0): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, [join(dir, "main.mjs"), String(code)], {
    stdio: ["ignore", stdout, "pipe"],
    encoding: "utf8",
  });
}

describe("a process", () => {
  test("whose output takes nothing says so in a line, and ends with 2", () => {
    writeFileSync(join(dir, "read-only"), "");
    const descriptor = openSync(join(dir, "read-only"), "r");
    expect(run(descriptor)).toMatchObject({ status: 2, stderr: "error: stdout cannot be written (EBADF)\n" });
    // A command that failed keeps its own.
    expect(run(descriptor, 1).status).toBe(1);
    closeSync(descriptor);
  });

  test("whose output is read ends as its command does", () => {
    expect(run("pipe")).toMatchObject({ status: 0, stderr: "" });
    expect(run("pipe", 1)).toMatchObject({ status: 1, stderr: "" });
  });

  test.skipIf(process.platform === "win32")("whose reader has seen enough ends well", () => {
    const command = `"${process.execPath}" "${join(dir, "main.mjs")}" 0 | head -c 5; echo " \${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync("bash", ["-c", command], { encoding: "utf8" });
    expect([stdout, stderr]).toEqual(["xxxxx 0\n", ""]);
  });
});

describe("watchOutput", () => {
  test("errors that come after the command are told as well, and only the first one", async () => {
    const written: string[] = [];
    const codes: number[] = [];
    const stderr = new Writable({
      write: (piece, _, done) => {
        written.push(String(piece));
        done();
      },
    });
    const stdout = new Writable({
      autoDestroy: false,
      write: (_piece, _, done) => done(Object.assign(new Error("no space"), { code: "ENOSPC" })),
    });
    const exitCode = watchOutput({ stdout, stderr }, (code) => codes.push(code));
    expect(exitCode(0)).toBe(0);
    stdout.write("a");
    await new Promise((resolve) => setImmediate(resolve));
    stdout.emit("error", Object.assign(new Error("no space"), { code: "ENOSPC" }));
    expect([codes, written, exitCode(0)]).toEqual([[2], ["error: stdout cannot be written (ENOSPC)\n"], 2]);
  });
});
