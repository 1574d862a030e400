import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkTidy } from "./check-tidy.mjs";
import { withFiles } from "./fixture.ts";

const CORE = "packages/gmg/src/core.ts";
const sound = {
  ".gitignore": "ignored/\n",
  [CORE]: `
    type Timers = { now: number; crypto: string };
    export function pure(options: Timers, random: () => number): number {
      const { max } = Math;
      return max(options.now, random(), Number(new Date(0)), Date.UTC(2000, 1));
    }`,
};

// Put together here, because this file is itself among those that may hold none of them.
const machinePath = ["", "work", "main"].join("/");
const registry = ["registry", "npmjs", "org"].join(".");
const address = ["https:", "", registry, "x"].join("/");

describe("checkTidy", () => {
  it("passes the repository", () => {
    expect(checkTidy(join(import.meta.dirname, "..")).problems).toEqual([]);
  });

  it("passes a sound tree", () => {
    expect(problems({})).toEqual([]);
  });

  it.each<[string, Record<string, string>, string]>([
    ["a long file", { "scripts/a.mjs": "//\n".repeat(501) }, "501 lines"],
    ["a long function", { "scripts/a.mjs": `function long() {${"\n".repeat(70)}}` }, "long has 71 lines"],
    ["a long method", { "scripts/a.ts": `class A { long() {${"\n".repeat(70)}} }` }, "long has 71 lines"],
    ["a long closure", { "bench/a.ts": `export const f = () => {${"\n".repeat(70)}};` }, "71 lines"],
    ["a machine path", { "docs/a.md": `see ${machinePath}\n` }, "path of one machine"],
    ["a registry's address", { "a.json": `{ "url": "${address}" }` }, "address of a registry"],
    ["a registry's host", { "a.yml": `host: ${registry}\n` }, "host of a registry"],
    ["an address in the lock file", { "pnpm-lock.yaml": "resolution: { tarball: x }\n" }, "holds an address"],
  ])("finds %s", (_, planted, message) => {
    expect(problems(planted)).toContainEqual(expect.stringContaining(message));
  });

  it.each([
    ["Date.now()", "Date.now"],
    ["globalThis.Date.now()", "Date.now"],
    ['Date["now"]()', "Date.now"],
    ["[1].map(Date.now)", "Date.now"],
    ["(({ now }) => now())(Date); const { now } = Date", "Date.now"],
    ["new Date()", "Date()"],
    ["performance.now()", "performance.now"],
    ["Math.random()", "Math.random"],
    ["process.hrtime.bigint()", "process.hrtime"],
    ["setTimeout(() => {}, 1)", "setTimeout"],
    ["globalThis.setInterval(() => {}, 1)", "setInterval"],
    ["[setImmediate].length", "setImmediate"],
    ["crypto.randomUUID()", "crypto"],
    ["queueMicrotask(() => {})", "queueMicrotask"],
  ])("finds %s in a package, but neither in its tests nor in the cli", (code, name) => {
    expect(problems({ [CORE]: `export const a = () => { ${code}; };` })).toContainEqual(
      expect.stringContaining(`uses ${name};`),
    );
    expect(problems({ "packages/gmg/src/a.test.ts": code, "packages/cli/src/a.ts": code })).toEqual([]);
  });

  it("lets a shell file use what its entry in the list names, and nothing else", () => {
    const shell = "packages/executor/src/simulated-time.ts";
    expect(problems({ [shell]: "setImmediate(() => {});" })).toEqual([]);
    expect(problems({ [shell]: "setTimeout(() => {}, 1);" })).toHaveLength(1);
  });

  it("counts neither the callback of describe nor files that git ignores", () => {
    const suite = `describe.each([1])("a", () => {${"\n".repeat(80)}});`;
    expect(problems({ "packages/gmg/src/a.test.ts": suite, "ignored/a.md": machinePath })).toEqual([]);
  });
});

function problems(planted: Record<string, string>): string[] {
  return withFiles({ ...sound, ...planted }, (root) => {
    spawnSync("git", ["init", "--quiet"], { cwd: root });
    return checkTidy(root).problems;
  });
}
