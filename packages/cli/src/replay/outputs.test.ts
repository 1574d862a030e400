/** What a replay leaves behind, and what the other commands make of it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import { chromeTraceFaults, decodeRunRecord, encodeRunRecord } from "@slicescheduler/timeline";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { decodeSavedReplay } from "../saved/saved-replay.ts";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const at = (name: string): string => join(dir, name);
const bytes = (name: string): Uint8Array => new Uint8Array(readFileSync(at(name)));
const text = (name: string): string => readFileSync(at(name), "utf8");

beforeAll(async () => {
  const outputs = ["--record", "out.run", "--timeline", "t.json", "--report", "r.html", "--event-log", "e.jsonl"];
  const { code, err } = await run([...tinyReplay, ...outputs]);
  expect(err).toContain("wrote t.slicescheduler.json");
  expect(code).toBe(0);
  writeFileSync(at("result.json"), (await run([...tinyReplay, "--json"])).out);
});

describe("replay", () => {
  test("plain: every request of the trace, its tenants and its offline ones, and no steady load", () => {
    const { workload, policies } = JSON.parse(text("result.json"));
    expect(workload).toMatchObject({
      recipe: "plain",
      source: "trace",
      files: { arrivals: "tiny.csv", lengths: "tiny.csv" },
      online: { requests: 4, perInstance: [2, 1, 1] },
      offline: { requests: 2, inputTokens: 2048, outputTokens: 2.5 },
    });
    expect(policies.slicescheduler).toMatchObject({ onlineCompleted: 4, offlineOffered: 2 });
  });

  test("a timeline by policy that keeps to the rules of the format, with every operator in it", () => {
    for (const policy of ["static-online", "slicescheduler"]) {
      const json = text(`t.${policy}.json`);
      expect(chromeTraceFaults(json)).toEqual([]);
      const { operators } = JSON.parse(text("result.json")).policies[policy];
      const events: { ph: string; name?: string }[] = JSON.parse(json).traceEvents;
      const slices = events.filter(({ ph, name }) => (ph === "X" || ph === "B") && name?.includes("layers"));
      expect(slices).toHaveLength(operators);
    }
  });

  test("a gantt on stdout, above the comparison; none beside --json", async () => {
    const { out } = await run([...tinyReplay, "--gantt", "--policy", "slicescheduler"]);
    expect(out.indexOf("HBM")).toBeGreaterThan(out.indexOf("slicescheduler"));
    expect(out).toContain("offline");
    const { out: json } = await run([...tinyReplay, "--gantt", "--json"]);
    expect(json.trimEnd().split("\n")).toHaveLength(1);
  });

  test("a cluster: the fewest accelerators that fit, durations by roofline, faster where the rates are", async () => {
    const ttft: number[] = [];
    for (const cluster of ["l40s-node", "h100-node"]) {
      const { out, code } = await run([...tinyReplay, "--cluster", cluster, "--json", "--policy", "static-online"]);
      expect(code).toBe(0);
      const { workload, policies } = JSON.parse(out);
      expect(workload.cluster).toMatchObject({ name: cluster, instanceAccelerators: 1, durations: "roofline" });
      ttft.push(policies["static-online"].ttftMs.p50);
    }
    const [slow = 0, fast = 0] = ttft;
    // A prefill is bound by FLOP/s: 362 to 989.5 T.
    expect(slow / fast).toBeGreaterThan(2.2);
    expect(slow / fast).toBeLessThan(3.2);
  });

  test("where the model does not fit, the error says by how much and what to do", async () => {
    const { code, err } = await run([...tinyReplay, "--cluster", "l4", "--instance-accelerators", "2"]);
    expect([code, err]).toEqual([2, expect.stringMatching(/cluster must be one with room for an instance of 2/)]);
    writeFileSync(
      at("small.yaml"),
      "accelerators: [{ name: a, kind: k, hbm: 8GB, flops: 1TFLOP/s, hbmBandwidth: 1TB/s }]",
    );
    const small = await run([...tinyReplay, "--cluster", "small.yaml"]);
    expect(small.code).toBe(2);
    expect(small.err).toMatch(
      /does not fit accelerator a: 16\.06 GB of weights .* exceed 8\.00 GB .*take accelerators with more HBM/,
    );
  });

  test("a workload file, and options that go before it", async () => {
    writeFileSync(at("w.yaml"), "trace: tiny.csv\nrecipe: plain\nminutes: 0.01\npolicies: [slicescheduler]\nseed: 5\n");
    const json = JSON.parse((await run(["--workload", "w.yaml", "--json"])).out);
    expect(json).toMatchObject({ seeds: [5], workload: { minutes: 0.01, online: { requests: 3 } } });
    expect(Object.keys(json.policies)).toEqual(["slicescheduler"]);
    const other = JSON.parse((await run(["--workload", "w.yaml", "--json", "--seed", "9"])).out);
    expect(other.seeds).toEqual([9]);
  });

  test("a file that cannot be written is told in a line", async () => {
    const { code, err } = await run([...tinyReplay, "--policy", "static-online", "--timeline", "no/such/t.json"]);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/error: .*t\.json: cannot be written \(its folder does not exist\)/),
    ]);
  });
});

describe("saved replays", () => {
  test("hold what was there: figures, requests, records", () => {
    const saved = decodeSavedReplay(bytes("out.run"), "out.run");
    expect(saved.report).toEqual(JSON.parse(text("result.json")));
    expect(saved.replays.map(({ policy }) => policy)).toEqual(["static-online", "slicescheduler"]);
    for (const { record, outcome } of saved.replays) {
      expect(record.operators.count).toBe(outcome.operatorsDone);
      const tokens = record.requests.tokens.reduce((a, b) => a + b, 0);
      expect(tokens).toBe(outcome.records.reduce((sum, request) => sum + request.tokens, 0));
    }
  });

  test("compare: beside results of --json the same figures; policies that no file has are told", async () => {
    const { out } = await run(["compare", "out.run", "result.json", "--json"]);
    const { columns } = JSON.parse(out);
    expect(columns.map(({ file, policy }: { file: string; policy: string }) => `${file} ${policy}`)).toEqual([
      "out.run static-online",
      "out.run slicescheduler",
      "result.json static-online",
      "result.json slicescheduler",
    ]);
    expect(columns[0].figures).toEqual(columns[2].figures);
    const table = (await run(["compare", "out.run"])).out;
    expect(table).toMatch(/operators +56 +76 +\+35\.7 %/);
    expect(table).toMatch(/online completed +4 +4 +=/);
    const { code, err } = await run(["compare", "out.run", "--policy", "dual-share"]);
    expect([code, err]).toEqual([2, expect.stringMatching(/no file has it; there are static-online, slicescheduler/)]);
  });

  test("compare and report: a bare run record, with what it knows", async () => {
    const [saved] = decodeSavedReplay(bytes("out.run"), "out.run").replays;
    if (saved === undefined) throw new TypeError("nothing was saved");
    writeFileSync(at("bare.run"), encodeRunRecord({ ...saved.record, label: "mine" }));
    expect(decodeRunRecord(bytes("bare.run")).label).toBe("mine");
    const { columns } = JSON.parse((await run(["compare", "bare.run", "--json"])).out);
    const busy = saved.outcome.accelerators.reduce((sum, one) => sum + one.utilization, 0) / 8;
    expect(columns[0]).toMatchObject({
      policy: "mine",
      source: "record",
      figures: { sloAttainment: null, onlineCompleted: 4 },
    });
    expect(columns[0].figures.utilization).toBeGreaterThan(busy / 3);
    const report = JSON.parse((await run(["report", "bare.run", "out.run", "-o", "many.html", "--json"])).out);
    expect(report).toMatchObject({ file: "many.html", policies: ["mine", "static-online", "slicescheduler"] });
    expect(text("many.html")).toMatch(/^<!doctype html>/i);
  });

  test("report: the page of `replay --report`, again", async () => {
    expect((await run(["report", "out.run", "-o", "again.html"])).code).toBe(0);
    expect(text("again.html")).toBe(text("r.html"));
    const { code, err } = await run(["report", "result.json"]);
    expect([code, err]).toEqual([2, expect.stringContaining("save the replay with --record")]);
  });

  test.prop([fc.nat(), fc.uint8Array({ maxLength: 8 }), fc.nat(9)], { numRuns: 60 })(
    "bytes that were changed or cut off: an error that says where, or a replay that is whole",
    (position, by, cut) => {
      const good = bytes("out.run");
      const start = position % good.length;
      const changed = cut === 0 ? good.slice(0, start) : good.slice();
      changed.set(by.subarray(0, changed.length - Math.min(start, changed.length)), Math.min(start, changed.length));
      try {
        decodeSavedReplay(changed, "f.run");
      } catch (error) {
        expect((error as { code?: string }).code).toBe("SAVED_REPLAY_INVALID");
        expect((error as Error).message).toMatch(/^f\.run: byte \d+: /);
      }
    },
  );

  test.prop([fc.oneof(fc.json(), fc.string(), fc.uint8Array({ maxLength: 40 }))])(
    "any file is told, not run into",
    async (content) => {
      writeFileSync(at("any"), content);
      const { code, err } = await run(["compare", "any"]);
      expect(code).toBe(2);
      expect(err).toMatch(/^error: any:/);
    },
  );
});

describe("inspect", () => {
  test("an event log at a moment: what runs, what waits and for what, who has the memory", async () => {
    const { code, out } = await run(["inspect", "e.slicescheduler.jsonl", "--at", "320ms"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^at 3\d\d(\.\d+)? ms: 4 requests/);
    expect(out).toMatch(/runs {4}llama3-8b\/prefill\/layers0-7 of instance \d+ \(request \d+, online\), for /);
    expect(out).toContain("waits for");
    expect(out).toContain("weights of");
    const json = JSON.parse((await run(["inspect", "e.slicescheduler.jsonl", "--at", "320ms", "--json"])).out);
    expect(json.accelerators).toHaveLength(8);
  });

  test("an instance, and a decision with its candidates; what is not there is told", async () => {
    const instance = await run(["inspect", "e.slicescheduler.jsonl", "--at", "100ms", "--instance", "1"]);
    expect(instance.out).toMatch(/^at \d[\d.]* ms\ninstance 1:/);
    expect(instance.out).not.toContain("HBM");
    const decision = await run(["inspect", "e.slicescheduler.jsonl", "--decision", "1"]);
    expect(decision.out).toMatch(/^decision 1 at 0 ns: .*of \d+ candidates?\n/);
    expect(decision.out).toContain("chosen");
    const none = await run(["inspect", "e.slicescheduler.jsonl", "--decision", "99999"]);
    expect([none.code, none.err]).toEqual([2, expect.stringContaining("there is no decision 99999")]);
  });

  test("the decisions that had a choice, of a log and of a saved replay, and all that a record kept", async () => {
    const { out } = await run(["inspect", "e.slicescheduler.jsonl", "--decisions", "--list", "2"]);
    expect(out).toMatch(/^(?:decision \d+ at .*, of \d+ candidates\n){2}and \d+ more; --list \d+ writes them all\n$/);
    const saved = ["inspect", "out.run", "--policy", "slicescheduler", "--json"];
    const choices = JSON.parse((await run([...saved, "--decisions"])).out);
    expect(choices.decisionsWithChoice).toBeGreaterThan(2);
    for (const { candidates } of choices.decisions) expect(candidates.length).toBeGreaterThan(1);
    const all = JSON.parse((await run([...saved, "--list", "100000"])).out);
    expect(all.decisions.length).toBeGreaterThan(choices.decisionsWithChoice);
    expect(all.decisions).toHaveLength(all.decisionsSeen);
    expect(JSON.parse((await run([...saved, "--list", "3"])).out).decisions).toHaveLength(3);
    const pinned = await run(["inspect", "out.run", "--policy", "static-online", "--decisions"]);
    expect([pinned.code, pinned.out]).toEqual([0, "no decision had several candidates\n"]);
    const both = await run(["inspect", "out.run", "--decisions", "--decision", "1"]);
    expect([both.code, both.err]).toEqual([2, expect.stringContaining("it goes with none of")]);
  });

  test("a timeline from the log is that of the saved replay", async () => {
    const span = ["--gantt", "--from", "0", "--to", "2s"];
    const fromLog = await run(["inspect", "e.slicescheduler.jsonl", ...span]);
    const fromSaved = await run(["inspect", "out.run", "--policy", "slicescheduler", ...span]);
    expect(fromLog.code).toBe(0);
    expect(fromSaved.out).toContain("a0");
    const operators = (out: string): string[] => out.split("\n").filter((line) => /^a\d/.test(line));
    expect(operators(fromLog.out)).toEqual(operators(fromSaved.out));
  });

  test("a log that was cut off says so; several policies want a name; faults of options come together", async () => {
    const log = text("e.slicescheduler.jsonl");
    writeFileSync(at("cut.jsonl"), log.slice(0, Math.floor(log.length / 2)));
    const cut = await run(["inspect", "cut.jsonl"]);
    expect([cut.code, cut.err]).toEqual([0, "cut.jsonl: its last line was cut off, and is left out\n"]);
    const several = await run(["inspect", "out.run"]);
    expect([several.code, several.err]).toEqual([
      2,
      expect.stringContaining("name one with --policy: static-online, slicescheduler"),
    ]);
    const faults = await run(["inspect", "out.run", "--at", "soon", "--instance", "x", "--from", "1s"]);
    expect(faults.err.trimEnd().split("\n")).toHaveLength(3);
  });

  test("what is none of these", async () => {
    writeFileSync(at("foreign.json"), '{"format": "slicescheduler.graph", "version": 99}');
    expect((await run(["inspect", "foreign.json"])).err).toMatch(/^error: .*version/s);
    writeFileSync(at("text.txt"), "hello");
    expect((await run(["inspect", "text.txt"])).err).toMatch(
      /text\.txt: is no event log, snapshot, saved replay or run record/,
    );
    expect((await run(["inspect", "nowhere"])).err).toMatch(/no such file/);
    expect((await run(["inspect", "."])).err).toMatch(/is a folder/);
  });
});
