import { describe, expect, test } from "vitest";
import { readDot, simulateDag } from "../index.ts";
import { refusal } from "./testing/refusals.ts";

describe("DOT", () => {
  test("nodes are operators, edges lead to readers, the rest is drawing", () => {
    const dag = readDot(
      `# a comment
      strict DiGraph "my graph" { /* another
        */ rankdir=LR; graph [label="a } b"]
        node [shape=box, accelerator=b, duration=2]; edge [color=red]
        a [duration=1.5 accelerator="a"; label="A \\"quoted\\""] [bytes=8192]
        a -> b -> "c d" [style=dashed]; // a third
        a -> "c d"
        node [duration=4]
        Ünïcode -> -7
      }`,
      { timeUnitNs: 1000, link: { latencyNs: 5, bytesPerSecond: 1e9 } },
    );
    expect(dag).toEqual({
      accelerators: [{ name: "a" }, { name: "b" }],
      link: { latencyNs: 5, bytesPerSecond: 1e9 },
      operators: [
        ["a", "a", 1500, [], 8192],
        ["b", "b", 2000, ["a"], 0],
        ["c d", "b", 2000, ["b", "a"], 0],
        ["Ünïcode", "b", 4000, [], 0],
        ["-7", "b", 4000, ["Ünïcode"], 0],
      ].map(([name, accelerator, durationNs, inputs, outputBytes]) => ({
        ...{ name, accelerator, durationNs, inputs, outputBytes, workspaceBytes: 0, rank: 0 },
      })),
    });
    expect(simulateDag(dag).outcome).toBe("finished");
  });

  test("quoted keywords and names of the prototype are names", () => {
    const dag = readDot('digraph{node[duration=1,accelerator=x]"node"->__proto__->"subgraph"->constructor}');
    expect(dag.operators.map(({ name }) => name)).toEqual(["node", "__proto__", "subgraph", "constructor"]);
  });

  test("a backslash joins lines in quotes, and else stays", () => {
    const dag = readDot('digraph { node [duration=1 accelerator=x] "a\\\nb"; "c\\nd"; "e\\\\" }');
    expect(dag.operators.map(({ name }) => name)).toEqual(["ab", "c\\nd", "e\\\\"]);
  });

  test("operators without an accelerator are laid by the rule", () => {
    const dag = readDot("digraph { node [duration=1] a b c }", { accelerators: 2, layout: "roundRobin" });
    expect(dag.operators.map(({ accelerator }) => accelerator)).toEqual(["0", "1", "0"]);
  });

  test.each([
    ["UNSUPPORTED 1:1", "graph { a -- b }"],
    ["UNSUPPORTED 1:11", "digraph { subgraph x { a } }"],
    ["UNSUPPORTED 1:11", "digraph { { a } }"],
    ["UNSUPPORTED 1:16", "digraph { a -> { b c } }"],
    ["UNSUPPORTED 1:16", "digraph { a -> subgraph { b } }"],
    ["UNSUPPORTED 1:12", "digraph { a:n -> b }"],
    ["UNSUPPORTED 1:13", "digraph { a -- b }"],
    ["UNSUPPORTED 1:20", "digraph { a [label=<b>] }"],
    ["UNSUPPORTED 1:15", 'digraph { "a" + "b" }'],
    ["TRUNCATED 1:1", ""],
    ["TRUNCATED 1:8", "digraph"],
    ["TRUNCATED 1:13", "digraph { a "],
    ["TRUNCATED 1:15", "digraph { a ->"],
    ["TRUNCATED 1:11", 'digraph { "a ->'],
    ["TRUNCATED 1:11", 'digraph { "a\\'],
    ["TRUNCATED 2:1", "digraph {\n/* a }"],
    ["SYNTAX 1:1", "tree { }"],
    ["SYNTAX 1:12", "digraph { }digraph { }"],
    ["SYNTAX 1:11", "digraph { -> a }"],
    ["SYNTAX 1:13", "digraph { a ] }"],
    ["SYNTAX 1:23", "digraph { a [duration1] }"],
    ["SYNTAX 1:23", "digraph { a [duration 1] }"],
    ["SYNTAX 1:11", "digraph { @ }"],
    ["SYNTAX 1:16", "digraph { a -> node }"],
    ["INVALID_NAME 1:11", 'digraph { "" }'],
    ["MISSING_FIELD 1:16", "digraph { a -> b; a [duration=1] }"],
    ["INVALID_DURATION 1:23", "digraph { a [duration=-1] }"],
    ["INVALID_DURATION 1:23", "digraph { a [duration=NaN] }"],
    ["INVALID_DURATION 1:23", "digraph { a [duration=0.1] }"],
    ["INVALID_DURATION 1:23", 'digraph { a [duration="1e300"] }'],
    ["INVALID_BYTES 1:31", "digraph { a [duration=1,bytes=-1] }"],
    ["INVALID_BYTES 1:31", "digraph { a [duration=1,bytes=k1] }"],
    ["INVALID_BYTES 1:31", "digraph { a [duration=1,bytes=.5] }"],
    ["BYTES_OVERFLOW 1:31", "digraph { a [duration=1,bytes=9007199254740992] }"],
    ["INVALID_NAME 1:37", 'digraph { a [duration=1,accelerator=""] }'],
    ["UNKNOWN_FIELD 1:14", "digraph { a [durationNs=1] }"],
    ["UNKNOWN_FIELD 1:14", "digraph { a [outputBytes=1] }"],
    ["UNKNOWN_FIELD 1:19", "digraph { a -> b [bytes=1] }"],
    ["DUPLICATE_FIELD 1:38", "digraph { a [duration=1]; a [label=x,duration=2] }"],
    ["NO_ACCELERATOR 1:11", "digraph { a [duration=1] }"],
    ["CYCLE 1:46", "digraph { node [duration=1 accelerator=x] a->b->c->b }"],
  ])("%s: %s", (expected, content) => {
    expect(refusal(() => readDot(content))).toBe(expected);
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("the time unit %s is refused", (timeUnitNs) => {
    expect(refusal(() => readDot("digraph {}", { timeUnitNs }))).toBe("INVALID_OPTION");
  });
});
