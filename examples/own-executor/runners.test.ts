/** The suite under other runners, each in a process of its own: on the lanes, and on lanes that it has to find at fault. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { JestLike } from "./jest-like.ts";

const folder = mkdtempSync(join(tmpdir(), "runners-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Lanes that do not hear of rank 4: one check is about that. */
const DEAF = `
const { execute } = LaneExecutor.prototype;
LaneExecutor.prototype.execute = function (instructions) {
  execute.call(this, instructions.filter(({ type, rank }) => type !== "rerank" || rank !== 4));
};`;

const RUNNERS = {
  node: 'import { test } from "node:test"; conformance(test);',
  jest: 'import { JestLike } from "./jest-like.ts"; const jest = new JestLike(); conformance(jest.test); await jest.run();',
};

/** The rules that the suite checks on the lanes. */
let rules = 0;

beforeAll(async () => {
  const { conformance } = await import("./conformance.ts");
  rules = conformance(() => {}).length;
  for (const [runner, register] of Object.entries(RUNNERS))
    for (const [name, change] of Object.entries({ sound: "", deaf: DEAF })) {
      const imports = `import { conformance } from "./conformance.ts"; import { LaneExecutor } from "./lane-executor.ts";`;
      await build({
        stdin: { contents: `${imports}${change}\n${register}`, resolveDir: import.meta.dirname, loader: "ts" },
        outfile: join(folder, `${runner}-${name}.mjs`),
        bundle: true,
        platform: "node",
        format: "esm",
        target: "node20",
        conditions: ["@slicescheduler/source"],
      });
    }
});

function run(file: string, ...options: readonly string[]) {
  // A child that thinks it is part of this run would report to it.
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [...options, join(folder, file)], {
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

test("node:test runs every check, and finds the deaf lanes out by the one that is about it", () => {
  const sound = run("node-sound.mjs", "--test-reporter=tap");
  expect(sound).toMatchObject({ status: 0, stdout: expect.stringContaining(`# pass ${rules}\n# fail 0\n`) });
  const deaf = run("node-deaf.mjs", "--test-reporter=tap");
  expect(deaf.status).toBe(1);
  expect(deaf.stdout).toContain(`# pass ${rules - 1}\n# fail 1\n`);
  expect(deaf.stdout).toMatch(/not ok \d+ - operators: an operator that gets another rank takes its place/);
  expect(deaf.stdout).toContain("among activated operators: rank, then ready time, then issue number");
});

test("so does a runner in Jest's manner", () => {
  expect(() => new JestLike().test("with a callback", (done) => done())).toThrow(TypeError);
  const sound = run("jest-sound.mjs");
  expect(sound).toMatchObject({
    status: 0,
    stdout: expect.stringContaining(`Tests: 0 failed, ${rules} passed, ${rules} total`),
  });
  const deaf = run("jest-deaf.mjs");
  expect(deaf.status).toBe(1);
  expect(deaf.stdout).toContain(`Tests: 1 failed, ${rules - 1} passed, ${rules} total`);
  expect(deaf.stdout).toMatch(/✕ operators: an operator that gets another rank takes its place/);
  expect(deaf.stdout).toMatch(/expected: .* starts before .*\n {2}seen: {5}operatorStarted 13\n/);
});
