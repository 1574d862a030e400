import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Dag, type LayoutOptions, readOperatorsJson, simulateDag } from "../index.ts";
import { exactMovingNs } from "./testing/exact-link.ts";

interface Case {
  readonly operators: readonly { durationNs: number; outputBytes: number; inputs: readonly number[]; fixed: number }[];
  readonly accelerators: number;
  readonly link: { latencyNs: number; bytesPerSecond: number };
}

const cases: fc.Arbitrary<Case> = fc.record({
  operators: fc
    .array(
      fc.record({
        durationNs: fc.integer({ min: 1, max: 9 }),
        outputBytes: fc.nat(9),
        inputs: fc.uniqueArray(fc.nat(), { maxLength: 3 }),
        fixed: fc.constantFrom(-1, -1, -1, 0, 1),
      }),
      { minLength: 1, maxLength: 14 },
    )
    .map((all) =>
      all.map((it, index) => ({
        ...it,
        inputs: [...new Set(index === 0 ? [] : it.inputs.map((pick) => pick % index))],
      })),
    ),
  accelerators: fc.integer({ min: 2, max: 5 }),
  link: fc.record({ latencyNs: fc.nat(4), bytesPerSecond: fc.constantFrom(5e8, 1e9, 3e9) }),
});

/** The rule word for word: all accelerators tried, paths walked again for every operator. */
function slowListScheduling({ operators, accelerators, link }: Case): number[] {
  const path = (index: number): number =>
    (operators[index]?.durationNs ?? 0) +
    Math.max(0, ...operators.flatMap(({ inputs }, reader) => (inputs.includes(index) ? [path(reader)] : [])));
  const chain = (index: number): number =>
    1 + Math.max(0, ...operators.flatMap(({ inputs }, reader) => (inputs.includes(index) ? [chain(reader)] : [])));
  const order = [...operators.keys()].sort((a, b) => path(b) - path(a) || chain(b) - chain(a) || a - b);
  const on: number[] = [];
  const doneNs: number[] = [];
  const freeNs = new Array<number>(accelerators).fill(0);
  for (const index of order) {
    const { inputs, durationNs, fixed } = operators[index] ?? { inputs: [], durationNs: 0, fixed: -1 };
    const arrival = (input: number, at: number) => {
      const transferNs = link.latencyNs + exactMovingNs(operators[input]?.outputBytes ?? 0, link.bytesPerSecond);
      return (doneNs[input] ?? 0) + (on[input] === at ? 0 : Math.max(1, transferNs));
    };
    const start = (at: number) => Math.max(freeNs[at] ?? 0, ...inputs.map((input) => arrival(input, at)));
    const better = (a: number, b: number) => start(a) - start(b) || (freeNs[a] ?? 0) - (freeNs[b] ?? 0) || a - b;
    const chosen = fixed >= 0 ? fixed : ([...freeNs.keys()].sort(better)[0] ?? 0);
    on[index] = chosen;
    doneNs[index] = start(chosen) + durationNs;
    freeNs[chosen] = doneNs[index] ?? 0;
  }
  return on;
}

function laidOut({ operators, accelerators, link }: Case, layout: LayoutOptions["layout"]): Dag {
  const list = operators.map(({ durationNs, outputBytes, inputs, fixed }, index) => ({
    ...{ name: `o${index}`, durationNs, outputBytes, inputs: inputs.map((input) => `o${input}`) },
    ...(fixed < 0 ? {} : { accelerator: String(fixed) }),
  }));
  return readOperatorsJson(JSON.stringify(list), { accelerators, link, ...(layout === undefined ? {} : { layout }) });
}

const places = (dag: Dag) => dag.operators.map(({ accelerator }) => Number(accelerator));

describe("layouts", () => {
  test("list scheduling is the rule word for word, also around operators that are placed already", () => {
    fc.assert(
      fc.property(cases, (it) => {
        expect(places(laidOut(it, "listScheduling"))).toEqual(slowListScheduling(it));
      }),
      { numRuns: 300 },
    );
  });

  test("round robin fills the open places in turn", () => {
    fc.assert(
      fc.property(cases, (it) => {
        const open = places(laidOut(it, "roundRobin")).filter((_, index) => (it.operators[index]?.fixed ?? 0) < 0);
        expect(open).toEqual(open.map((_, index) => index % it.accelerators));
      }),
      { numRuns: 100 },
    );
  });

  test("what is independent is spread, and a chain with dear transfers stays where it is", () => {
    const link = { latencyNs: 100, bytesPerSecond: 1e9 };
    const independent = { durationNs: 5, outputBytes: 0, inputs: [], fixed: -1 };
    const spread = laidOut(
      { operators: [independent, independent, independent], accelerators: 3, link },
      "listScheduling",
    );
    expect(places(spread)).toEqual([0, 1, 2]);
    expect(simulateDag(spread).makespanNs).toBe(5);
    const chain = [0, 1, 2, 3].map((index) => ({ ...independent, inputs: index === 0 ? [] : [index - 1] }));
    const chained = laidOut({ operators: chain, accelerators: 3, link }, "listScheduling");
    expect(places(chained)).toEqual([0, 0, 0, 0]);
    expect(simulateDag(chained).makespanNs).toBe(20);
  });

  test("a map places operators, also against the file", () => {
    const operators = [
      { durationNs: 1, outputBytes: 0, inputs: [], fixed: 0 },
      { durationNs: 1, outputBytes: 0, inputs: [], fixed: -1 },
    ];
    const it = { operators, accelerators: 3, link: { latencyNs: 0, bytesPerSecond: 1e9 } };
    expect(
      places(
        laidOut(
          it,
          new Map([
            ["o0", "2"],
            ["o1", "1"],
          ]),
        ),
      ),
    ).toEqual([2, 1]);
  });
});

describe("options are refused by themselves", () => {
  const file = '[{"name":"x","durationNs":1},{"name":"y","durationNs":1,"accelerator":"a"}]';
  const accelerators = [{ name: "a" }];
  test.each<[string, string, LayoutOptions]>([
    ["INVALID_OPTION", "0 accelerators", { accelerators: 0 }],
    ["INVALID_OPTION", "too many", { accelerators: 8193 }],
    ["INVALID_OPTION", "none listed", { accelerators: [] }],
    ["INVALID_OPTION", "a name twice", { accelerators: [...accelerators, ...accelerators] }],
    ["INVALID_OPTION", "a misspelt rule", { accelerators, layout: "roundrobin" as "roundRobin" }],
    ["INVALID_OPTION", "a map of an unknown operator", { accelerators, layout: new Map([["z", "a"]]) }],
    ["INVALID_OPTION", "a map to an unknown accelerator", { accelerators, layout: new Map([["x", "b"]]) }],
    ["INVALID_OPTION", "a negative latency", { link: { latencyNs: -1, bytesPerSecond: 1 } }],
    ["INVALID_OPTION", "a NaN rate", { link: { latencyNs: 0, bytesPerSecond: Number.NaN } }],
    ["NO_ACCELERATOR", "no rule", { accelerators }],
    ["NO_ACCELERATOR", "a map that leaves one out", { accelerators, layout: new Map([["y", "a"]]) }],
    ["UNKNOWN_ACCELERATOR", "other accelerators", { accelerators: 2, layout: "roundRobin" }],
  ])("%s for %s", (code, _, options) => {
    const position = code === "INVALID_OPTION" ? null : expect.objectContaining({ line: 1 });
    expect(() => readOperatorsJson(file, options)).toThrow(
      expect.objectContaining({ name: "FormatError", code, position }),
    );
  });
});
