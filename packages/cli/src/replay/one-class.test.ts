/** Workloads with nothing online, with one request online, with nothing offline: replayed, reported, compared. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeSavedReplay, encodeSavedReplay } from "../saved/saved-replay.ts";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const at = (name: string): string => join(dir, name);
const text = (name: string): string => readFileSync(at(name), "utf8");
const offlineOnly = ["replay", "--trace", "off.jsonl", "--recipe", "plain", "--offline-class", "batch"];

beforeAll(async () => {
  const rows = [0, 2e10].map((arrivalNs) => ({
    arrivalNs,
    inputTokens: 800,
    outputTokens: 4,
    tenant: "a",
    class: "batch",
  }));
  writeFileSync(at("off.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  writeFileSync(at("one.csv"), "arrivalNs,inputTokens,outputTokens\n0,300,4\n");
  const { code, out } = await run([...offlineOnly, "--record", "off.run", "--report", "off.html"]);
  writeFileSync(at("off.txt"), out);
  expect(code).toBe(0);
});

describe("no online request", () => {
  test("the default policies serve the offline ones; there is no threshold, and no share of requests within it", async () => {
    const table = text("off.txt");
    expect(table).toMatch(/offline completed in the window +2 of 2 +2 of 2\n/);
    expect(table).toMatch(/\nSLO attainment +– +–\n/);
    expect(table).toContain("SLO attainment –");
    expect(table).not.toContain("at an online TPOT");
    const { slo, policies, ratios } = JSON.parse((await run([...offlineOnly, "--json"])).out);
    expect([slo, policies.slicescheduler.sloAttainment]).toEqual([null, null]);
    expect(ratios["static-online"].sloAttainmentDelta).toBeNull();
    const seeds = await run([...offlineOnly, "--seeds", "2", "--policy", "slicescheduler"]);
    expect([seeds.code, seeds.out]).toEqual([0, expect.stringContaining("SLO attainment –, TTFT p50 –")]);
  });

  test("it is reported, alone and beside others; the page has no threshold", async () => {
    expect(text("off.html")).not.toMatch(/SLO: a time|line is the SLO/);
    expect((await run([...tinyReplay, "--record", "tiny.run"])).code).toBe(0);
    expect((await run(["report", "tiny.run", "off.run", "-o", "both.html"])).code).toBe(0);
    expect(text("both.html")).toContain("SLO: a time to first token (TTFT) of at most");
    expect((await run(["compare", "tiny.run", "off.run"])).out).toMatch(
      /tiny\.run: TTFT ≤ \d+ ms\n {2}off\.run: none\n/,
    );
  });

  test("as earlier releases saved it, with a threshold of 0, it is read as one without", async () => {
    const saved = decodeSavedReplay(new Uint8Array(readFileSync(at("off.run"))), "off.run");
    const policies = Object.entries(saved.report.policies).map(([name, of]) => [name, { ...of, sloAttainment: 0 }]);
    const slo = { ttftMs: 0, source: "serial-server" } as const;
    const report = { ...saved.report, slo, policies: Object.fromEntries(policies) };
    writeFileSync(at("old.run"), encodeSavedReplay({ ...saved, report }));
    writeFileSync(at("old.json"), JSON.stringify(report));
    expect((await run(["report", "old.run", "-o", "old.html"])).code).toBe(0);
    const { columns } = JSON.parse((await run(["compare", "old.run", "old.json", "--json"])).out);
    for (const { figures } of columns) expect(figures.sloAttainment).toBeNull();
  });
});

test("one online request: whose TTFT is the threshold has reached it", async () => {
  const { out } = await run(["replay", "--trace", "one.csv", "--recipe", "plain"]);
  expect(out).toMatch(/SLO attainment \(TTFT ≤ \d+ ms, static-online\) +1\.000 /);
});

test("the closing lines tell what online requests pay, and how many offline ones were served in all", async () => {
  const { out } = await run(tinyReplay);
  expect(out).toMatch(
    /slicescheduler over static-online\n {2}requests\/s .*\n {2}at an online TPOT of p90 ×\d+\.\d\d \(\d+\.\d → \d+\.\d ms\), p99 ×\d+\.\d\d \(/,
  );
  expect(out).toMatch(/offline completed in the window +0 of 2 +\d of 2 \(2 of 2 with the drain\)\n/);
});
