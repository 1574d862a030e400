import { expect, test } from "vitest";
import type { Comparison, Figures } from "../evidence/figures.ts";
import { answerSentence } from "./answer.ts";

function figures(name: string, requestsPerSecond: number, more: Partial<Figures> = {}): Figures {
  return {
    name,
    requestsPerSecond,
    tokensPerSecond: null,
    sloAttainment: null,
    ttftMs: { p50: 100, p90: 200, p99: 300 },
    tpotMs: null,
    utilization: 0.5,
    completed: 100,
    requests: 100,
    operators: 1000,
    movedBytes: 0,
    peakHbmShare: 0.5,
    ...more,
  };
}

function sentence(list: readonly Figures[], slo: Comparison["slo"] = null): string {
  return answerSentence({ slo, figures: list }).text.replace(/<[^>]*>/g, "");
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

test("policies that serve the same are told apart by their latency", () => {
  const quick = { ttftMs: { p50: 1, p90: 50, p99: 90 } };
  expect(sentence([figures("a", 1), figures("b", 1.001, quick), figures("c", 0.5)])).toBe(
    "b and a serve the same, 1 requests/s. b is the quickest of them: a p90 time to first token of 50 ms.",
  );
});

test("one policy, and none that serves anything", () => {
  expect(sentence([figures("a", 1, { sloAttainment: 0.9 })], { ttftMs: 250, source: "" })).toBe(
    "a served 100 of 100 requests (1 requests/s) with the accelerators busy 50.0 % of the time. The p90 time to first token is 200 ms. 90.0 % of the most urgent requests are within 250 ms.",
  );
  expect(sentence([figures("a", 0, { requests: 0, completed: 0 })])).toBe("No request was served.");
  expect(sentence([figures("a", 0), figures("b", 0)])).toBe("No request was completed within the window.");
  expect(sentence([figures("a", 0), figures("b", 1)])).toContain(
    "b serves 1 requests/s; no other policy completes any.",
  );
});
