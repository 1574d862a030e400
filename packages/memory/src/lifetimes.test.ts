import { compileTemplate, type OperatorInput, type OperatorSpec } from "@slicescheduler/templates";
import { expect, test } from "vitest";
import { cluster } from "../test/cover-graphs.ts";
import { Ancestry } from "./cover-ancestry.ts";
import { type HoldingOrder, orderHoldings } from "./cover-order.ts";
import { type Holding, type LifetimeOptions, lifetimesOf } from "./lifetimes.ts";

const byte = { shape: [1], dtype: "int8" } as const;
const op = (
  name: string,
  inputs: string[],
  outputs: Record<string, { aliases?: string }> = { o: {} },
): OperatorSpec => ({
  name,
  inputs,
  outputs: Object.fromEntries(Object.entries(outputs).map(([key, more]) => [key, { ...byte, ...more }])),
});

interface Laid {
  readonly operators: readonly OperatorSpec[];
  readonly layout: readonly number[];
  readonly outputs?: Record<string, string>;
  readonly slots?: number;
  readonly options?: LifetimeOptions;
}

/** The holdings on one accelerator by a readable name, `"kind first…last"`, and their order. */
function laid({ operators, layout, outputs = {}, slots = 0, options = {} }: Laid, accelerator: number) {
  const spec = {
    name: "t",
    symbols: [],
    ...(slots > 0 ? { inputs: { in: Array.from({ length: slots }, () => byte) } } : {}),
    operators,
    outputs,
    partitions: [{ name: "p", accelerators: ["a", "b", "c"], layout }],
  };
  const template = compileTemplate(spec, cluster);
  const holdings = lifetimesOf(template, layout, options).get(accelerator)?.holdings ?? [];
  const nameOf = ({ operator, output, slot }: OperatorInput) =>
    slot >= 0
      ? `in${slot}`
      : `${template.operators[operator]?.name}.${template.operators[operator]?.outputs[output]?.name}`;
  const names = holdings.map(({ kind, members }) => `${kind} ${members.map(nameOf).join(" ")}`);
  const pairs = (order: HoldingOrder) =>
    names.flatMap((x, i) => names.flatMap((y, j) => (order.before(i, j) ? [`${x} < ${y}`] : [])));
  const ancestry = Ancestry.of(template, holdings) as Ancestry;
  const any = pairs(orderHoldings(holdings, ancestry, "any"));
  const rest = pairs(orderHoldings(holdings, ancestry, "rest"));
  return { holdings: new Map(names.map((name, i) => [name, holdings[i] as Holding])), names, any, rest };
}

const chain = [op("a", []), op("b", ["a.o"]), op("c", ["b.o"])];

test("an input and an output of one operator are there together while it runs, and not at rest", () => {
  const { names, any, rest } = laid({ operators: chain, layout: [0, 0, 0], outputs: { out: "c.o" } }, 0);
  expect(names).toEqual(["output a.o", "output b.o", "output c.o"]);
  expect(any).toEqual(["output a.o < output c.o"]);
  expect(rest).toEqual(["output a.o < output b.o", "output a.o < output c.o", "output b.o < output c.o"]);
});

test("what the template's outputs name stays, with its copies, and so does what the caller says", () => {
  const named = laid({ operators: chain, layout: [0, 1, 0], outputs: { out: "a.o" } }, 1);
  expect(named.holdings.get("copy a.o")?.permanent).toBe(true);
  const said = laid({ operators: chain, layout: [0, 0, 0], options: { permanent: (operator) => operator === 1 } }, 0);
  expect(said.holdings.get("output b.o")?.permanent).toBe(true);
  expect(said.holdings.get("output a.o")?.permanent).toBe(false);
});

test("what is sent has gone once its reader elsewhere may have started", () => {
  const { any } = laid({ operators: [...chain, op("d", ["c.o"])], layout: [0, 1, 0, 0] }, 0);
  // c cannot start before b has, and b not before a's output has arrived there.
  expect(any).toContain("output a.o < copy b.o");
  expect(any).toContain("output a.o < output c.o");
  expect(any).not.toContain("copy b.o < output c.o");
  expect(any).toContain("copy b.o < output d.o");
});

test("one reader of several on an accelerator shows that a transfer has ended, but the hold needs all of them issued", () => {
  const operators = [op("a", []), op("b1", ["a.o"]), op("b2", ["a.o"]), op("c", ["b1.o"])];
  const layout = [0, 1, 1, 0];
  const held = laid({ operators, layout }, 0);
  expect(held.any).not.toContain("output a.o < output c.o");
  const local = laid({ operators, layout, options: { heldUntilIssued: false } }, 0);
  expect(local.any).toContain("output a.o < output c.o");
});

test("continuations share a holding, which is freed after all of them", () => {
  const operators = [
    op("a", []),
    op("grow", ["a.o"], { o: { aliases: "a.o" } }),
    op("look", ["a.o"]),
    op("end", ["grow.o", "look.o"]),
  ];
  const { names, holdings } = laid({ operators, layout: [0, 0, 0, 0] }, 0);
  expect(names).toEqual(["output a.o grow.o", "output look.o", "output end.o"]);
  expect([...(holdings.get("output a.o grow.o")?.freedAfter ?? [])].sort()).toEqual([0, 1, 2, 3]);
  const across = laid({ operators, layout: [0, 1, 0, 0] }, 1);
  expect(across.names).toEqual(["copy a.o grow.o"]);
});

test("a continued slot is a copy or a growth, whichever the instance finds", () => {
  const operators = [op("a", ["in[0]"], { o: { aliases: "in[0]" } }), op("b", ["a.o"], { o: { aliases: "a.o" } })];
  const { names, holdings } = laid({ operators, layout: [0, 0], slots: 1 }, 0);
  expect(names).toEqual(["copy in0 a.o b.o", "growth in0 a.o b.o"]);
  expect(holdings.get("copy in0 a.o b.o")?.bornWith).toBe(-1);
  expect(holdings.get("growth in0 a.o b.o")?.bornWith).toBe(0);
});

test("an output that nobody reads goes with the end of its producer", () => {
  const { any, rest, holdings } = laid(
    { operators: [op("a", [], { o: {}, side: {} }), op("b", ["a.o"])], layout: [0, 0] },
    0,
  );
  expect(holdings.get("output a.side")?.freedAfter).toEqual([0]);
  expect(any).toEqual(["output a.side < output b.o"]);
  // At rest it is never there, so it is neither before nor after anything.
  expect(rest).toEqual([]);
});

test("a reference that stands twice makes one reader", () => {
  const { holdings } = laid({ operators: [op("a", []), op("b", ["a.o", "a.o"])], layout: [0, 0] }, 0);
  expect(holdings.get("output a.o")?.freedAfter).toEqual([0, 1]);
});
