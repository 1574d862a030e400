import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runMain } from "../main.fixture.ts";

const dir = mkdtempSync(join(tmpdir(), "completion-"));
afterAll(() => rmSync(dir, { recursive: true }));

const shell = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"].find((path) =>
  existsSync(path),
);

beforeAll(async () => {
  writeFileSync(join(dir, "completion.bash"), (await runMain(["completion", "bash"])).out);
  for (const name of ["mine.yaml", "sp ace.yaml", "l4-mine.yaml"]) writeFileSync(join(dir, name), "");
});

/** What a real bash offers for a command line whose last word is being typed. */
function offered(...words: string[]): string[] {
  const script = [
    "source ./completion.bash",
    `COMP_WORDS=(slicescheduler ${words.map((word) => `'${word}'`).join(" ")})`,
    `COMP_CWORD=${words.length}`,
    "_slicescheduler",
    `printf "%s\\n" "\${COMPREPLY[@]}"`,
  ].join("\n");
  const { stdout, stderr, status } = spawnSync(shell ?? "bash", ["--norc", "-c", script], {
    cwd: dir,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return stdout.split("\n").filter((line) => line !== "");
}

describe.skipIf(shell === undefined)("completion in a real bash (skipped where there is none)", () => {
  test("commands, and only those that begin so", () => {
    expect(offered("")).toEqual(expect.arrayContaining(["replay", "compare", "serve-view", "completion"]));
    expect(offered("co")).toEqual(["compare", "convert", "completion"]);
  });

  test("options of the command, of the default one where none is named", () => {
    expect(offered("validate", "--k")).toEqual(["--kind"]);
    expect(offered("--clu")).toEqual(["--cluster"]);
    expect(offered("report", "-")).toEqual(expect.arrayContaining(["-o", "--output", "--json", "--help"]));
    expect(offered("report", "--g")).toEqual([]);
  });

  test("values: ready clusters, policies in a comma list, choices", () => {
    expect(offered("replay", "--cluster", "h200")).toEqual(["h200", "h200-node"]);
    expect(offered("replay", "--policy", "slices")).toEqual(["slicescheduler"]);
    expect(offered("replay", "--policy", "static-online,slices")).toEqual(["static-online,slicescheduler"]);
    expect(offered("--recipe", "B4")).toEqual(["B48"]);
    expect(offered("completion", "")).toEqual(["bash", "zsh", "fish"]);
  });

  test("files where files go; nothing where nobody can know", () => {
    expect(offered("validate", "mi")).toEqual(["mine.yaml"]);
    expect(offered("replay", "--workload", "mi")).toEqual(["mine.yaml"]);
    expect(offered("replay", "--seed", "")).toEqual([]);
    expect(offered("replay", "--cluster", "min")).toEqual(["mine.yaml"]);
    expect(offered("replay", "--cluster", "l4-")).toEqual(["l4-node", "l4-mine.yaml"]);
  });

  test("a file with a space in its name is one, however what was typed of it is quoted", () => {
    for (const typed of ["sp", "sp\\ a", '"sp a']) expect(offered("validate", typed)).toEqual(["sp ace.yaml"]);
  });
});

test("zsh and fish: every command and every option of it is there, quotes are closed", async () => {
  const bash = (await runMain(["completion", "bash"])).out;
  const flags = new Set(bash.match(/--[a-z][a-z-]+/g));
  for (const [name, flagOf] of [
    ["zsh", (flag: string) => `*${flag}[`],
    ["fish", (flag: string) => `-l ${flag.slice(2)} `],
  ] as const) {
    const { out, code } = await runMain(["completion", name]);
    expect(code).toBe(0);
    for (const flag of flags) expect(out, `${name} ${flag}`).toContain(flagOf(flag));
    expect(out.replaceAll("'\\''", "").split("'").length % 2).toBe(1);
  }
});
