import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ReplayCheckError } from "@slicescheduler/workloads";
import { afterAll, describe, expect, test } from "vitest";
import { wantsColor } from "./io.ts";
import { fakeReplay, neverReplay, runMain } from "./main.fixture.ts";
import type { Replay } from "./replay/command.ts";

const dir = mkdtempSync(join(tmpdir(), "cli-"));
const run = (args: readonly string[], replay: Replay = fakeReplay, env: Record<string, string> = {}) =>
  runMain(args, { replay, env, cwd: join(dir, "nowhere") });
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

const header = "TIMESTAMP,ContextTokens,GeneratedTokens";
const goodRow = "2023-11-16 18:15:46.6805900,374,44";

/** An hour of arrivals, one a second. */
const hour = Array.from({ length: 3600 }, (_, s) => {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `2023-11-16 18:${two(Math.floor(s / 60))}:${two(s % 60)}.0000000,${100 + (s % 7)},${5 + (s % 3)}`;
});

describe("slicescheduler", () => {
  const trace = file("hour.csv", [header, ...hour].join("\r\n"));

  test("prints the comparison on stdout and progress on stderr", async () => {
    const { code, out, err } = await run(["--trace", trace, "--share", "0.2"]);
    expect(code).toBe(0);
    const rows = ["requests/s", "tokens/s", "TTFT p50/p90/p99 ms", "TPOT", "SLO attainment", "utilisation", "peak HBM"];
    for (const row of [...rows, "offline completed", "rounds", "time per round", "static-online", "slicescheduler"]) {
      expect(out).toContain(row);
    }
    expect(out).toMatch(/slicescheduler over static-online\n {2}requests\/s ×\d+\.\d\d, tokens\/s ×/);
    expect(out).toContain("utilisation +25.0 points");
    expect(out).not.toContain("GENERATED");
    expect(err).toContain("static-online: replayed in");
  });

  test("--json: the last line of stdout is one object with every field of the contract", async () => {
    const { code, out } = await run(["--trace", trace, "--json", "--share", "0.2"]);
    expect(code).toBe(0);
    const report = JSON.parse(out.trimEnd().split("\n").at(-1) ?? "");
    expect(Object.keys(report)).toEqual(["workload", "seeds", "slo", "policies", "ratios", "spread"]);
    expect(Object.keys(report.policies)).toEqual(["static-online", "slicescheduler"]);
    const percentiles = { p50: expect.any(Number), p90: expect.any(Number), p99: expect.any(Number) };
    for (const result of Object.values(report.policies)) {
      expect(result).toMatchObject({
        requestsPerSecond: expect.any(Number),
        tokensPerSecond: expect.any(Number),
        sloAttainment: expect.any(Number),
        utilization: expect.any(Number),
        ttftMs: percentiles,
        tpotMs: percentiles,
        onlineCompleted: report.workload.online.requests,
        offlineOffered: 1800,
        offlineCompleted: expect.any(Number),
        peakHbmBytes: new Array(8).fill(2e9),
        overCapacity: 0,
        standstills: 0,
      });
    }
    expect(report.ratios["static-online"]).toMatchObject({
      requestsPerSecond: expect.any(Number),
      tokensPerSecond: expect.any(Number),
      sloAttainmentDelta: 0,
      utilizationDelta: 0.25,
    });
    expect(report.workload).toMatchObject({ source: "trace", generated: false, minutes: 30, share: 0.2 });
  });

  test("same seed, same bytes, whatever the host's clock says; no directory in them", async () => {
    const args = ["--trace", trace, "--json", "--share", "0.2"];
    const first = await run(args);
    expect((await run(args)).out).toBe(first.out);
    expect(first.out).not.toContain(dir);
    expect((await run([...args, "--seed", "2"])).out).not.toBe(first.out);
  });

  test("without a trace the workload is generated, and both streams and the object say so", async () => {
    const text = await run(["--minutes", "5"]);
    expect(text.code).toBe(0);
    expect(text.err).toContain("GENERATED from the profile azure-llm-2023");
    expect(text.out).toContain("GENERATED from the built-in profile azure-llm-2023, seed 1");
    expect(text.out).toContain("CC BY 4.0");
    const json = JSON.parse((await run(["--minutes", "5", "--seed", "9", "--json"])).out);
    expect(json.workload).toMatchObject({ source: "profile", generated: true, files: null, minutes: 5 });
    expect(json.seeds).toEqual([9]);
    expect(json.spread).toBeNull();
  });

  test("several seeds: as many replays of each policy, and the range beside the median", async () => {
    const seen: string[] = [];
    const byWorkload: Replay = (options) => {
      seen.push(`${options.policy} ${options.seed} ${options.online.tenants.flat().length}`);
      return fakeReplay(options);
    };
    const args = ["--minutes", "5", "--seed", "4", "--seeds", "3"];
    const json = JSON.parse((await run([...args, "--json"], byWorkload)).out);
    expect(seen.map((text) => text.split(" ").slice(0, 2).join(" "))).toEqual(
      ["4", "5", "6"].flatMap((seed) => [`static-online ${seed}`, `slicescheduler ${seed}`]),
    );
    // A generated workload is another one for each seed, so the served requests differ.
    expect(new Set(seen.map((text) => text.split(" ")[2])).size).toBeGreaterThan(1);
    expect(json.seeds).toEqual([4, 5, 6]);
    const { min, max } = json.spread["static-online"].requestsPerSecond;
    expect(min).toBeLessThan(max);
    const served = seen.filter((text) => text.startsWith("static")).map((text) => Number(text.split(" ")[2]) / 300);
    expect(json.policies["static-online"].requestsPerSecond).toBeCloseTo(served.sort((a, b) => a - b)[1] ?? 0, 10);
    const text = (await run(args)).out;
    expect(text).toContain("medians of seeds 4 to 6");
    expect(text).toContain("smallest and largest of the seeds");
  });

  test("recipe B takes the lengths that B48 leaves out", async () => {
    const mean = async (recipe: string): Promise<number> =>
      JSON.parse((await run(["--json", "--recipe", recipe])).out).workload.online.outputTokensMean;
    expect(await mean("B")).toBeGreaterThan(1.2 * (await mean("B48")));
  });

  test("traces beside the working directory, or named by the environment, are found", async () => {
    const traces = join(dir, "shared/data/traces/azure-llm-2023");
    mkdirSync(traces, { recursive: true });
    const text = [header, ...hour].join("\n");
    for (const name of ["conv", "code"]) writeFileSync(join(traces, `AzureLLMInferenceTrace_${name}.csv`), text);
    const json = ["--json", "--share", "0.2"];
    expect(JSON.parse((await run(json)).out).workload.generated).toBe(false);
    rmSync(join(dir, "shared"), { recursive: true });
    expect(JSON.parse((await run(json)).out).workload.generated).toBe(true);
    const other = mkdtempSync(join(dir, "other-"));
    for (const name of ["conv", "code"]) writeFileSync(join(other, `AzureLLMInferenceTrace_${name}.csv`), text);
    const env = { SLICESCHEDULER_TRACES: other };
    expect(JSON.parse((await run(json, fakeReplay, env)).out).workload.generated).toBe(false);
  });

  test("--policy takes repetition and comma lists; without Static-Online the threshold says where it is from", async () => {
    const one = JSON.parse((await run(["--json", "--policy", "slicescheduler"])).out);
    expect(Object.keys(one.policies)).toEqual(["slicescheduler"]);
    expect(one.slo.source).toBe("serial-server");
    for (const args of [["slicescheduler,static-online"], ["slicescheduler", "--policy", "static-online"]]) {
      const { out } = await run(["--json", "--policy", ...args]);
      expect(Object.keys(JSON.parse(out).policies)).toEqual(["slicescheduler", "static-online"]);
    }
  });

  test("the command's name can be given; help shows options and examples", async () => {
    expect((await run(["replay", "--json", "--minutes", "1"])).code).toBe(0);
    for (const args of [["--help"], ["replay", "--help"]]) {
      const { code, out } = await run(args, neverReplay);
      expect(code).toBe(0);
      for (const text of ["--trace", "--policy", "--minutes", "--seed", "--json", "Examples:"])
        expect(out).toContain(text);
    }
  });
});

describe("bad input: one line on stderr, exit code 2, nothing replayed", () => {
  const bad = (name: string, ...lines: string[]): string => file(name, lines.join("\r\n"));

  test.each<[string, string[], RegExp]>([
    ["a missing file", ["--trace", join(dir, "none.csv")], /none\.csv: no such file/],
    ["an empty file", ["--trace", bad("empty.csv")], /empty\.csv: is empty/],
    ["a wrong header", ["--trace", bad("header.csv", "a,b,c", goodRow)], /header\.csv:1: wrong header "a,b,c"/],
    ["a header only", ["--trace", bad("only.csv", header)], /only\.csv: has a header but no rows/],
    ["a malformed row", ["--trace", bad("row.csv", header, goodRow, "x")], /row\.csv:3: 1 field\(s\) instead of 3/],
    [
      "a negative row",
      ["--trace", bad("neg.csv", header, "2023-11-16 18:15:46,-1,4")],
      /neg\.csv:2: ContextTokens "-1"/,
    ],
    [
      "rows out of order",
      ["--trace", bad("order.csv", header, goodRow, "2023-11-16 18:15:46.6805899,1,1")],
      /order\.csv:3: /,
    ],
    [
      "a directory without traces",
      ["--trace", mkdtempSync(join(dir, "empty-"))],
      /holds no AzureLLMInferenceTrace_conv/,
    ],
    ["three traces", ["--trace", "a", "b", "c"], /one directory, one file, or two files/],
    ["a trace too short", ["--trace", bad("short.csv", header, goodRow)], /keeps none of 1 arrivals/],
    [
      "an unknown policy",
      ["--policy", "static-online,slice-scheduler"],
      /unknown policy "slice-scheduler"; did you mean "slicescheduler"\?/,
    ],
    ["an empty policy", ["--policy", ""], /--policy must be/],
    ["no minutes", ["--minutes", "0"], /--minutes must be above 0 and at most 30, not "0"/],
    ["too many minutes", ["--minutes", "31"], /--minutes/],
    ["minutes that are no number", ["--minutes", "ten"], /--minutes must be above 0 and at most 30, not "ten"/],
    ["minutes without a first digit", ["--minutes", ".3"], /a plain decimal number, such as 0\.3, not "\.3"/],
    ["minutes as a power of ten", ["--minutes", "1e-1"], /a plain decimal number, such as 0\.1, not "1e-1"/],
    ["seeds in hexadecimal", ["--seeds", "0x2"], /--seeds must be a plain decimal number, such as 2, not "0x2"/],
    ["nothing for a number", ["--minutes", " "], /--minutes must be above 0 and at most 30, not " "/],
    ["a negative seed", ["--seed", "-1"], /--seed/],
    ["no seeds", ["--seeds", "0"], /--seeds/],
    ["half a seed", ["--seeds", "1.5"], /--seeds/],
    ["an unknown recipe", ["--recipe", "C"], /--recipe must be B48, B or plain, not "C"/],
    ["a fractional seed", ["--seed", "1.5"], /--seed/],
    ["a huge seed", ["--seed", "99999999999999999999"], /--seed/],
    ["a share over a quarter", ["--share", "0.3"], /--share must be above 0 and at most 0\.25/],
    ["no HBM", ["--hbm-gb", "0"], /--hbm-gb/],
    ["an unknown option", ["--polcy", "x"], /unknown option '--polcy'.*--policy/],
    ["an unknown command", ["reply"], /too many arguments|unknown command/],
  ])("%s", async (_, args, reason) => {
    const { code, out, err } = await run(args, neverReplay);
    expect(err).toMatch(reason);
    expect(err.trimEnd().split("\n")).toHaveLength(1);
    expect(err).not.toContain("    at ");
    expect(code).toBe(2);
    expect(out).toBe("");
  });
});

describe("terminals", () => {
  const args = ["--minutes", "5", "--policy", "slicescheduler"];
  const erase = "\r\u001b[K";

  test("a bar that is rewritten where stderr is a terminal, and taken away; nothing elsewhere", async () => {
    const { err } = await runMain(args, { replay: fakeReplay, errIsTerminal: true });
    expect(err).toContain(erase);
    expect(err).toMatch(/slicescheduler █+░+ +20 % {2}2 of 3 requests done/);
    expect(err.lastIndexOf(erase)).toBeGreaterThan(err.lastIndexOf("░"));
    const elsewhere = (await runMain(args, { replay: fakeReplay })).err;
    for (const mark of ["░", "\r", "\u001b"]) expect(elsewhere).not.toContain(mark);
  });

  test("colours only where they are wanted, never in JSON", async () => {
    expect((await runMain(args, { replay: fakeReplay, useColor: true })).out).toContain("\u001b[1m");
    expect((await runMain([...args, "--json"], { replay: fakeReplay, useColor: true })).out).not.toContain("\u001b");
    expect([
      wantsColor(true, undefined),
      wantsColor(true, ""),
      wantsColor(true, "1"),
      wantsColor(false, undefined),
    ]).toEqual([true, true, false, false]);
  });
});

describe("what is not the user's fault", () => {
  test("a broken invariant is one line and exit code 1", async () => {
    const broken: Replay = () => {
      throw new ReplayCheckError("slicescheduler", [{ check: "HBM within capacity", detail: "a0 held 9 B of 8 B" }]);
    };
    const { code, err } = await run(["--policy", "slicescheduler", "--minutes", "1"], broken);
    expect(code).toBe(1);
    expect(err).toContain(
      "error: replay of slicescheduler broke 1 invariant(s): HBM within capacity: a0 held 9 B of 8 B",
    );
  });

  test("an error nobody foresaw keeps its stack and exit code 1", async () => {
    const { code, err } = await run(["--minutes", "1"], neverReplay);
    expect(code).toBe(1);
    expect(err).toContain("internal error, please report it: Error: a replay was started");
  });
});
