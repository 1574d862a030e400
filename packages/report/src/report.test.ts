import { inflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { ReportError } from "./errors.ts";
import type { ReportInput } from "./input.ts";
import { madeRecord, runLike } from "./record.fixture.ts";
import { htmlReport } from "./report.ts";
import type { OverviewMeta, TimelineMeta } from "./shared/blocks.ts";
import { type Packed, unpack } from "./shared/columns.ts";

const record = runLike({ accelerators: 3, operators: 400 });

function blockOf<Meta>(text: string, id: string): Packed<Meta> {
  const base64 = new RegExp(`id="${id}">([^<]*)<`).exec(text)?.[1] ?? "";
  return unpack(inflateRawSync(Buffer.from(base64, "base64")));
}

function codeOf(input: ReportInput): string | undefined {
  try {
    htmlReport(input);
  } catch (error) {
    if (error instanceof ReportError) return error.code;
    throw error;
  }
  return undefined;
}

test("the answer and its table come before the evidence, and everything before the data", () => {
  const text = htmlReport({
    title: "T",
    policies: [
      { name: "p", record },
      { name: "q", record },
    ],
  });
  const at = [
    "<h1",
    'class="answer"',
    "<table",
    'id="time"',
    'id="latency"',
    'id="idle"',
    'id="decisions"',
    'id="provenance"',
    'id="block-overview"',
    'id="block-timeline-1"',
  ];
  const places = at.map((it) => text.indexOf(it));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(Math.min(...places)).toBeGreaterThan(0);
});

test("strings of a run are data: nowhere do they become HTML", () => {
  const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'\`&{{}}<!--`;
  const bad = madeRecord({
    label: hostile,
    accelerators: [hostile, "a1"],
    endNs: 1e9,
    operators: [{ accelerator: 0, startNs: 0, endNs: 1e8, name: hostile, tenant: hostile, request: 0 }],
    requests: [{ id: 0, label: hostile, tenant: hostile, submittedNs: 0, endNs: 1e8, firstTokenNs: 5e7, tokens: 2 }],
    notices: [{ kind: "acceleratorLost", atNs: 5e8, accelerator: 0, instance: 3, text: hostile }],
    decisions: [
      {
        round: 0,
        atNs: 0,
        instance: 0 as never,
        operators: [0],
        partition: hostile,
        candidates: [
          { partition: hostile, scoreNs: 1, leastNs: null, movedBytes: 0, shortage: null, outOfMemory: null },
        ],
      },
    ],
  });
  const fact = { name: hostile, value: hostile };
  const policy = { name: hostile, summary: hostile, record: bad };
  const slo = { ttftMs: 1, source: hostile };
  const text = htmlReport({ title: hostile, workload: [fact], provenance: [fact], policies: [policy], slo });
  expect(text.match(/<script/g)).toHaveLength(3);
  expect(text).not.toContain("<img");
  expect(text).not.toContain("<!--");
  expect(text.split(hostile.slice(0, 20))).toHaveLength(1);
  const meta = blockOf<TimelineMeta>(text, "block-timeline-0").meta;
  expect([meta.operatorNames, meta.tenants, meta.requestLabels]).toEqual([[hostile], [hostile], [hostile]]);
});

test("the page may load nothing and run only its own script", () => {
  const text = htmlReport({ title: "T", policies: [{ name: "p", record }] });
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(text)?.[1]?.replaceAll("&#39;", "'") ?? "";
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'$/,
  );
  expect(text).not.toMatch(/\ssrc=|\sstyle=|\son\w+=|<link|<iframe|url\(/);
});

test("equal input gives equal bytes", () => {
  const input = { title: "T", policies: [{ name: "p", record }] };
  expect(htmlReport(input)).toBe(htmlReport(input));
});

test("times are rounded, and said to be, before a page grows too large; then it is an error", () => {
  const input = { title: "T", policies: [{ name: "p", record: runLike({ accelerators: 3, operators: 20_000 }) }] };
  const exact = htmlReport(input);
  expect(blockOf<TimelineMeta>(exact, "block-timeline-0").meta.unitNs).toBe(1);
  expect(exact).not.toContain("times to 1 µs");
  const rounded = htmlReport({ ...input, maxBytes: exact.length - 20_000 });
  expect(rounded.length).toBeLessThanOrEqual(exact.length - 20_000);
  expect(blockOf<TimelineMeta>(rounded, "block-timeline-0").meta.unitNs).toBe(1000);
  expect(rounded).toContain("times to 1 µs");
  expect(codeOf({ ...input, maxBytes: 100_000 })).toBe("TOO_LARGE");
});

test("an operator takes 10 bytes at most, so that five times 190,000 stay below 10 MB with exact times", () => {
  const record = runLike({ accelerators: 8, operators: 60_000 });
  const bytes = (made: ReportInput["policies"][number]["record"]): number =>
    Buffer.byteLength(htmlReport({ title: "T", policies: [{ name: "p", record: made }] }));
  const less = runLike({ accelerators: 8, operators: 20_000 });
  const each = (bytes(record) - bytes(less)) / (record.operators.count - less.operators.count);
  expect(each).toBeLessThan(10);
});

test("input that makes no report is refused", () => {
  const one = { name: "p", record };
  expect(codeOf({ title: "T", policies: [] })).toBe("INVALID_INPUT");
  expect(codeOf({ title: "T", policies: [one, one] })).toBe("INVALID_INPUT");
  expect(codeOf({ title: "T", policies: [one], windowNs: 0 })).toBe("INVALID_INPUT");
  expect(codeOf({ title: "T", policies: [one], maxBytes: Number.NaN })).toBe("INVALID_INPUT");
  expect(codeOf({ title: "T", policies: [one], slo: { ttftMs: -1, source: "" } })).toBe("INVALID_INPUT");
  expect(codeOf({ title: "T", policies: [{ name: "p", record: madeRecord({ startNs: 2, endNs: 1 }) }] })).toBe(
    "INVALID_INPUT",
  );
});

test("a run without a request, a run of one operator, and one that ended as it began", () => {
  const empty = htmlReport({ title: "T", policies: [{ name: "p", record: madeRecord({ endNs: 1e9 }) }] });
  expect(empty).toContain("No request was served.");
  expect(blockOf<OverviewMeta>(empty, "block-overview").meta.distributions.ttft).toBeNull();
  const single = madeRecord({
    endNs: 2e6,
    operators: [{ accelerator: 0, startNs: 1e6, endNs: 2e6 }],
    requests: [{ id: 0, submittedNs: 0, firstTokenNs: 2e6, endNs: 2e6, tokens: 1 }],
  });
  const one = htmlReport({ title: "T", policies: [{ name: "p", record: single }], windowNs: 3e6 });
  expect(one).toContain("1 of 1 requests");
  expect(one).toContain("1 operator");
  expect(htmlReport({ title: "T", policies: [{ name: "p", record: madeRecord({ endNs: 0 }) }] })).toContain(
    "No request was served.",
  );
});

test("what went wrong is told before the evidence, and in full", () => {
  const lost = madeRecord({
    endNs: 1e9,
    operators: [{ accelerator: 1, startNs: 0, endNs: 5e8, outcome: "lost" }],
    requests: [{ id: 0, submittedNs: 0, endNs: 9e8, outcome: "failed" }],
    hbm: [[[0, 70e9]]],
    notices: [
      { kind: "acceleratorLost", atNs: 5e8, accelerator: 1, instance: -1, text: "no answer" },
      { kind: "operatorWithdrawn", atNs: 6e8, accelerator: 0, instance: 1, text: "" },
    ],
  });
  const text = htmlReport({ title: "T", policies: [{ name: "p", record: lost }] });
  const caveats = text.slice(text.indexOf('class="caveats"'), text.indexOf('id="time"'));
  expect(caveats).toContain("passed a capacity: the HBM peak is 109.4 %");
  expect(caveats).toContain("did not complete 1 of the requests that it began");
  expect(caveats).toContain("lost accelerators once");
  expect(text).toContain("accelerator lost");
  expect(text).toContain("no answer");
  expect(text).not.toContain("withdrawn");
});

test("a thousand tenants share the last colour; those that took the most time have their own", () => {
  const text = htmlReport({
    title: "T",
    policies: [{ name: "p", record: runLike({ accelerators: 4, operators: 8000, tenants: 1000 }) }],
  });
  expect(blockOf<OverviewMeta>(text, "block-overview").meta.colours.tenants).toHaveLength(7);
  expect(blockOf<TimelineMeta>(text, "block-timeline-0").meta.tenants.length).toBeGreaterThan(100);
});
