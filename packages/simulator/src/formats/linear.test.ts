import { describe, expect, test } from "vitest";
import { type Dag, readDot, readOperatorsJson, readOperatorsJsonl, readStg, readW1, readW1Json } from "../index.ts";
import { refusal } from "./testing/refusals.ts";
import { writeDot, writeJsonl, writeStg } from "./testing/text-writers.ts";
import { w1Parts, writeW1, writeW1Json } from "./testing/w1-writer.ts";

const BYTES = 1 << 20;
const SHRINK = 32;

/** A chain in which every operator also reads the one 100 before it. */
function chain(count: number): Dag {
  const name = (index: number) => String(index + 1);
  return {
    accelerators: [{ name: "a" }],
    operators: Array.from({ length: count }, (_, index) => ({
      ...{ name: name(index), accelerator: "a", durationNs: 1 + (index % 97) },
      inputs: [index - 100, index - 1].filter((it) => it >= 0).map(name),
    })),
  };
}

const w1Of = (requests: number) =>
  w1Parts({
    ...{ accelerators: 8, passes: 16, hasKv: true, models: [{ a: 10, b: 0.1 }] },
    promptTokens: Array.from({ length: requests }, (_, index) => 128 + ((index * 701) % 1900)),
  });
const listed = { accelerators: 64, layout: "listScheduling", timeUnitNs: 1 } as const;
/** Made to be walked over and over by a reader that walks twice. */
const repeated = (text: string) => (share: number) => text.repeat(Math.ceil(BYTES / text.length / share));

const cases: readonly [string, (share: number) => string | Uint8Array, (content: never) => Dag][] = [
  ["JSON", (share) => JSON.stringify(chain(BYTES / 76 / share)), readOperatorsJson],
  ["JSONL", (share) => writeJsonl(chain(BYTES / 76 / share)), readOperatorsJsonl],
  ["DOT", (share) => writeDot(chain(BYTES / 80 / share)), readDot],
  ["STG", (share) => writeStg(chain(BYTES / 20 / share)), (content) => readStg(content, listed)],
  ["W1", (share) => writeW1(w1Of(240 / share)), readW1],
  ["W1 JSON", (share) => writeW1Json(w1Of(320 / share)), readW1Json],
  ["open brackets", repeated("["), readOperatorsJson],
  ["an open string", (share) => `["${repeated("\\\\")(share)}`, readOperatorsJson],
  ["a long number", (share) => `[${repeated("1")(share)}`, readOperatorsJson],
  ["blank lines", repeated("\n \t\r"), readOperatorsJsonl],
  ["comments", (share) => `digraph {${repeated("/**/ //\n#\n")(share)}`, readDot],
  ["an open comment of asterisks", (share) => `digraph {/${repeated("*")(share)}`, readDot],
  ["defaults", (share) => `digraph {${repeated("node[bytes=1]")(share)}`, readDot],
  ["digits in STG", repeated("1"), (content) => readStg(content, listed)],
  ["numbers in STG", repeated("1 0 0 "), (content) => readStg(content, listed)],
  [
    "a cycle through everything",
    (share) => {
      const { operators, ...rest } = chain(BYTES / 76 / share);
      const [first, ...others] = operators;
      return JSON.stringify({ ...rest, operators: [{ ...first, inputs: [operators.at(-1)?.name] }, ...others] });
    },
    readOperatorsJson,
  ],
];

describe("a megabyte takes about as many times longer as it is larger", () => {
  test.each(cases)("%s", { timeout: 60_000 }, (_, make, read) => {
    // Of this process, so that a loaded machine does not matter.
    const milliseconds = (content: string | Uint8Array, times: number) => {
      let best = Number.POSITIVE_INFINITY;
      for (let round = 0; round < times; round++) {
        const begin = process.cpuUsage();
        refusal(() => read(content as never));
        best = Math.min(best, process.cpuUsage(begin).user / 1000);
      }
      return best;
    };
    const [large, small] = [make(1), make(SHRINK)];
    expect(large.length).toBeGreaterThan(0.8 * BYTES);
    // A quadratic reader takes 1,024 times as long, each time; cold caches, the compiler and the collector do not.
    const ratio = () => milliseconds(large, 1) / (milliseconds(small, 5) + 0.2);
    let least = ratio();
    for (let again = 0; again < 3 && least >= 8 * SHRINK; again++) least = Math.min(least, ratio());
    expect(least).toBeLessThan(8 * SHRINK);
  });
});

test("counts that promise more than there is are refused before anything is made of that size", () => {
  const promised = "2147483647\n";
  expect(refusal(() => readStg(promised, listed))).toBe("TRUNCATED 2:1");
  expect(refusal(() => readStg("1\n1 1 9007199254740991 ", listed))).toMatch(/^TRUNCATED/);
});
