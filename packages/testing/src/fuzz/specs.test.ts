/** Specifications as a file or an untyped caller gives them: clusters, templates, expressions, graphs of operators. */
import {
  compileCluster,
  compileExpression,
  compileTemplate,
  ExpressionError,
  GmgError,
  ValidationError,
} from "@slicescheduler/gmg";
import { type Dag, SimulatorError, simulateDag } from "@slicescheduler/simulator";
import fc from "fast-check";
import { expect, test } from "vitest";
import { clusters } from "../clusters.ts";
import { templates } from "../templates.ts";
import { damaged, damagedText, loaded } from "./hostile.ts";

const numRuns = Number(process.env["FUZZ"] ?? 600);

/** What the compilers take has the types of a specification, which is what is in doubt. */
type Untyped = (spec: unknown) => unknown;

test("a damaged cluster is refused with every fault's path, or compiles the same twice", () => {
  const damages = clusters().chain((spec) => damaged(spec));
  let refused = 0;
  fc.assert(
    fc.property(damages, (spec) => {
      const compile = () => (compileCluster as Untyped)(spec);
      const cluster = loaded(compile, (error) => error instanceof ValidationError && error.faults.length > 0);
      if (cluster === undefined) refused++;
      else expect(JSON.stringify(compile())).toBe(JSON.stringify(cluster));
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 4);
});

test("a damaged template is refused with every fault's path, or compiles and binds or says why not", () => {
  const damages = clusters()
    .chain((spec) => templates(spec).map((list) => ({ cluster: compileCluster(spec), list })))
    .chain(({ cluster, list }) =>
      fc.constantFrom(...list).chain((it) => damaged(it).map((spec) => ({ cluster, spec }))),
    );
  let refused = 0;
  fc.assert(
    fc.property(damages, ({ cluster, spec }) => {
      const template = loaded(
        () => compileTemplate(spec as Parameters<typeof compileTemplate>[0], cluster),
        (error) => error instanceof ValidationError && error.faults.length > 0,
      );
      if (template === undefined) {
        refused++;
        return;
      }
      const symbols = Object.fromEntries(template.symbols.map((name) => [name, 3]));
      loaded(
        () => template.bind(symbols),
        (error) => error instanceof GmgError || error instanceof ExpressionError,
      );
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 4);
});

test("any text is an expression or is refused with its place, in bounded time and depth", () => {
  const texts = fc.oneof(
    damagedText("ceilDiv(past + tokens, 16) * max(heads, 2) - 1", [
      "(",
      ")",
      ",",
      "*",
      "-",
      "ceilDiv(",
      "__proto__",
      "1e9",
      "9".repeat(400),
    ]),
    fc.string({ unit: "binary" }),
    fc.nat(5000).map((depth) => `${"(".repeat(depth)}1${")".repeat(depth)}`),
    fc.nat(100_000).map((length) => "1+".repeat(length)),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const names = ["past", "tokens", "heads"];
      loaded(
        () => compileExpression(text, names),
        (error) => error instanceof ExpressionError || error instanceof GmgError,
      );
    }),
    { numRuns },
  );
});

const dag: Dag = {
  accelerators: [{ name: "a0", hbmBytes: 1000, fixedBytes: 10, copyEngines: 2 }, { name: "a1" }],
  operators: [
    { name: "first", accelerator: "a0", durationNs: 10, outputBytes: 100, workspaceBytes: 5, rank: 0 },
    { name: "second", accelerator: "a1", durationNs: 20, inputs: ["first"], outputBytes: 10 },
    { name: "third", accelerator: "a0", durationNs: 5, inputs: ["first", "second"], rank: 1 },
  ],
  link: { latencyNs: 3, bytesPerSecond: 1e9 },
};

test("a damaged graph of operators is refused by a SimulatorError, or ends", () => {
  expect(simulateDag(dag).outcome).toBe("finished");
  let refused = 0;
  fc.assert(
    fc.property(damaged(dag), (value) => {
      const timeline = loaded(
        () => simulateDag(value as Dag),
        (error) => error instanceof SimulatorError,
      );
      if (timeline === undefined) refused++;
      else if (timeline.outcome === "finished") expect(Number.isSafeInteger(timeline.makespanNs)).toBe(true);
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 4);
});
