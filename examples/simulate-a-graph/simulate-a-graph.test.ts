import { readStg, simulateDag } from "@slicescheduler/simulator";
import { expect, test } from "vitest";
import { gantt } from "./gantt.ts";
import { chart, complaint, graphs } from "./simulate-a-graph.ts";

const charts = Object.fromEntries(Object.entries(graphs).map(([file, read]) => [file, chart(read())]));

test("a list of operators in JSON", () => {
  expect(charts["two-stages.json"]).toBe(
    [
      "gpu0 |embed····|lower······················|other···············",
      "gpu1                                         |upper······················|sam",
      "                                           |~",
      "     0                                                              10.344 ms",
    ].join("\n"),
  );
});

test("a list of operators in JSON Lines, laid by list scheduling", () => {
  expect(charts["requests.jsonl"]).toBe(
    [
      "0 |a.prefill·································|a.decode·····|c.decode······",
      "                                                    |~",
      "1 |b.prefill···········|c.prefill···················|b.decode·····",
      "  0                                                              10.000 ms",
    ].join("\n"),
  );
});

test("a graph of the Standard Task Graph Set, laid by list scheduling", () => {
  expect(charts["nine.stg"]).toBe(
    [
      "0 |3····················|6·······················|8··············|9·······",
      "                  |                        |                |",
      "1 |1·························|4··················|7·········",
      "                                           |",
      "2 |2··············           |5············",
      "                             |",
      "  0                                                              26.000 ms",
    ].join("\n"),
  );
});

test("a digraph in DOT", () => {
  expect(charts["diamond.dot"]).toBe(
    [
      "gpu0 |route······|expert0····························               |combine·",
      "                                               |                   |",
      "gpu1              |expert1·····················|expert2············",
      "                 |",
      "     0                                                               1.784 ms",
    ].join("\n"),
  );
});

test("a W1 file: a prefill and 15 decodes over two accelerators, with KV caches that stay", () => {
  const { makespanNs, transfers, accelerators } = simulateDag(graphs["one-request.w1"]());
  // The yardstick's own simulator says 1165246678.49 ns, by times that are not rounded, for 95 nodes, and the same first peak.
  expect(makespanNs).toBe(1_165_246_690);
  expect(transfers).toHaveLength(31);
  expect(accelerators[0]?.peakBytes).toBe(92_618_752);
  expect(charts["one-request.w1"]?.split("\n")).toHaveLength(5);
});

test("a graph that was not reached is drawn as far as it came, and a broken file is told by line and column", () => {
  const never = {
    accelerators: [{ name: "a", hbmBytes: 1 }],
    operators: [{ name: "x", accelerator: "a", durationNs: 1, outputBytes: 2 }],
  };
  expect(gantt(simulateDag(never), 20)).not.toContain("x");
  expect(complaint(() => readStg("1\n1 10 1 7\n", { timeUnitNs: 1, accelerators: 1, layout: "roundRobin" }))).toBe(
    "UNKNOWN_OPERATOR: line 2, column 8: operator 1 follows 7, which is no operator",
  );
});
