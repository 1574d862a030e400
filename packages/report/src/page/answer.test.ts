import { expect, test } from "vitest";
import type { Comparison, Figures } from "../evidence/figures.ts";
import { answerSentence } from "./answer.ts";
import { answerTable } from "./answer-table.ts";

function figures(name: string, requestsPerSecond: number, more: Partial<Figures> = {}): Figures {
  return {
    name,
    windowNs: 60e9,
    slo: null,
    requestsPerSecond,
    tokensPerSecond: null,
    sloAttainment: null,
    ttftMs: { p50: 100, p90: 200, p99: 300 },
    tpotMs: null,
    utilization: 0.5,
    completed: 100,
    requests: 100,
    dropped: 0,
    operators: 1000,
    movedBytes: 0,
    peakHbmShare: 0.5,
    ...more,
  };
}

function sentence(list: readonly Figures[], differences: Comparison["differences"] = []): string {
  return answerSentence({ figures: list, differences }).text.replace(/<[^>]*>/g, "");
}

/** The cells that are marked as the best, as they are shown, column by column. */
function bestOf(list: readonly Figures[], differences: Comparison["differences"] = []): string[] {
  const { text } = answerTable({ figures: list, differences });
  return [...text.matchAll(/<td class="best">(.*?)<span/g)].map(([, cell = ""]) => cell.replace(/<[^>]*>/g, ""));
}

test("the policy that serves the most, by how much, and what that costs", () => {
  const list = [figures("a", 1, { sloAttainment: 0.9 }), figures("b", 1.5, { sloAttainment: 0.95 })];
  expect(sentence(list)).toBe(
    "b serves 1.5 requests/s, ×1.50 as many as a, the next best. It meets the SLO for 95.0 % of the most urgent requests, more than any other (a for 90.0 %).",
  );
  expect(sentence([figures("a", 1, { sloAttainment: 0.9 }), figures("b", 1.5, { sloAttainment: 0.7 })])).toContain(
    "It meets the SLO for 70.0 % of the most urgent requests, but a for 90.0 %.",
  );
  expect(sentence([figures("a", 1, { sloAttainment: 0.9 }), figures("b", 1.5, { sloAttainment: 0.905 })])).toContain(
    "about as many as the best of the others (a for 90.0 %)",
  );
  expect(sentence([figures("a", 1), figures("b", 1.5)])).toContain(
    "Its p90 time to first token is 200 ms; the shortest of the others is 200 ms.",
  );
});

test("the cost in single tokens is told beside the gain, where there is one", () => {
  const tpot = (p99: number): Partial<Figures> => ({ tpotMs: { p50: 40, p90: 42, p99 } });
  const a = figures("a", 1, { sloAttainment: 0.9, ...tpot(42.4) });
  const cost = " Its cost: a p99 time per output token of 327 ms, where a has 42.4 ms.";
  expect(sentence([a, figures("b", 1.5, { sloAttainment: 1, ...tpot(326.8) })])).toBe(
    `b serves 1.5 requests/s, ×1.50 as many as a, the next best. It meets the SLO for 100.0 % of the most urgent requests, more than any other (a for 90.0 %).${cost}`,
  );
  expect(sentence([a, figures("b", 1, { ttftMs: { p50: 1, p90: 50, p99: 90 }, ...tpot(326.8) })])).toContain(
    `a p90 time to first token of 50 ms.${cost}`,
  );
  expect(sentence([a, figures("b", 1.5, tpot(43))])).not.toContain("cost");
  expect(sentence([a, figures("b", 1.5)])).not.toContain("cost");
  expect(answerTable({ figures: [a], differences: [] }).text).toMatch(/TPOT: the time per output token.*TPOT p99/s);
  expect(answerTable({ figures: [figures("a", 1)], differences: [] }).text).not.toContain("TPOT:");
});

test("policies that serve the same are told apart by their latency", () => {
  const quick = { ttftMs: { p50: 1, p90: 50, p99: 90 } };
  expect(sentence([figures("a", 1), figures("b", 1.001, quick), figures("c", 0.5)])).toBe(
    "b and a serve the same, 1 requests/s. b is the quickest of them: a p90 time to first token of 50 ms.",
  );
});

test("one policy, and none that serves anything", () => {
  expect(sentence([figures("a", 1, { sloAttainment: 0.9, slo: { ttftMs: 250, source: "" } })])).toBe(
    "a served 100 of 100 requests (1 requests/s) with the accelerators busy 50.0 % of the time. The p90 time to first token is 200 ms. 90.0 % of the most urgent requests are within 250 ms.",
  );
  expect(sentence([figures("a", 0, { requests: 0, completed: 0 })])).toBe("No request was served.");
  expect(sentence([figures("a", 0), figures("b", 0)])).toBe("No request was completed within the window.");
  expect(sentence([figures("a", 0), figures("b", 1)])).toContain(
    "b serves 1 requests/s; no other policy completes any.",
  );
});

test("the best of a column is what looks best: of equal texts none or all, of unlike workloads none", () => {
  const tpot = (p90: number): Partial<Figures> => ({ tpotMs: { p50: 1, p90, p99: 300 } });
  const list = [figures("a", 1, tpot(126.2)), figures("b", 2, tpot(125.8)), figures("c", 1.5, tpot(126.4))];
  expect(bestOf(list)).toEqual(["2"]);
  expect(bestOf([...list, figures("d", 1, tpot(131))])).toEqual(["126 ms", "2", "126 ms", "126 ms"]);
  expect(bestOf(list, ["windows of 2 min and 10 s"])).toEqual([]);
  expect(bestOf(list.slice(0, 1))).toEqual([]);
});

test("of unlike workloads it is said what differs, and each has its own window and SLO", () => {
  const list = [
    figures("a", 1, { windowNs: 120e9, slo: { ttftMs: 250, source: "chosen" } }),
    figures("b", 2, { windowNs: 10e9, slo: { ttftMs: 400, source: "the p90 TTFT of static-online" } }),
    figures("c", 2, { windowNs: 10e9 }),
  ];
  expect(sentence(list, ["windows of 2 min and 10 s"])).toBe(
    "These runs did not have the same workload: windows of 2 min and 10 s. Each figure holds for its own run; none is called the best.",
  );
  const text = answerTable({ figures: list, differences: ["windows of 2 min and 10 s"] }).text;
  expect(text).toContain("of at most 250 ms (chosen), or 400 ms (the p90 TTFT of static-online)");
  const cells = [...text.matchAll(/<tr><th scope="row">.*?<\/th><td>(.*?)<\/td><td>(.*?)<\/td>/g)];
  expect(cells.map(([, window, slo]) => [window, slo])).toEqual([
    ["2 min", "250 ms"],
    ["10 s", "400 ms"],
    ["10 s", "–"],
  ]);
  expect(text).not.toContain("<svg");
});
