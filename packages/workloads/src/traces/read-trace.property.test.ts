/** Fuzz: whatever a file holds, all of it is read as sound requests or refused by a typed error with the lines, both ways of reading alike. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import { damaged } from "../../test/damaged.ts";
import { TraceError, TraceFaultsError, type WorkloadError } from "../errors.ts";
import { azure2023Profile } from "../profiles/azure-2023.ts";
import { generateTraces } from "../profiles/generate.ts";
import { parseWorkloadProfile } from "../profiles/profile-trace.ts";
import { openTrace, parseTrace, type TraceReading } from "./read-trace.ts";
import { type TraceRequest, traceLabelMax, traceTokensMax } from "./types.ts";

const dir = mkdtempSync(join(tmpdir(), "fuzz-traces-"));
afterAll(() => rmSync(dir, { recursive: true }));

type Outcome = { readonly rows: readonly TraceRequest[] } | { readonly error: WorkloadError };

function refusal(error: unknown, lines: number): Outcome {
  if (!(error instanceof TraceError || error instanceof TraceFaultsError)) throw error;
  expect(error.message).not.toMatch(/[\r\n]/);
  expect(error.message.length).toBeLessThan(2000);
  const places = error instanceof TraceFaultsError ? error.faults.map(({ line }) => line) : [error.line];
  for (const line of places) if (line !== null) expect(line >= 1 && line <= lines + 1).toBe(true);
  return { error };
}

function expectSound(rows: readonly TraceRequest[]): void {
  let previousNs = 0;
  for (const { arrivalNs, inputTokens, outputTokens, ...labels } of rows) {
    expect(Number.isSafeInteger(arrivalNs) && arrivalNs >= previousNs).toBe(true);
    for (const tokens of [inputTokens, outputTokens]) {
      expect(Number.isSafeInteger(tokens) && tokens >= 1 && tokens <= traceTokensMax).toBe(true);
    }
    for (const label of Object.values(labels)) {
      expect(typeof label === "string" && label !== "" && label.length <= traceLabelMax).toBe(true);
    }
    previousNs = arrivalNs;
  }
}

const linesOf = (text: string): number => text.split("\n").length;

function atOnce(text: string, reading?: TraceReading): Outcome {
  try {
    const rows = parseTrace(text, "x", reading);
    expectSound(rows);
    return { rows };
  } catch (error) {
    return refusal(error, linesOf(text));
  }
}

async function streamed(content: string | Uint8Array, lines: number, reading?: TraceReading): Promise<Outcome> {
  const file = join(dir, "trace");
  writeFileSync(file, content);
  const rows: TraceRequest[] = [];
  try {
    for await (const row of openTrace(file, reading)) rows.push(row);
    return { rows };
  } catch (error) {
    return refusal(error, lines);
  }
}

const canonical = [
  "arrivalNs,inputTokens,outputTokens,tenant,class,session",
  "0,374,44,ann,online,s1",
  '5,396,109,"b,ob",offline,',
  "70,1,2,,,",
].join("\n");
const jsonLines = [
  { arrivalNs: 0, inputTokens: 374, outputTokens: 44, tenant: "ann" },
  { arrivalNs: 5, inputTokens: 396, outputTokens: 109, class: "offline" },
]
  .map((row) => JSON.stringify(row))
  .join("\n");
const own = {
  columns: { arrival: "t.at", arrivalUnit: "ms", inputTokens: "in", outputTokens: "out", tenant: "who" },
} as const;

const files: readonly (readonly [string, string, TraceReading | undefined])[] = [
  ["canonical CSV", canonical, undefined],
  ["canonical CSV that is put in order", canonical, { reorderRows: 2 }],
  ["canonical JSON lines", jsonLines, undefined],
  [
    "Azure 2024",
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-05-10 00:00:00.009930+00:00,2162,5\r\n2024-05-10 00:00:01+00:00,1,6",
    undefined,
  ],
  [
    "BurstGPT",
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,1,0,1,API log\n",
    undefined,
  ],
  ["Mooncake", '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}\n', undefined],
  [
    "columns of one's own",
    '{"t": {"at": 1}, "in": 5, "out": 6, "who": "x"}\n{"t": {"at": 1.5}, "in": 5, "out": 6}',
    own,
  ],
];

describe.each(files)("%s", (_, valid, reading) => {
  test.prop([damaged(valid)], { numRuns: Number(process.env["FUZZ"] ?? 300) })("damaged", (text) => {
    atOnce(text, reading);
  });

  test.prop([damaged(valid)], { numRuns: Number(process.env["FUZZ"] ?? 40) })(
    "damaged, as a stream: the same requests, or refused as well",
    async (text) => {
      const whole = atOnce(text, reading);
      const parts = await streamed(text, linesOf(text), reading);
      if ("rows" in whole) expect(parts).toEqual(whole);
      else expect(parts).toHaveProperty("error");
    },
  );

  test.prop([fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 })], { numRuns: Number(process.env["FUZZ"] ?? 40) })(
    "packed, with bytes that were overwritten",
    async (at, bytes) => {
      const packed = Buffer.from(gzipSync(valid));
      // Behind the magic, without which it is no gzip.
      packed.set(
        bytes.subarray(0, packed.length - 2),
        2 + (at % (packed.length - 2 - Math.min(bytes.length, packed.length - 2) + 1)),
      );
      await streamed(packed, Number.MAX_SAFE_INTEGER, reading);
    },
  );
});

test("what unpacks to far more than it is, is read in pieces and refused with its place", async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from(`${jsonLines}\n{"x": "`), Buffer.alloc(64 * 1024 * 1024, 0x20)]));
  expect(bomb.length).toBeLessThan(100_000);
  const outcome = await streamed(bomb, 3);
  expect(outcome).toMatchObject({
    error: { faults: [{ line: 3, reason: expect.stringMatching(/longer than 1048576/) }] },
  });
});

describe("profiles", () => {
  const { arrivals, lengths } = azure2023Profile;
  const small = JSON.stringify({
    ...azure2023Profile,
    arrivals: { ...arrivals, requestsPerSecond: [1, 0.5], gapQuantiles: [0, 1, 3] },
    lengths: { ...lengths, rows: 9, inputTokenQuantiles: [1, 20], outputTokenQuantiles: [3, 4], rankCorrelation: 0.5 },
  });
  test.prop([damaged(small)], { numRuns: Number(process.env["FUZZ"] ?? 500) })(
    "damaged: refused, or it generates sound traces",
    (text) => {
      try {
        const profile = parseWorkloadProfile(text, "x");
        // What a number with more digits may well ask for, and what takes long.
        if (profile.lengths.rows > 1000 || profile.arrivals.requestsPerSecond.some((rate) => rate > 100)) return;
        if (profile.arrivals.windowSeconds > 1000) return;
        const generated = generateTraces(profile, 1);
        expectSound(generated.arrivals);
        expectSound(generated.lengths);
      } catch (error) {
        refusal(error, 1);
      }
    },
  );
  test.prop([fc.jsonValue()])("any JSON", (value) => {
    expect(() => parseWorkloadProfile(JSON.stringify(value), "x")).toThrow(TraceFaultsError);
  });
});
