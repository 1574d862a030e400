import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ARROWS, checkArrows } from "./check-arrows.mjs";
import { withFiles } from "./fixture.ts";

const GMG = "packages/gmg/src/index.ts";
const SIMULATOR = "packages/simulator/src/index.ts";
const SIMULATOR_MANIFEST = "packages/simulator/package.json";

/** Two packages of the real table with one arrow between them. */
const sound = {
  "packages/gmg/package.json": manifest("@slicescheduler/gmg", { eventemitter3: "5.0.4" }),
  [GMG]: 'import { EventEmitter } from "eventemitter3";\nexport { emitter } from "./emitter.ts";\n',
  "packages/gmg/src/emitter.ts": "export const emitter = 1;\n",
  [SIMULATOR_MANIFEST]: manifest("@slicescheduler/simulator", { "@slicescheduler/gmg": "workspace:^" }),
  [SIMULATOR]: 'import type { Cluster } from "@slicescheduler/gmg";\nimport { Worker } from "node:worker_threads";\n',
};

describe("checkArrows", () => {
  it("passes the repository, and has looked at it", () => {
    const result = checkArrows(join(import.meta.dirname, ".."));
    expect(result.problems).toEqual([]);
    expect(result.modules).toBeGreaterThan(50);
    expect(result.imports).toBeGreaterThan(result.modules);
  });

  it("passes a sound tree and counts it", () => {
    expect(problems({})).toEqual([]);
    expect(withFiles(sound, checkArrows)).toMatchObject({ modules: 3, imports: 4 });
  });

  it("lets a row name only rows above it, so that no cycle is possible", () => {
    const order = Object.keys(ARROWS);
    for (const [at, row] of Object.values(ARROWS).entries()) {
      for (const name of row) expect(order.slice(0, at)).toContain(name);
    }
  });

  it.each<[string, Record<string, string>, string]>([
    ["an import against the arrow", { [GMG]: upward("import { Simulator } from") }, "no arrow"],
    ["a type import", { [GMG]: upward("import type { Simulator } from") }, "no arrow"],
    ["a re-export", { [GMG]: upward("export * from") }, "no arrow"],
    ["a dynamic import", { [GMG]: 'export const s = await import("@slicescheduler/simulator");\n' }, "no arrow"],
    ["an import in a type", { [GMG]: 'export type S = import("@slicescheduler/simulator").Simulator;\n' }, "no arrow"],
    ["a require", { [GMG]: 'export const s = require("@slicescheduler/simulator");\n' }, "no arrow"],
    ["a test against the arrow", { "packages/gmg/src/a.test.ts": upward("import { Simulator } from") }, "no arrow"],
    ["a computed import", { [GMG]: "export const load = (name: string) => import(name);\n" }, "computed"],
    ["a relative way out", { [SIMULATOR]: 'import type { Cluster } from "../../gmg/src/index.ts";\n' }, "outside"],
    ["a way behind the exports", { [SIMULATOR]: 'import { a } from "@slicescheduler/gmg/src/a.ts";\n' }, "not export"],
    ["an undeclared package", { [SIMULATOR]: 'import { z } from "zod";\n' }, "not declare"],
    ["a test tool outside of a test", { [SIMULATOR]: 'import fc from "fast-check";\n' }, "not declare"],
    ["a built-in of the shell in the core", { [GMG]: 'import { readFileSync } from "node:fs";\n' }, "node:fs"],
    [
      "a declared arrow",
      { "packages/gmg/package.json": manifest("@slicescheduler/gmg", { "@slicescheduler/simulator": "*" }) },
      "no arrow",
    ],
    [
      "a foreign dependency of the core",
      { [SIMULATOR_MANIFEST]: manifest("@slicescheduler/simulator", { zod: "4.6.7" }) },
      "core",
    ],
    ["an arrow that nothing uses", { [SIMULATOR]: "export {};\n" }, "imports it nowhere"],
    [
      "a package without a row",
      { "packages/extra/package.json": manifest("extra", {}), "packages/extra/src/a.ts": "" },
      "no row",
    ],
    ["a package without sources", { "packages/estimators/package.json": manifest("e", {}) }, "no module"],
  ])("finds %s", (_, planted, message) => {
    expect(problems(planted)).toContainEqual(expect.stringContaining(message));
  });

  it("lets tests use the tools of tests", () => {
    expect(
      problems({ "packages/gmg/src/a.test.ts": 'import fc from "fast-check";\nimport { it } from "vitest";\n' }),
    ).toEqual([]);
  });

  it("fails when there is nothing to check", () => {
    expect(withFiles({ "packages/readme.md": "" }, checkArrows).problems).toEqual(["nothing was checked"]);
  });
});

function problems(planted: Record<string, string>): string[] {
  return withFiles({ ...sound, ...planted }, checkArrows).problems;
}

function upward(statement: string): string {
  return `${statement} "@slicescheduler/simulator";\n`;
}

function manifest(name: string, dependencies: Record<string, string>): string {
  return JSON.stringify({ name, exports: { ".": "./dist/index.js" }, dependencies });
}
