/** Fuzz: whatever a file holds, a reader returns sound rows or throws a TraceError of one line. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { damaged } from "../../test/damaged.ts";
import { TraceError } from "../errors.ts";
import { parseAzureTrace } from "./azure.ts";
import { parseMooncakeTrace } from "./mooncake.ts";
import { parsePythonDistribution, parseServeGenLengths, parseServeGenWindows } from "./servegen.ts";
import type { TraceRow } from "./types.ts";

const header = "TIMESTAMP,ContextTokens,GeneratedTokens";

/** A time of one day in 100 ns, as the Azure traces write it. */
function timestamp(ticks: number): string {
  const seconds = Math.floor(ticks / 1e7);
  const two = (value: number): string => String(value).padStart(2, "0");
  const time = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(":");
  return `2023-11-16 ${time}.${String(ticks % 1e7).padStart(7, "0")}`;
}

const ticks = fc.integer({ min: 0, max: 86_400 * 1e7 - 1 });
const tokens = fc.integer({ min: 1, max: 10_000_000 });

function expectSound(parse: (text: string) => readonly TraceRow[], text: string): void {
  let rows: readonly TraceRow[];
  try {
    rows = parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(TraceError);
    expect((error as TraceError).message).not.toMatch(/[\r\n]/);
    expect((error as TraceError).message.length).toBeLessThan(400);
    return;
  }
  let previousNs = 0;
  for (const row of rows) {
    expect(Number.isSafeInteger(row.arrivalNs) && row.arrivalNs >= previousNs).toBe(true);
    expect(Number.isSafeInteger(row.inputTokens) && row.inputTokens > 0).toBe(true);
    expect(Number.isSafeInteger(row.outputTokens) && row.outputTokens > 0).toBe(true);
    previousNs = row.arrivalNs;
  }
}

describe("Azure", () => {
  test.prop([fc.array(fc.tuple(ticks, tokens, tokens), { minLength: 1, maxLength: 30 }), fc.boolean()])(
    "what was written is read back exactly",
    (drawn, crlf) => {
      const rows = drawn.sort((a, b) => a[0] - b[0]);
      const lines = rows.map(([at, input, output]) => `${timestamp(at)},${input},${output}`);
      const firstTick = rows[0]?.[0] ?? 0;
      expect(parseAzureTrace([header, ...lines].join(crlf ? "\r\n" : "\n"), "x")).toEqual(
        rows.map(([at, inputTokens, outputTokens]) => ({
          arrivalNs: (at - firstTick) * 100,
          inputTokens,
          outputTokens,
        })),
      );
    },
  );

  const valid = [header, `${timestamp(5)},374,44`, `${timestamp(70_000_000)},396,109`].join("\r\n");
  test.prop([damaged(valid)])("a damaged file", (text) => expectSound((t) => parseAzureTrace(t, "x"), text));
  test.prop([fc.string({ unit: "binary", maxLength: 200 })])("any text", (text) => {
    expectSound((t) => parseAzureTrace(t, "x"), text);
    expectSound((t) => parseAzureTrace(`${header}\n${t}`, "x"), text);
  });
});

describe("Mooncake", () => {
  const line = (ms: number): string =>
    JSON.stringify({ timestamp: ms, input_length: 6758, output_length: 500, hash_ids: [0, 1, 2] });
  test.prop([damaged(`${line(0)}\n${line(3000)}\n`)])("a damaged file", (text) =>
    expectSound((t) => parseMooncakeTrace(t, "x"), text),
  );
  test.prop([fc.jsonValue()])("any JSON on a line", (value) =>
    expectSound((t) => parseMooncakeTrace(t, "x"), JSON.stringify(value)),
  );
});

describe("ServeGen", () => {
  const survives = (parse: () => unknown): void => {
    try {
      parse();
    } catch (error) {
      expect(error).toBeInstanceOf(TraceError);
      expect((error as TraceError).message).not.toMatch(/[\r\n]/);
    }
  };
  const windows = "0,15.6,1.03,Weibull,0.98,0.064\n600,0,0,,0,0\n";
  const lengths = JSON.stringify({ "0": { input_tokens: "{5: 0.5, 9: 0.5}", output_tokens: "{1: 1.0}" } });
  test.prop([damaged(windows)])("damaged windows", (text) => survives(() => parseServeGenWindows(text, "x")));
  test.prop([damaged(lengths)])("damaged lengths", (text) => survives(() => parseServeGenLengths(text, "x")));

  test.prop([fc.uniqueArray(tokens, { minLength: 1, maxLength: 50 })])("a distribution is read back", (keys) => {
    const text = `{${keys.map((key) => `${key}: ${1 / keys.length}`).join(", ")}}`;
    const sorted = [...keys].sort((a, b) => a - b);
    expect(parsePythonDistribution(text)).toEqual(
      sorted.map((key) => ({ tokens: key, probability: Number(String(1 / keys.length)) })),
    );
  });
  test.prop([fc.string()])("any text is a distribution or a reason", (text) => {
    const found = parsePythonDistribution(text);
    expect(typeof found === "string" || Array.isArray(found)).toBe(true);
  });
});
