/** A log of one's own in a replay: whose requests, which may wait, by which recipe, and files that would be lost. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replay } from "@slicescheduler/workloads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeReplay, neverReplay } from "../main.fixture.ts";
import type { ReplayReport } from "../replay/json.ts";
import { tinyWorkload } from "../tiny-workload.fixture.ts";
import { serviceOf } from "./report-page.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const at = (name: string): string => join(dir, name);
const text = (name: string): string => readFileSync(at(name), "utf8");

/** As the tutorial's, in the canonical form: two services, of which one may wait. */
const header = "arrivalNs,inputTokens,outputTokens,tenant,class";
beforeAll(() => {
  const rows = ["0,812,4,chat,chat", "400000000,220,3,chat,chat", "900000000,300,3,batch,batch"];
  writeFileSync(at("log.csv"), `${[header, ...rows, "2200000000,512,2,chat,chat"].join("\n")}\n`);
});
const plain = ["replay", "--trace", "log.csv", "--recipe", "plain"];
const json = async (...args: string[]): Promise<ReplayReport> => JSON.parse((await run([...args, "--json"])).out);

describe("tenants of the trace", () => {
  test("are named in the event log, the timeline, the report and the result; the figures are those of the same log without names", async () => {
    const one = [...plain, "--policy", "slicescheduler", "--offline-class", "batch"];
    const outputs = ["--event-log", "named.jsonl", "--timeline", "named.json", "--record", "named.run"];
    const { code, out } = await run([...one, ...outputs, "--json"]);
    expect(code).toBe(0);
    const labels = [...text("named.jsonl").matchAll(/"type":"requestOpened".*?"label":"([^"]*)"/g)].map(([, it]) => it);
    expect(labels.sort()).toEqual(["offline batch", "online chat", "online chat", "online chat"]);
    expect(text("named.json")).toContain("online chat");
    const inspected = await run(["inspect", "named.jsonl", "--at", "50ms"]);
    expect(inspected.out).toContain('"online chat"');
    const report: ReplayReport = JSON.parse(out);
    expect(report.workload.online).toMatchObject({ perInstance: [3], tenants: ["chat"] });
    writeFileSync(at("nameless.csv"), text("log.csv").replaceAll(/,(chat|batch),/g, ",,"));
    const nameless = await json(...one.map((word) => (word === "log.csv" ? "nameless.csv" : word)));
    expect(nameless.policies).toEqual(report.policies);
    expect(nameless.workload.online).not.toHaveProperty("tenants");
  });

  test("by label: the name, of either class; without a name what the label says", () => {
    const labels = ["online chat", "offline batch", "online instance 0", "offline", "online online", "online a\nb", ""];
    expect(labels.map(serviceOf)).toEqual(["chat", "batch", "instance 0", "offline", "online", "a\nb", ""]);
  });

  test("a steady load beside them is nobody's", async () => {
    writeFileSync(at("steady.yaml"), "offline: { requestsPerSecond: 1, inputTokens: 100, outputTokens: 2 }\n");
    const args = [...plain, "--workload", "steady.yaml", "--offline-class", "batch", "--policy", "slicescheduler"];
    expect((await run([...args, "--event-log", "steady.jsonl"])).code).toBe(0);
    const labels = text("steady.jsonl").match(/"label":"offline[^"]*"/g) ?? [];
    expect(labels.sort()).toEqual(['"label":"offline batch"', ...new Array(3).fill('"label":"offline"')]);
  });
});

describe("classes that may wait", () => {
  test("are named; where the trace has classes and nobody names one, that is told", async () => {
    const all = await run([...plain, "--json"], { replay: fakeReplay });
    expect(all.err).toContain('none may wait; --offline-class names those that may: "chat", "batch"');
    expect(JSON.parse(all.out).workload).toMatchObject({ online: { requests: 4 }, offline: { requests: 0 } });
    const some = await run([...plain, "--json", "--offline-class", "batch"], { replay: fakeReplay });
    expect(some.err).not.toContain("may wait");
    expect(JSON.parse(some.out).workload).toMatchObject({ online: { requests: 3 }, offline: { requests: 1 } });
    const none = await run([...plain, "--offline-class", "batch,chat", "--json"], { replay: fakeReplay });
    expect(JSON.parse(none.out).workload).toMatchObject({ online: { requests: 0 }, offline: { requests: 4 } });
  });

  test.each<[string[], RegExp]>([
    [
      [...plain, "--offline-class", "bacth"],
      /no request is of that class; did you mean "batch"\? there are "chat", "batch"/,
    ],
    [["replay", "--offline-class", "batch"], /--offline-class is of recipe plain/],
    [["replay", "--recipe", "plain", "--profile", "p.json", "--offline-class", "b"], /a profile has no classes/],
    [[...plain, "--offline-class", "batch,"], /--offline-class must be a name or a comma list of names, not ""/],
  ])("%j", async (args, reason) => {
    const { code, err, out } = await run(args, { replay: neverReplay });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(reason);
  });
});

describe("recipes", () => {
  test("a log that the default recipe is not made for: it is told, with what to do", async () => {
    const none = await run(["replay", "--trace", "log.csv"], { replay: neverReplay });
    expect([none.code, none.err]).toEqual([
      2,
      expect.stringMatching(/keeps none of 4 arrivals.*--recipe plain replays it as it is\n$/),
    ]);
    writeFileSync(at("foreign.csv"), "ts,prompt,answer\n0,1,2\n");
    const foreign = await run(["replay", "--trace", "foreign.csv"], { replay: neverReplay });
    expect([foreign.code, foreign.err]).toEqual([
      2,
      expect.stringMatching(/foreign\.csv:1: wrong header .*`slicescheduler convert --columns`.*--recipe plain\n$/),
    ]);
    const few = ["replay", "--trace", "log.csv", "--share", "0.25", "--json"];
    const { err, code } = await run(few, { replay: fakeReplay });
    expect(code).toBe(0);
    expect(err).toMatch(
      /this one has 0\.04 min, and \d of its 4 requests are kept\. --recipe plain replays it as it is\./,
    );
    expect((await run([...few, "--recipe", "B48"], { replay: fakeReplay })).err).not.toContain("--recipe plain");
  });

  test("a profile of one's own log as it is: its length, its rate, lengths uncut, one service; other requests for another seed", async () => {
    const rows = Array.from({ length: 209 }, (_, i) => `${i * 5e8},${100 + i},${60 + (i % 7)},,`);
    writeFileSync(at("long.csv"), `${[header, ...rows].join("\n")}\n`);
    expect((await run(["profile", "long.csv", "-o", "long.json"])).code).toBe(0);
    const args = ["replay", "--profile", "long.json", "--recipe", "plain", "--policy", "static-online"];
    const { out, err } = await run([...args, "--json"], { replay: fakeReplay });
    const { workload } = JSON.parse(out);
    expect(workload).toMatchObject({ recipe: "plain", generated: true, offline: { requests: 0 } });
    expect(workload.minutes * 60).toBe(100);
    expect(workload.online.perInstance).toHaveLength(1);
    expect(workload.online.requests).toBeGreaterThan(150);
    expect(workload.online.requests).toBeLessThan(250);
    expect(workload.online.outputTokensMean).toBeGreaterThan(59);
    expect(err).toContain("GENERATED from the profile long");
    const rates = JSON.parse(text("long.json"));
    rates.arrivals = { ...rates.arrivals, windowSeconds: 100, requestsPerSecond: [21_000] };
    writeFileSync(at("huge.json"), JSON.stringify(rates));
    const huge = ["replay", "--profile", "huge.json", "--recipe", "plain"];
    const refused = await run(huge, { replay: neverReplay });
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringMatching(/a profile of at most 2000000 requests in the window; --minutes shortens it/),
    ]);
    const short = JSON.parse((await run([...args, "--json", "--minutes", "0.5"], { replay: fakeReplay })).out);
    expect(short.workload.online.requests).toBeLessThan(100);
    const other = JSON.parse((await run([...args, "--json", "--seed", "2"], { replay: fakeReplay })).out);
    expect(other.workload.online.inputTokensMean).not.toBe(workload.online.inputTokensMean);
    const words = (await run(args, { replay: fakeReplay })).out;
    expect(words).toContain("GENERATED from the profile long");
    expect(words).not.toMatch(/no trace given|not stated/);
    const owned = ["profile", "long.csv", "--attribution", "our gateway", "-o", "owned.json"];
    expect((await run(owned)).code).toBe(0);
    const again = args.map((word) => (word === "long.json" ? "owned.json" : word));
    expect((await run(again, { replay: fakeReplay })).out).toContain("  measured from: our gateway\n");
  });
});

describe("files", () => {
  test.each<[string[], RegExp]>([
    [["--record", "no/such/out.run"], /out\.run: cannot be written \(its folder does not exist\)/],
    [["--event-log", "no/such/e.jsonl"], /e\.static-online\.jsonl: cannot be written/],
    [["--report", "."], /\.: cannot be written \(it is a folder\)/],
    [["--record", "log.csv"], /--record log\.csv is the file that is read as --trace log\.csv/],
    [["--record", "x", "--report", "./x"], /--report \.\/x is the file that --record x is written to/],
    [
      ["--timeline", "same", "--record", "same.slicescheduler"],
      /--timeline same\.slicescheduler is the file that --record/,
    ],
  ])("%j is told before anything is replayed, and nothing is touched", async (outputs, reason) => {
    const before = text("log.csv");
    const { code, err, out } = await run([...plain, ...outputs], { replay: neverReplay });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(reason);
    expect(text("log.csv")).toBe(before);
    expect(existsSync(at("x"))).toBe(false);
  });

  test("an input is one by whatever name: a workload file, a cluster, what a folder of traces holds", async () => {
    writeFileSync(at("w.yaml"), "trace: log.csv\nrecipe: plain\n");
    writeFileSync(
      at("c.yaml"),
      "accelerators: [{ name: a, kind: k, hbm: 80GB, flops: 1TFLOP/s, hbmBandwidth: 1TB/s }]\n",
    );
    symlinkSync(at("w.yaml"), at("link.yaml"));
    mkdirSync(at("traces"), { recursive: true });
    writeFileSync(at("traces/conv.csv"), "");
    for (const [args, reason] of [
      [["replay", "--workload", "w.yaml", "--record", "link.yaml"], /is read as --workload w\.yaml/],
      [[...plain, "--cluster", "c.yaml", "--report", "c.yaml"], /is read as --cluster c\.yaml/],
      [["replay", "--trace", "traces", "--record", "traces/conv.csv"], /is read as --trace traces/],
    ] as const) {
      const { code, err } = await run(args, { replay: neverReplay });
      expect([code, err]).toEqual([2, expect.stringMatching(reason)]);
    }
  });

  test("what goes wrong while writing costs neither the figures nor the other files", async () => {
    mkdirSync(at("gone"));
    const thenGone: typeof replay = (options) => {
      const outcome = replay(options);
      rmSync(at("gone"), { recursive: true, force: true });
      return outcome;
    };
    const outputs = ["--record", "gone/out.run", "--timeline", "kept.json"];
    const { code, out, err } = await run([...plain, "--policy", "static-online", ...outputs], { replay: thenGone });
    expect(code).toBe(2);
    expect(out).toMatch(/online completed +4 of 4/);
    expect(err).toMatch(/wrote kept\.json\n.*gone\/out\.run: cannot be written/s);
    expect(existsSync(at("kept.json"))).toBe(true);
  });

  test("an event log that was changed is told from a good one", async () => {
    expect((await run([...plain, "--policy", "slicescheduler", "--event-log", "good.jsonl"])).code).toBe(0);
    const good = text("good.jsonl");
    expect((await run(["inspect", "good.jsonl"])).code).toBe(0);
    const changed = good.replace(/("check":\{[^}]*"partition":")[^"]+/, "$1elsewhere");
    expect(changed).not.toBe(good);
    writeFileSync(at("changed.jsonl"), changed);
    const { code, err } = await run(["inspect", "changed.jsonl"]);
    expect([code, err]).toEqual([2, expect.stringMatching(/^error: .*elsewhere/)]);
  });
});

test("the report's title says what was tried on what, its facts what the recipe is", async () => {
  const args = [...plain, "--cluster", "h100-node", "--report", "r.html"];
  expect((await run(args)).code).toBe(0);
  const page = text("r.html");
  expect(page).toContain(
    "<title>static-online and slicescheduler on h100-node: 3 seconds of requests, replayed</title>",
  );
  expect(page).toContain("recipe plain: every request as it is");
});
