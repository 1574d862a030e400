import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { fc, test as propertyTest } from "@fast-check/vitest";
import { afterAll, describe, expect, test } from "vitest";
import { convertServeGen, convertTraceFile, traceLines } from "./convert.ts";
import { parseTrace } from "./read-trace.ts";
import { parseServeGenLengths, parseServeGenWindows } from "./servegen.ts";
import { serveGenRequests } from "./servegen-requests.ts";
import { traceWorkload } from "./trace-workload.ts";
import type { TraceRequest } from "./types.ts";

const dir = mkdtempSync(join(tmpdir(), "convert-"));
afterAll(() => rmSync(dir, { recursive: true }));

const burst = [
  "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
  "5,ChatGPT,472,18,490,Conversation log",
  "45,ChatGPT,1087,0,1087,API log",
  '118,"GPT-4, new",417,276,693,API log',
].join("\n");

function file(name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

describe("convertTraceFile", () => {
  const from = file("burst.csv.gz", gzipSync(burst));

  test("writes the canonical CSV or JSON lines, by the name of the target, and packs it by the name as well", async () => {
    const report = { rows: 2, dropped: 1, format: "burstgpt", lastArrivalNs: 113e9 };
    expect(await convertTraceFile({ from, to: join(dir, "out.csv") })).toEqual(report);
    expect(readFileSync(join(dir, "out.csv"), "utf8")).toBe(
      'arrivalNs,inputTokens,outputTokens,tenant,class,session\n0,472,18,ChatGPT,Conversation log,\n113000000000,417,276,"GPT-4, new",API log,\n',
    );
    expect(await convertTraceFile({ from, to: join(dir, "out.jsonl.gz") })).toEqual(report);
    expect(gunzipSync(readFileSync(join(dir, "out.jsonl.gz"))).toString()).toBe(
      '{"arrivalNs":0,"inputTokens":472,"outputTokens":18,"tenant":"ChatGPT","class":"Conversation log"}\n' +
        '{"arrivalNs":113000000000,"inputTokens":417,"outputTokens":276,"tenant":"GPT-4, new","class":"API log"}\n',
    );
    expect(await convertTraceFile({ from: join(dir, "out.csv"), to: join(dir, "again"), output: "csv" })).toEqual({
      ...report,
      format: "canonical",
      dropped: 0,
    });
    expect(readFileSync(join(dir, "again"))).toEqual(readFileSync(join(dir, "out.csv")));
  });

  test("leaves nothing behind when the source has a fault, and what was there before as it was", async () => {
    const broken = file("broken.csv", `${burst}\nx,ChatGPT,1,1,2,API log`);
    const to = file("kept.csv", "before");
    await expect(convertTraceFile({ from: broken, to })).rejects.toThrow(/line 5: Timestamp "x"/);
    expect(readFileSync(to, "utf8")).toBe("before");
    expect(readdirSync(dir).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  test("a target that cannot be written, and one whose name says nothing", async () => {
    mkdirSync(join(dir, "folder.csv"));
    for (const to of [join(dir, "folder.csv"), join(dir, "nowhere/out.csv")]) {
      await expect(convertTraceFile({ from, to })).rejects.toEqual(
        expect.objectContaining({ code: "TRACE_UNWRITABLE", file: to }),
      );
    }
    await expect(convertTraceFile({ from, to: join(dir, "out.txt") })).rejects.toThrow(/output must be csv or jsonl/);
    expect(existsSync(join(dir, "out.txt"))).toBe(false);
  });
});

describe("the canonical form", () => {
  const label = fc.option(
    fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text.trim() === text && !/\p{Cc}/u.test(text)),
    { nil: undefined },
  );
  const requests = fc
    .array(
      fc.record({
        gapNs: fc.integer({ min: 0, max: 1e12 }),
        inputTokens: fc.integer({ min: 1, max: 1e7 }),
        outputTokens: fc.integer({ min: 1, max: 1e7 }),
        tenant: label,
        class: label,
        session: label,
      }),
      { minLength: 1, maxLength: 20 },
    )
    .map((rows) => {
      let arrivalNs = 0;
      return rows.map(({ gapNs, ...row }, index): TraceRequest => {
        arrivalNs += index === 0 ? 0 : gapNs;
        const kept = Object.entries({ arrivalNs, ...row }).filter(([, value]) => value !== undefined);
        return Object.fromEntries(kept) as unknown as TraceRequest;
      });
    });

  propertyTest.prop([requests, fc.constantFrom("csv" as const, "jsonl" as const)])(
    "is read back as it was written",
    async (rows, spelling) => {
      let text = "";
      for await (const line of traceLines(rows, spelling)) text += line;
      expect(parseTrace(text, "x")).toEqual(rows);
    },
  );
});

describe("ServeGen", () => {
  const windowsText = "0,2,1,Gamma,0.5,1\n600,0,0,,0,0\n1200,2,1,Weibull,1,0.5\n1800,4,1,Gamma,4,0.0625\n";
  const lengthsText = JSON.stringify({ "0": { input_tokens: "{5: 0.5, 9: 0.5}", output_tokens: "{1: 1.0}" } });
  const windows = parseServeGenWindows(windowsText, "w");
  const lengths = parseServeGenLengths(lengthsText, "l");

  test("requests come at the rate of their window, in order, and silent windows have none", () => {
    const rows = [...serveGenRequests(windows, lengths, { seed: 1 })];
    const perWindow = [0, 0, 0, 0];
    let previousNs = 0;
    for (const { arrivalNs, inputTokens, outputTokens } of rows) {
      expect(arrivalNs).toBeGreaterThanOrEqual(previousNs);
      previousNs = arrivalNs;
      const window = Math.floor(arrivalNs / 600e9);
      perWindow[window] = (perWindow[window] ?? 0) + 1;
      expect([5, 9]).toContain(inputTokens);
      expect(outputTokens).toBe(1);
    }
    const expected = [1200, 0, 1200, 2400];
    perWindow.forEach((count, window) => {
      expect(Math.abs(count - (expected[window] ?? 0))).toBeLessThanOrEqual(0.15 * (expected[window] ?? 0));
    });
  });

  test("gaps spread as the fitted distributions do", () => {
    const cv = (fromSeconds: number): number => {
      const rows = [...serveGenRequests(windows, lengths, { seed: 2, fromSeconds, seconds: 600 })];
      const gaps = rows.slice(1).map((row, i) => row.arrivalNs - (rows[i]?.arrivalNs ?? 0));
      const mean = gaps.reduce((a, b) => a + b, 0) / gaps.length;
      return Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length) / mean;
    };
    // Of a Gamma distribution 1/√shape, of a Weibull with shape 1 (exponential) 1.
    expect(Math.abs(cv(0) / Math.SQRT2 - 1)).toBeLessThan(0.15);
    expect(Math.abs(cv(1200) - 1)).toBeLessThan(0.15);
    expect(Math.abs(cv(1800) / 0.5 - 1)).toBeLessThan(0.15);
  });

  test("equal seeds draw equal requests, a share keeps that many, a part begins at 0", async () => {
    const draw = (seed: number, share: number) => [
      ...serveGenRequests(windows, lengths, { seed, share, fromSeconds: 1500, seconds: 600 }),
    ];
    expect(draw(1, 1)).toEqual(draw(1, 1));
    expect(draw(1, 1)).not.toEqual(draw(2, 1));
    expect(Math.abs(draw(1, 0.25).length / draw(1, 1).length - 0.25)).toBeLessThan(0.06);
    expect(draw(1, 1)[0]?.arrivalNs).toBeLessThan(60e9);
    expect(draw(1, 1).at(-1)?.arrivalNs).toBeLessThan(600e9);
    const to = join(dir, "servegen.csv");
    const paths = { windows: file("w.csv", windowsText), lengths: file("l.json", lengthsText) };
    const report = await convertServeGen({ ...paths, to, seed: 1, fromSeconds: 1500, seconds: 600 });
    expect(report).toMatchObject({ rows: draw(1, 1).length, format: "servegen" });
    expect(parseTrace(readFileSync(to, "utf8"), "x")).toHaveLength(report.rows);
  });

  test("a distribution that contradicts its rate ends, silence is told, options are checked", () => {
    const wild = parseServeGenWindows("0,1,1,Weibull,1,1e-9\n", "w");
    expect(() => [...serveGenRequests(wild, lengths, { seed: 1 })]).toThrow(/more than ten times as many/);
    const silent = { seed: 1, fromSeconds: 600, seconds: 600 };
    expect(() => [...serveGenRequests(windows, lengths, silent)]).toThrow(/no request arrives/);
    for (const draw of [{ share: 0 }, { share: 2 }, { fromSeconds: -1 }, { seconds: 0 }, { seconds: 1e9 }]) {
      expect(() => [...serveGenRequests(windows, lengths, { seed: 1, ...draw })]).toThrowError(
        expect.objectContaining({ code: "INVALID_OPTION" }),
      );
    }
  });
});

describe("traceWorkload", () => {
  const row = (arrivalNs: number, labels: Partial<TraceRequest> = {}): TraceRequest => ({
    arrivalNs,
    inputTokens: 10,
    outputTokens: 2,
    ...labels,
  });

  test("tenants as they appear, offline requests apart, the window to the end of the last second", () => {
    const rows = [
      row(0, { tenant: "b" }),
      row(1, { class: "offline", tenant: "z" }),
      row(2),
      row(15e8, { tenant: "b" }),
    ];
    const workload = traceWorkload(rows);
    expect(workload.tenants).toEqual(["b", "default"]);
    expect(workload.online.windowNs).toBe(2e9);
    expect(workload.online.tenants.map((list) => list.map(({ tenant, arrivalNs }) => [tenant, arrivalNs]))).toEqual([
      [
        [0, 0],
        [0, 15e8],
      ],
      [[1, 2]],
    ]);
    expect(workload.offline).toEqual([{ tenant: 0, arrivalNs: 1, inputTokens: 10, outputTokens: 2 }]);
    expect(workload.offlineTenants).toEqual(["z"]);
  });

  test("a shorter window, other classes, names that objects inherit", () => {
    const rows = [row(0, { tenant: "__proto__" }), row(1, { class: "batch", tenant: "constructor" }), row(5e9)];
    const workload = traceWorkload(rows, { windowNs: 4e9, offlineClasses: ["batch"] });
    expect(workload.tenants).toEqual(["__proto__"]);
    expect(workload.offline).toHaveLength(1);
    expect(workload.offlineTenants).toEqual(["constructor"]);
  });

  test("offline tenants are numbered on their own, each request by its name", () => {
    const names = ["b", undefined, "a", "b", undefined];
    const rows = names.map((tenant, i) => row(i, { class: "offline", ...(tenant === undefined ? {} : { tenant }) }));
    const { offline, offlineTenants, tenants } = traceWorkload([...rows, row(9, { tenant: "a" })]);
    expect(offline.map(({ tenant }) => offlineTenants[tenant])).toEqual(["b", "default", "a", "b", "default"]);
    expect(tenants).toEqual(["a"]);
  });

  test("nothing left, a window of nothing, too many tenants", () => {
    expect(() => traceWorkload([row(5)], { windowNs: 3 })).toThrowError(
      expect.objectContaining({ code: "WORKLOAD_EMPTY" }),
    );
    expect(() => traceWorkload([row(5)], { windowNs: 0 })).toThrow(/windowNs/);
    const many = Array.from({ length: 1001 }, (_, i) => row(i, { tenant: `t${i}` }));
    expect(() => traceWorkload(many)).toThrow(/at most 1000/);
    expect(() => traceWorkload(many.map((one) => ({ ...one, class: "offline" })))).toThrow(/at most 1000/);
  });
});
