import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { TraceFaultsError } from "../errors.ts";
import { seededRandom } from "../random.ts";
import { azure2023Profile } from "./azure-2023.ts";
import { generateTraces } from "./generate.ts";
import { parseWorkloadProfile, profileTraceFile, readWorkloadProfile } from "./profile-trace.ts";

const dir = mkdtempSync(join(tmpdir(), "profile-trace-"));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const header = "arrivalNs,inputTokens,outputTokens,tenant,class,session";

/** Two requests a second, then one; outputs go with inputs. */
function trace(): string {
  const random = seededRandom(3);
  const rows: string[] = [];
  for (let atNs = 0; atNs < 600e9; atNs += (atNs < 300e9 ? 0.5e9 : 1e9) * -Math.log(1 - random())) {
    const inputTokens = 1 + Math.floor(1000 * random());
    rows.push(`${Math.floor(atNs)},${inputTokens},${1 + Math.floor(inputTokens / 10 + 20 * random())},,,`);
  }
  return [header, ...rows].join("\n");
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

describe("profileTraceFile", () => {
  test("a generated trace is like the measured one: rates, lengths, and that long prompts have long answers", async () => {
    const profile = await profileTraceFile(file("service.csv.gz", gzipSync(trace())), { attribution: "made up" });
    expect(profile).toMatchObject({ version: 1, name: "service", attribution: "made up" });
    expect(profile.arrivals.requestsPerSecond).toHaveLength(11);
    const { arrivals, lengths } = generateTraces(profile, 1);
    const early = arrivals.filter((row) => row.arrivalNs < 300e9).length;
    const late = arrivals.length - early;
    expect(Math.abs(early / 600 - 1)).toBeLessThan(0.2);
    expect(Math.abs(late / 250 - 1)).toBeLessThan(0.3);
    expect(Math.abs(mean(lengths.map((row) => row.inputTokens)) / 500 - 1)).toBeLessThan(0.1);
    const output = (isLong: boolean): number =>
      mean(lengths.filter((row) => row.inputTokens > 500 === isLong).map((row) => row.outputTokens));
    expect(profile.lengths.rankCorrelation).toBeGreaterThan(0.9);
    expect(output(true)).toBeGreaterThan(2 * output(false));
  });

  test("without a correlation they are independent, and 0 is the same as none", () => {
    const { lengths } = azure2023Profile;
    const zero = { ...azure2023Profile, lengths: { ...lengths, rankCorrelation: 0 } };
    expect(generateTraces(zero, 5)).toEqual(generateTraces(azure2023Profile, 5));
    const inverse = generateTraces({ ...azure2023Profile, lengths: { ...lengths, rankCorrelation: -1 } }, 5);
    const sorted = [...inverse.lengths].sort((a, b) => a.inputTokens - b.inputTokens);
    expect(sorted[0]?.outputTokens).toBeGreaterThan(sorted.at(-1)?.outputTokens ?? 0);
  });

  test("a trace shorter than a window is measured over what it has", async () => {
    const rows = Array.from({ length: 21 }, (_, i) => `${i * 5e8},10,5,,,`);
    const { arrivals } = await profileTraceFile(file("short.csv", [header, ...rows].join("\n")));
    expect(arrivals).toMatchObject({ windowSeconds: 10, requestsPerSecond: [2] });
  });

  test("two rows far apart still make a profile; rows of one instant do not", async () => {
    const far = await profileTraceFile(file("far.csv", `${header}\n0,1,1,,,\n60000000000,1,1,,,\n`));
    expect(far.arrivals).toMatchObject({ requestsPerSecond: [0.02], windowSeconds: 50 });
    expect(parseWorkloadProfile(JSON.stringify(far), "x")).toEqual(far);
    const same = file("same.csv", `${header}\n0,1,1,,,\n0,1,1,,,\n`);
    await expect(profileTraceFile(same)).rejects.toEqual(expect.objectContaining({ code: "TRACE_EMPTY" }));
    await expect(profileTraceFile(same, { windowSeconds: 0 })).rejects.toThrow(/windowSeconds/);
  });
});

describe("profiles as files", () => {
  test("are read back as they were written", async () => {
    const profile = await profileTraceFile(file("trace.csv", trace()));
    for (const it of [profile, azure2023Profile]) {
      expect(readWorkloadProfile(file("profile.json", JSON.stringify(it)))).toEqual(it);
    }
  });

  function faultsOf(text: string): TraceFaultsError {
    try {
      parseWorkloadProfile(text, "p.json");
    } catch (error) {
      if (error instanceof TraceFaultsError) return error;
      throw error;
    }
    throw new Error("nothing was thrown");
  }

  test("what a message shows of the file has no control characters", () => {
    const noJson = faultsOf("\u001b]0;pwned\u0007").faults[0]?.reason;
    const strangeKey = faultsOf(JSON.stringify({ ...azure2023Profile, "pw\u001bned\u009b": 1 })).faults[0]?.reason;
    for (const reason of [noJson, strangeKey]) {
      expect(reason).toMatch(/u001b/);
      expect(reason).not.toMatch(/\p{Cc}/u);
    }
  });

  test("all faults at once, each with its path", () => {
    const { arrivals, lengths } = azure2023Profile;
    const broken = {
      ...azure2023Profile,
      version: 2,
      arrivals: { ...arrivals, requestsPerSecond: [1, -1, Number.NaN], gapQuantiles: [0, 0] },
      lengths: { rows: 1e12, inputTokenQuantiles: [5, 4], outputTokenQuantiles: lengths.outputTokenQuantiles, more: 1 },
    };
    const error = faultsOf(JSON.stringify(broken));
    expect(error.faults.map(({ reason }) => reason.split(":")[0])).toEqual([
      "version",
      "arrivals.requestsPerSecond.1",
      "arrivals.gapQuantiles",
      "lengths.rows",
      "lengths.inputTokenQuantiles.1",
      "lengths",
    ]);
    expect(error.message).toMatch(/^p\.json: 6 fault\(s\)/);
  });

  test.each(["", "{", "null", "[]", '{"__proto__": {"version": 1}}', '"x"'])("%j is refused", (text) => {
    expect(faultsOf(text).code).toBe("TRACE_FAULTY");
  });

  test("one that would generate more than memory holds is refused before it does", () => {
    const { arrivals } = azure2023Profile;
    const huge = { ...azure2023Profile, arrivals: { ...arrivals, requestsPerSecond: [1e7] } };
    const profile = parseWorkloadProfile(JSON.stringify(huge), "x");
    expect(() => generateTraces(profile, 1)).toThrowError(expect.objectContaining({ code: "INVALID_OPTION" }));
  });
});
