/** Commands that need no replay: validate, clusters, convert, profile, help, typos. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { readyClusterFile } from "./assets.ts";
import { neverReplay, runMain } from "./main.fixture.ts";
import { tinyWorkload } from "./tiny-workload.fixture.ts";

const { dir, run: runTiny, remove } = tinyWorkload();
afterAll(remove);
const run = (args: readonly string[]) => runTiny(args, { replay: neverReplay });
const put = (name: string, text: string): void => writeFileSync(join(dir, name), text);
const get = (name: string): string => readFileSync(join(dir, name), "utf8");

const commands = [
  "replay",
  "compare",
  "report",
  "inspect",
  "convert",
  "profile",
  "clusters",
  "validate",
  "serve-view",
  "completion",
];

describe("help and typos", () => {
  test("the root's help names every command; each command's has an example", async () => {
    const root = (await run(["--help"])).out;
    for (const command of commands) {
      expect(root).toMatch(new RegExp(`^ {2}${command} `, "m"));
      const { code, out } = await run([command, "--help"]);
      expect([command, code]).toEqual([command, 0]);
      expect(out).toMatch(/Examples?:\n {2}\$ \S/);
      expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(130);
    }
    expect(root).toContain("Exit codes: 0 done; 1 ");
    expect((await run(["--version"])).out).toMatch(/^\d+\.\d+\.\d+/);
  });

  test.each<[string[], RegExp]>([
    [["relpay"], /unknown command "relpay"; did you mean "replay"\?/],
    [["validat", "x"], /did you mean "validate"\?/],
    [["replay", "--clutser", "x"], /unknown option '--clutser'.*--cluster/],
    [["compare"], /missing required argument 'files'/],
    [["completion", "bsh"], /no completion for "bsh", only for bash, zsh, fish; did you mean "bash"\?/],
    [["replay", "--cluster", "h100-nod"], /did you mean "h100-node"/],
    [["convert", "tiny.csv", "--to", "x.jsonl", "--format", "azur"], /did you mean azure\?/],
  ])("%j", async (args, expected) => {
    const { code, out, err } = await run(args);
    expect(err).toMatch(expected);
    expect(err.trimEnd().split("\n")).toHaveLength(1);
    expect([code, out]).toEqual([2, ""]);
  });

  test("all faults of options at once, a line each", async () => {
    const { code, err } = await run([
      "replay",
      "--minutes",
      "x",
      "--seeds",
      "0",
      "--policy",
      "foo,dual-shar",
      "--recipe",
      "Z",
    ]);
    expect(code).toBe(2);
    const lines = err.trimEnd().split("\n");
    for (const option of ["--minutes", "--seeds", '"foo"', '"dual-share"', "--recipe"])
      expect(lines.filter((line) => line.startsWith("error: ") && line.includes(option))).toHaveLength(1);
  });

  test("options that exclude each other", async () => {
    const both = await run(["replay", "--hbm-gb", "80", "--cluster", "h100", "--trace", "a", "--profile", "b"]);
    expect(both.err).toMatch(/--hbm-gb and --cluster/);
    expect(both.err).toMatch(/--trace and --profile/);
  });
});

describe("validate", () => {
  test("good files of all kinds, found out by their fields", async () => {
    put("c.yaml", "accelerators: [{ name: a, kind: k, hbm: 80GB }]");
    put("w.json", '{ "minutes": 5, "recipe": "B" }');
    const { code, out } = await run(["validate", "c.yaml", "w.json", "h100-node"]);
    expect([code, out]).toEqual([0, "ok c.yaml (cluster)\nok w.json (workload)\nok h100-node (cluster)\n"]);
  });

  test("every fault of every file, and exit code 2; the same as one object", async () => {
    put("bad.yaml", "accelerators:\n  - name: a\n    kind: k\n    hmb: 1GB\n");
    put("worse.yaml", "minutes: 99\nrecipe: C\n");
    put("odd.yaml", "colour: blue\n");
    const files = ["bad.yaml", "worse.yaml", "odd.yaml", "gone.yaml"];
    const { code, out, err } = await run(["validate", ...files]);
    expect([code, out]).toEqual([2, ""]);
    expect(err.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^bad\.yaml:2:5: accelerators\[0\]: lacks one of hbm, hbmBytes/),
      expect.stringMatching(/^bad\.yaml:4:5: accelerators\[0\]\.hmb: is no field here; did you mean "hbm"/),
      expect.stringMatching(/^worse\.yaml:1:10: minutes: is 99; recipes B48 and B have at most 30/),
      expect.stringMatching(/^worse\.yaml:2:9: recipe: is "C"; allowed: B48, B or plain/),
      expect.stringMatching(/^odd\.yaml:1:1: has no field of any kind of file that is known/),
      expect.stringMatching(/^gone\.yaml:1:1: .*no such file/),
      "error: 6 fault(s) in 4 of 4 file(s)",
    ]);
    const json = JSON.parse((await run(["validate", "--json", ...files])).out);
    expect(json.valid).toBe(false);
    expect(json.files[0]).toMatchObject({
      file: "bad.yaml",
      kind: "cluster",
      faults: [{ line: 2, column: 5 }, { line: 4 }],
    });
  });

  test("--kind decides where fields do not", async () => {
    put("odd.yaml", "colour: blue\n");
    expect((await run(["validate", "odd.yaml", "--kind", "cluster"])).err).toMatch(/lacks "accelerators"/);
    expect((await run(["validate", "odd.yaml", "--kind", "clutser"])).err).toMatch(/--kind must be cluster/);
  });
});

describe("clusters", () => {
  test("a list, and one as a file that validates", async () => {
    const { out } = await run(["clusters"]);
    expect(out).toMatch(/^h100-node +H100 node: eight on NVSwitch/m);
    const { clusters } = JSON.parse((await run(["clusters", "--json"])).out);
    expect(clusters.find(({ name }: { name: string }) => name === "h200-node")).toMatchObject({
      accelerators: 8,
      hbmBytes: 8 * 141e9,
    });
    put("mine.yaml", (await run(["clusters", "mixed-node"])).out);
    expect((await run(["validate", "mine.yaml"])).code).toBe(0);
    expect((await run(["clusters", "h100-nodes"])).err).toMatch(/did you mean "h100-node"/);
  });
});

describe("convert and profile", () => {
  test("a log of one's own by columns, to a packed canonical trace", async () => {
    put("own.csv", "when;prompt;answer;who\n10;5;7;a\n12.5;6;8;b\n");
    const columns = ["--columns", "arrival=when,input=prompt,output=answer,tenant=who", "--delimiter", ";"];
    const { code, out } = await run(["convert", "own.csv", "--to", "own.jsonl.gz", ...columns, "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      from: ["own.csv"],
      to: "own.jsonl.gz",
      rows: 2,
      format: "csv",
      lastArrivalNs: 2.5e9,
    });
    const rows = gunzipSync(readFileSync(join(dir, "own.jsonl.gz")))
      .toString()
      .trimEnd()
      .split("\n");
    expect(rows.map((row) => JSON.parse(row))).toEqual([
      { arrivalNs: 0, inputTokens: 5, outputTokens: 7, tenant: "a" },
      { arrivalNs: 2.5e9, inputTokens: 6, outputTokens: 8, tenant: "b" },
    ]);
  });

  test("faults of rows with file and line; faults of options together", async () => {
    put("faulty.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nx,1,1\n2023-11-16 18:15:46,0,1\n");
    const rows = await run(["convert", "faulty.csv", "--to", "out.jsonl"]);
    expect(rows.code).toBe(2);
    expect(rows.err).toMatch(/^faulty\.csv:2: |\/faulty\.csv:2: /);
    expect(rows.err).toMatch(/faulty\.csv:3: /);
    const options = await run([
      "convert",
      "tiny.csv",
      "--to",
      "out.txt",
      "--columns",
      "arival=a,input=b",
      "--seed",
      "3",
    ]);
    expect(options.err).toMatch(/--to must be a name that ends in/);
    expect(options.err).toMatch(/did you mean arrival\?/);
    expect(options.err).toMatch(/--seed.*are of --format servegen/);
  });

  test("a profile from a trace, from which a workload is generated", async () => {
    const rows = Array.from({ length: 400 }, (_, i) => `${i * 2e9},${100 + (i % 50)},${5 + (i % 9)},,,`);
    put("long.csv", ["arrivalNs,inputTokens,outputTokens,tenant,class,session", ...rows].join("\n"));
    const { code, out } = await run(["profile", "long.csv", "-o", "long.profile.json", "--json"]);
    expect(code).toBe(0);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ file: "long.profile.json", name: "long" });
    expect(report.requestsPerSecond.mean).toBeCloseTo(0.5, 1);
    expect(JSON.parse((await run(["profile", "long.csv", "--name", "x"])).out)).toMatchObject({
      version: 1,
      name: "x",
    });
    const args = ["replay", "--profile", "long.profile.json", "--share", "0.25", "--minutes", "5", "--json"];
    const { out: json, err } = await runMain(args, { cwd: dir });
    expect(JSON.parse(json).workload).toMatchObject({ generated: true, profile: { name: "long" } });
    expect(err).toContain("GENERATED from the profile long");
    put("broken.json", '{"version": 1}');
    expect((await run(["replay", "--profile", "broken.json"])).code).toBe(2);
    expect(get("long.profile.json")).toMatch(/\n$/);
  });
});

describe("the schema of a ready cluster that was copied", () => {
  const schemaOf = async (cwd: string): Promise<string> => {
    const { out } = await runMain(["clusters", "l4-node"], { replay: neverReplay, cwd });
    return /^# yaml-language-server: \$schema=(.*)$/m.exec(out)?.[1] ?? "";
  };

  test("is found from the folder of the copy, installed there or not", async () => {
    const bare = await schemaOf(dir);
    expect(JSON.parse(readFileSync(join(dir, bare), "utf8"))).toHaveProperty("properties.accelerators");
    const schemas = join(dir, "app/node_modules/@slicescheduler/cli/schemas");
    mkdirSync(schemas, { recursive: true });
    mkdirSync(join(dir, "app/deep"));
    writeFileSync(join(schemas, "cluster.schema.json"), "{}");
    expect(await schemaOf(join(dir, "app"))).toBe("./node_modules/@slicescheduler/cli/schemas/cluster.schema.json");
    expect(await schemaOf(join(dir, "app/deep"))).toBe(
      "../node_modules/@slicescheduler/cli/schemas/cluster.schema.json",
    );
  });

  test("of each ready cluster nothing else changes", async () => {
    const { clusters } = JSON.parse((await run(["clusters", "--json"])).out);
    for (const { name } of clusters) {
      const { out } = await run(["clusters", name]);
      put("copy.yaml", out);
      expect((await run(["validate", "copy.yaml"])).code).toBe(0);
      const [first, ...rest] = out.split("\n");
      expect(first).toMatch(/^# yaml-language-server: \$schema=\.{1,2}\//);
      expect(readFileSync(readyClusterFile(name), "utf8").split("\n").slice(1)).toEqual(rest);
    }
  });
});

test("validate: of more faults than are told the count is said to be a least one", async () => {
  const fields = (count: number): string => Array.from({ length: count }, (_, i) => `unknown${i}: 1\n`).join("");
  const good = "accelerators: [{ name: a, kind: k, hbm: 8GB }]\n";
  put("many.yaml", good + fields(150));
  expect((await run(["validate", "many.yaml"])).err).toMatch(/at least 100 fault\(s\) in 1 of 1 file\(s\)\n$/);
  put("few.yaml", good + fields(99));
  expect((await run(["validate", "few.yaml"])).err).toMatch(/^error: 99 fault\(s\) in 1 of 1 file/m);
});
