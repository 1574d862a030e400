/** What `compare` says of results that are alike and of results that are not. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fakeReplay } from "../main.fixture.ts";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
beforeAll(async () => {
  const { out } = await run([...tinyReplay, "--json"], { replay: fakeReplay });
  writeFileSync(join(dir, "a.json"), out);
  const changed = JSON.parse(out);
  changed.policies["static-online"].sloAttainment = 0.6;
  changed.policies["slicescheduler"].sloAttainment = 0.75;
  writeFileSync(join(dir, "b.json"), JSON.stringify(changed));
  const short = await run([...tinyReplay, "--json", "--minutes", "0.005"], { replay: fakeReplay });
  writeFileSync(join(dir, "short.json"), short.out);
});

test("shares by points, as `replay` has them; rates by percent", async () => {
  const { out } = await run(["compare", "b.json"]);
  expect(out).toMatch(/SLO attainment +0\.600 +0\.750 +\+15\.0 pt\n/);
  expect(out).toMatch(/utilisation, mean +0\.250 +0\.500 +\+25\.0 pt\n/);
  expect(out).toMatch(/requests\/s +[\d.]+ +[\d.]+ +\+33\.3 %\n/);
});

test("other requests and other thresholds are told, file by file; equal ones are not", async () => {
  expect((await run(["compare", "a.json", "b.json"])).out).not.toContain("not the same");
  const { out } = await run(["compare", "a.json", "short.json"]);
  expect(out).toMatch(
    /The requests are not the same:\n {2}a\.json: 0\.03 min, tiny\.csv, 4 online .*\n {2}short\.json: 0\.01 min, /,
  );
  const text = JSON.parse((await run(["compare", "a.json", "--json"])).out);
  expect(text.columns).toHaveLength(2);
});
