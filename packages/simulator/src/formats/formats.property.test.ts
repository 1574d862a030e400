import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Dag,
  FormatError,
  readDot,
  readOperatorsJson,
  readOperatorsJsonl,
  readStg,
  readW1,
  readW1Json,
  SimulatorError,
  simulateDag,
} from "../index.ts";
import { writeDot, writeJsonl, writeStg } from "./testing/text-writers.ts";
import { w1Parts, writeW1, writeW1Json } from "./testing/w1-writer.ts";

const nameText = fc.oneof(
  { weight: 3, arbitrary: fc.string({ minLength: 1, maxLength: 6, unit: "grapheme" }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("__proto__", "constructor", "hasOwnProperty", "node", "a b", '"', "#", "-->"),
  },
);
const whole = (min: number) =>
  fc.oneof(
    fc.integer({ min, max: 1000 }),
    fc.maxSafeInteger().map((it) => Math.max(min, it)),
  );

/** Graphs as the readers make them: every field there, inputs distinct, in any order of operators. */
function dags(names: "any" | "numbers"): fc.Arbitrary<Dag> {
  const operator = fc.record({
    name: nameText,
    durationNs: whole(1),
    outputBytes: whole(0),
    workspaceBytes: whole(0),
    rank: whole(0),
    on: fc.nat(),
    inputs: fc.array(fc.nat(), { maxLength: 4 }),
  });
  return fc
    .record({
      accelerators: fc.uniqueArray(nameText, { minLength: 1, maxLength: 4 }),
      operators: fc.uniqueArray(operator, { maxLength: 12, selector: ({ name }) => name }),
      isReversed: fc.boolean(),
    })
    .map(({ accelerators, operators, isReversed }) => {
      const nameOf = (index: number) => (names === "any" ? (operators[index]?.name ?? "") : String(index + 1));
      const all = operators.map(({ inputs, on, ...rest }, index) => ({
        ...rest,
        name: nameOf(index),
        accelerator: accelerators[on % accelerators.length] ?? "",
        inputs: [...new Set(index === 0 ? [] : inputs.map((pick) => nameOf(pick % index)))],
      }));
      const ordered = isReversed && names === "any" ? all.reverse() : all;
      return { accelerators: accelerators.map((name) => ({ name })), operators: ordered };
    });
}

const bytesOf = (text: string, isBinary: boolean) => (isBinary ? new TextEncoder().encode(text) : text);

describe("what is written is read", () => {
  const link = { latencyNs: 5, bytesPerSecond: 1e9 };
  test("JSON, as an object and as a list, from text and from bytes", () => {
    fc.assert(
      fc.property(dags("any"), fc.boolean(), fc.constantFrom(0, 1, "\t"), (dag, isBinary, indent) => {
        const written = JSON.stringify({ link, ...dag }, null, indent);
        expect(readOperatorsJson(bytesOf(written, isBinary))).toEqual({ ...dag, link });
        const { accelerators } = dag;
        const list = bytesOf(JSON.stringify(dag.operators), isBinary);
        expect(readOperatorsJson(list, { accelerators })).toEqual(dag);
        expect(readOperatorsJsonl(bytesOf(writeJsonl(dag), isBinary), { accelerators })).toEqual(dag);
      }),
      { numRuns: 100 },
    );
  });

  test("DOT", () => {
    fc.assert(
      fc.property(dags("any"), fc.boolean(), (dag, isBinary) => {
        fc.pre(!JSON.stringify(dag).includes("\\\\"));
        const { accelerators } = dag;
        const operators = dag.operators.map((it) => ({ ...it, workspaceBytes: 0, rank: 0 }));
        expect(readDot(bytesOf(writeDot(dag), isBinary), { accelerators })).toEqual({ accelerators, operators });
      }),
      { numRuns: 100 },
    );
  });

  test("STG, without costs, and with costs that become bytes", () => {
    fc.assert(
      fc.property(dags("numbers"), fc.array(fc.nat(1000), { minLength: 12, maxLength: 12 }), (dag, costs) => {
        const { accelerators } = dag;
        const layout = new Map(dag.operators.map(({ name, accelerator }) => [name, accelerator]));
        const read = new Set(dag.operators.flatMap(({ inputs = [] }) => inputs));
        const operators = (bytes: (name: string) => number) =>
          dag.operators.map((it) => ({ ...it, outputBytes: bytes(it.name), workspaceBytes: 0, rank: 0 }));
        const options = { accelerators, layout, timeUnitNs: 1 };
        expect(readStg(writeStg(dag), options)).toEqual({ accelerators, operators: operators(() => 0) });
        const withCosts = readStg(writeStg(dag, costs), { ...options, communication: "uniform" });
        expect(withCosts.operators).toEqual(operators((name) => (read.has(name) ? (costs[Number(name) - 1] ?? 0) : 0)));
      }),
      { numRuns: 100 },
    );
  });
});

/** A result that simulates, or an error of ours that points into the content. */
function accepts(read: () => Dag, lines: number, bytes: number): void {
  let dag: Dag;
  try {
    dag = read();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const { position, message } = error;
    const isInside =
      position !== null &&
      ("line" in position
        ? position.line >= 1 && position.line <= lines && position.column >= 1
        : position.byteOffset >= 0 && position.byteOffset <= bytes);
    if (!isInside || message.length > 2000)
      throw new Error(`of ${lines} lines, ${bytes} bytes: ${JSON.stringify(position)} ${message}`);
    return;
  }
  try {
    simulateDag(dag);
  } catch (error) {
    // What a graph does in time is not the reader's to say: sums of bytes or of times past 2^53.
    if (!(error instanceof SimulatorError)) throw error;
    if (["DAG_INVALID", "CYCLE", "UNKNOWN_ACCELERATOR"].includes(error.code)) throw error;
  }
}

/** Moderate numbers, so that runs of simulateDag stay within its own limits more often than not. */
const small = dags("numbers").map(({ accelerators, operators }) => ({
  accelerators,
  operators: operators.map(({ durationNs, outputBytes = 0, rank = 0, ...rest }) => ({
    ...rest,
    durationNs: (durationNs % 99) + 1,
    outputBytes: outputBytes % 99,
    workspaceBytes: 0,
    rank: rank % 3,
  })),
}));
const snippet = fc.constantFrom(
  ...[
    "{",
    "}",
    "[",
    "]",
    '"',
    ",",
    ":",
    ";",
    "->",
    "--",
    "-1",
    "1e999",
    "NaN",
    "null",
    "\\",
    "\\u12",
    "//",
    "/*",
    "*/",
    "#",
    "\n",
  ],
  ...[
    "subgraph",
    "node",
    "duration",
    "9007199254740993",
    "99999999999999999999999",
    "__proto__",
    "\uD800",
    "\u0000",
    "0.5",
    " ",
    "=",
    "1 2 3",
  ],
);
const edit = fc.record({
  at: fc.nat(),
  remove: fc.oneof(fc.constant(0), fc.nat(12), fc.nat()),
  insert: fc.oneof(snippet, fc.constant("")),
});

function mutate(text: string, edits: readonly { at: number; remove: number; insert: string }[]): string {
  let mutated = text;
  for (const { at, remove, insert } of edits) {
    const begin = at % (mutated.length + 1);
    mutated = mutated.slice(0, begin) + insert + mutated.slice(begin + (remove % (mutated.length - begin + 1)));
  }
  return mutated;
}

const shape = {
  ...{ accelerators: 2, promptTokens: [3, 5], passes: 2, hasKv: true },
  models: [{ a: 3, b: 0.1 }],
};
const w1Json = writeW1Json(w1Parts(shape));
const layout = { accelerators: 2, layout: "listScheduling", timeUnitNs: 1 } as const;
const texts: readonly [string, (dag: Dag) => string, (content: string | Uint8Array) => Dag][] = [
  ["JSON", (dag) => JSON.stringify(dag, null, 1), (content) => readOperatorsJson(content, { layout: "roundRobin" })],
  ["JSONL", writeJsonl, (content) => readOperatorsJsonl(content, { layout: "roundRobin" })],
  ["DOT", writeDot, (content) => readDot(content, { layout: "listScheduling" })],
  ["STG", (dag) => writeStg(dag), (content) => readStg(content, layout)],
  [
    "STG with costs",
    (dag) => writeStg(dag, [3, 1, 4]),
    (content) => readStg(content, { ...layout, communication: "largest" }),
  ],
  ["W1 JSON", () => w1Json, readW1Json],
];

describe("a mutated file gives a graph or a FormatError", () => {
  test.each(texts)("%s", (_, write, read) => {
    fc.assert(
      fc.property(small, fc.array(edit, { minLength: 1, maxLength: 4 }), fc.boolean(), (dag, edits, isBinary) => {
        const text = mutate(write(dag), edits);
        accepts(() => read(bytesOf(text, isBinary)), text.split("\n").length, 4 * text.length);
      }),
      { numRuns: 250 },
    );
  });

  test("bytes that are not text", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(5), (content, pick) => {
        const [, , read] = texts[pick] ?? texts[0] ?? ["", writeDot, readDot];
        accepts(() => read(content), 41, content.length);
      }),
      { numRuns: 200 },
    );
  });

  test("W1, words overwritten, cut off or added to", () => {
    const valid = writeW1(w1Parts(shape));
    const word = fc.oneof(
      fc.integer(),
      fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 0x7ff00000, 0x7ff80000, 0x43500000),
    );
    const overwrite = fc.record({ at: fc.nat(), header: fc.boolean(), word });
    fc.assert(
      fc.property(fc.array(overwrite, { maxLength: 3 }), fc.option(fc.nat()), (overwrites, cut) => {
        const content = valid.slice(0, cut === null ? valid.length : cut % (valid.length + 1));
        const view = new DataView(content.buffer);
        const words = Math.floor(content.length / 4);
        for (const { at, header, word: value } of overwrites)
          if (words > 0) view.setInt32(4 * (at % (header ? Math.min(words, 10) : words)), value, true);
        accepts(() => readW1(content), 0, content.length);
      }),
      { numRuns: 600 },
    );
  });
});
