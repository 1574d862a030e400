import type { ReplayOutcome, RequestRecord } from "@slicescheduler/workloads";
import { expect, test } from "vitest";
import type { ReportPolicy } from "../input.ts";
import { madeRecord } from "../record.fixture.ts";
import { htmlReport } from "../report.ts";
import { compare } from "./figures.ts";
import { runOf } from "./run.ts";

/** An arrival each second, every other one of a request that may wait. */
function request(id: number, more: Partial<RequestRecord> = {}): RequestRecord {
  return {
    id,
    class: id % 2 === 0 ? "online" : "offline",
    request: { tenant: 0, arrivalNs: id * 1e9, inputTokens: 100, outputTokens: 2 },
    outcome: "completed",
    startedNs: id * 1e9,
    firstTokenNs: id * 1e9 + 2e8,
    lastTokenNs: id * 1e9 + 3e8,
    tokens: 2,
    tokensInWindow: 2,
    ...more,
  };
}

function outcome(records: readonly RequestRecord[], windowNs: number): ReplayOutcome {
  return {
    policy: "p",
    windowNs,
    endNs: windowNs,
    records,
    offlineOffered: records.filter((it) => it.class === "offline").length,
    accelerators: [],
    busy: { online: [], offline: [] },
    operatorsDone: 0,
    rounds: 0,
    simulatedOperators: 0,
    hostNsPerRound: null,
    leftInGraph: 0,
    standstills: 0,
    audit: [],
  };
}

function replayed(name: string, records: readonly RequestRecord[], windowNs: number): ReportPolicy {
  return { name, record: madeRecord({ endNs: windowNs }), outcome: outcome(records, windowNs) };
}

const requests = (count: number): RequestRecord[] => Array.from({ length: count }, (_, id) => request(id));

function comparisonOf(policies: readonly ReportPolicy[]) {
  const runs = policies.map((policy) => runOf(policy, undefined));
  return compare(runs, { title: "T", policies });
}

test("the same requests in another order, served otherwise, are the same workload", () => {
  const dropped = requests(8).map((it) => (it.class === "offline" ? request(it.id, { outcome: "dropped" }) : it));
  const policies = [replayed("a", requests(8), 10e9), replayed("b", dropped.reverse(), 10e9)];
  expect(comparisonOf(policies).differences).toEqual([]);
});

test("what differs is told: windows, numbers, or the requests themselves", () => {
  const a = replayed("a", requests(8), 10e9);
  expect(comparisonOf([a, replayed("b", requests(90), 120e9)]).differences).toEqual([
    "windows of 10 s and 2 min",
    "4 and 45 requests of the most urgent class",
    "4 and 45 requests that may wait",
  ]);
  const longer = requests(8).map((it) => request(it.id, { request: { ...it.request, inputTokens: 200 } }));
  expect(comparisonOf([a, replayed("b", longer, 10e9)]).differences).toEqual([
    "requests that arrive at other times or are of other lengths",
  ]);
});

test("records alone differ by what was begun of the most urgent class, not by how long it took", () => {
  const begun = (count: number, endNs: number): ReportPolicy["record"] =>
    madeRecord({
      endNs,
      requests: Array.from({ length: count }, (_, id) => ({
        id,
        submittedNs: 0,
        firstTokenNs: 1e8,
        endNs: 1e9,
        tokens: 2,
      })),
    });
  const quick = { name: "quick", record: begun(3, 10e9) };
  expect(comparisonOf([quick, { name: "slow", record: begun(3, 20e9) }]).differences).toEqual([]);
  expect(comparisonOf([quick, { name: "other", record: begun(5, 20e9) }]).differences).toEqual([
    "3 and 5 requests of the most urgent class",
  ]);
  const cut = begun(5, 20e9);
  const unknown = { name: "cut", record: { ...cut, dropped: { ...cut.dropped, requests: 1 } } };
  expect(comparisonOf([quick, unknown]).differences).toEqual([]);
});

test("each counts over its own window, by its own SLO, and static-online's is nobody else's", () => {
  const long = replayed("static-online", requests(90), 120e9);
  const short = { ...replayed("b", requests(8), 10e9), slo: { ttftMs: 150, source: "chosen" } };
  const { figures } = comparisonOf([long, short]);
  expect(figures.map((it) => it.requestsPerSecond)).toEqual([90 / 120, 0.8]);
  expect(figures.map((it) => it.tokensPerSecond)).toEqual([180 / 120, 1.6]);
  expect(figures.map((it) => it.sloAttainment)).toEqual([null, 0]);
  expect(figures.map((it) => it.windowNs)).toEqual([120e9, 10e9]);
});

test("a page of unlike workloads says so first, marks no best, and keeps the facts of each", () => {
  const workload = (value: string) => [{ name: "Online", value }];
  const policies = [
    { ...replayed("a", requests(90), 120e9), workload: workload("90 requests") },
    { ...replayed("b", requests(90), 120e9), workload: workload("90 requests") },
    { ...replayed("c", requests(8), 10e9), workload: workload("8 requests") },
  ];
  const text = htmlReport({ title: "T", policies });
  const answer = /<p class="answer">(.*?)<\/p>/.exec(text)?.[1] ?? "";
  expect(answer).toContain("did not have the same workload");
  expect(text).not.toContain('class="best"');
  const facts = text.slice(0, text.indexOf('id="time"')).replace(/<\/?bdi>/g, "");
  expect(facts).toContain('<h3 class="of">a, b</h3><dl class="facts"><div><dt>Online</dt><dd>90 requests</dd>');
  expect(facts).toContain('<h3 class="of">c</h3><dl class="facts"><div><dt>Online</dt><dd>8 requests</dd>');
  const alike = htmlReport({ title: "T", policies: policies.slice(0, 2) });
  expect(alike).not.toContain('<h3 class="of">');
  expect(alike.match(/90 requests/g)).toHaveLength(1);
});

test("requests that were dropped are offered, told in a box, and wait where they wait", () => {
  const records = requests(8).map((it) =>
    it.id >= 5 && it.class === "offline"
      ? request(it.id, {
          outcome: "dropped",
          startedNs: null,
          firstTokenNs: null,
          lastTokenNs: null,
          tokens: 0,
          tokensInWindow: 0,
        })
      : it,
  );
  const text = htmlReport({ title: "T", policies: [replayed("p", records, 10e9)] });
  expect(text).toContain("6 of 8 requests");
  const caveats = text.slice(text.indexOf('class="caveats"'), text.indexOf('id="time"')).replace(/<\/?bdi>/g, "");
  expect(caveats).toContain("p never began 2 of 8 requests: they still waited when the window ended.");
  expect(caveats).not.toContain("did not complete");
  // 5 waits until the window ends, while 6 is served: two at once. Without the dropped there is never more than one.
  expect(mostAtOnce(text)).toBe(2);
  const unserved = requests(8).map((it) => (it.class === "offline" ? request(it.id, { outcome: "dropped" }) : it));
  const other = htmlReport({ title: "T", policies: [replayed("p", unserved, 10e9)] });
  expect(other).toContain("never began 4 of 8 requests: it served none of their class.");
  expect(mostAtOnce(other)).toBe(1);
});

function mostAtOnce(text: string): number {
  const row = /Most requests at once.*?<\/th><td>.*?<\/td><td>.*?<\/td><td>(\d+)<\/td>/s.exec(text);
  return Number(row?.[1]);
}

test("a label that is the policy's name says nothing of where a record is from", () => {
  const page = (label: string): string =>
    htmlReport({ title: "T", policies: [{ name: "p", record: madeRecord({ endNs: 1e9, label }) }] });
  expect(page("p")).not.toContain("Record of");
  expect(page("p, seed 1").replace(/<\/?bdi>/g, "")).toContain("<dt>Record of p</dt><dd>p, seed 1</dd>");
});

test("a window or an SLO that is none is refused by the name of its policy", () => {
  const one = { name: "p", record: madeRecord({ endNs: 1e9 }) };
  expect(() => htmlReport({ title: "T", policies: [{ ...one, windowNs: -1 }] })).toThrow(/windowNs -1 of "p"/);
  expect(() => htmlReport({ title: "T", policies: [{ ...one, slo: { ttftMs: 0, source: "" } }] })).toThrow(
    /ttftMs 0 of "p"/,
  );
});
