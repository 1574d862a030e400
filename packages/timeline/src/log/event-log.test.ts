import { EstimatorBank } from "@slicescheduler/estimators";
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { firstFit, type SchedulingPolicy } from "@slicescheduler/scheduler";
import { type MasterEvent, type Notice, SliceScheduler, type SliceSchedulerOptions } from "slicescheduler";
import { describe, expect, it } from "vitest";
import { cluster, NAMES, noticesOf, pass } from "../../test/world.ts";
import { EVENT_FORMS } from "./event-forms.ts";
import { readEventLog } from "./reader.ts";
import { replayEventLog } from "./replay.ts";
import { EventLogWriter } from "./writer.ts";

/** A short run with these options, its log and what the scheduler told. */
async function shortRun(
  settings: Pick<SliceSchedulerOptions, "scheduling" | "memorySafety" | "health"> = {},
  checks = false,
) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const lines: string[] = [];
  const options = { cluster, ...settings };
  const writer = new EventLogWriter({ ...options, manifest: executor.manifest, label: "short" }, (line) =>
    lines.push(line),
  );
  const scheduler = new SliceScheduler({ ...options, executor, onEvent: writer.onEvent });
  const notices = noticesOf(scheduler, NAMES);
  if (checks) writer.attach(scheduler);
  const handle = scheduler.register(pass);
  for (const size of [500, 600, 700])
    scheduler.submit(handle, { symbols: { size }, deadlineNs: Number.POSITIVE_INFINITY });
  time.run();
  await Promise.resolve();
  return { lines, notices };
}

function replayed(lines: readonly string[], policies: readonly SchedulingPolicy[] = []): Notice[] {
  const answered: Notice[] = [];
  replayEventLog(readEventLog(lines), { policies, onReaction: ({ notices }) => answered.push(...notices) });
  return answered;
}

const header = (await shortRun()).lines[0] as string;
const submission = {
  type: "instanceSubmitted",
  instance: 0,
  request: 0,
  template: "none",
  symbols: {},
  inputs: {},
  retain: [],
  partitions: null,
  label: "",
  rank: null,
  deadlineNs: null,
};
const event = (value: unknown, nowNs = 0) => `${JSON.stringify({ nowNs, event: value })}\n`;

describe("EventLogWriter", () => {
  it("writes a header that says with what the master answers", async () => {
    const { lines } = await shortRun({
      memorySafety: "predicted",
      health: false,
      scheduling: { batchOperatorsMax: 2, policy: firstFit },
    });
    expect(JSON.parse(lines[0] as string)).toEqual({
      format: "slicescheduler.events",
      version: 1,
      label: "short",
      cluster,
      priorities: ["online", "offline"],
      memorySafety: "predicted",
      scheduling: { batchOperatorsMax: 2 },
      policy: "first-fit",
      estimators: null,
      arbitration: {},
      health: false,
      manifest: virtualExecutor({ seed: 1 }).manifest,
    });
  });

  it("carries what JSON has no number for", async () => {
    const { lines, notices } = await shortRun({ health: { silentNsMin: Number.POSITIVE_INFINITY } });
    expect(lines[0]).toContain('"silentNsMin":{"$number":"Infinity"}');
    expect(readEventLog(lines).header.health).toEqual({ silentNsMin: Number.POSITIVE_INFINITY });
    const submitted = readEventLog(lines).entries.flatMap((entry) =>
      entry.event.type === "instanceSubmitted" ? [entry.event.deadlineNs] : [],
    );
    expect(submitted).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    expect(replayed(lines)).toEqual(notices);
    const written: string[] = [];
    const writer = new EventLogWriter({ cluster }, (line) => written.push(line));
    const done: MasterEvent = { type: "operatorDone", issueNumber: 3, observedNs: Number.NaN };
    writer.onEvent(done, 7);
    expect(readEventLog(written).entries).toEqual([{ nowNs: 7, event: done }]);
  });

  it("saves what the estimators knew, and the replay starts from that", async () => {
    const estimators = new EstimatorBank();
    for (let sample = 0; sample < 20; sample++)
      for (const accelerator of ["a0", "a1", "a2"])
        estimators.observeOperator({
          model: "pass/make",
          kind: "demo",
          accelerator,
          features: [500],
          observedNs: 5000,
          priorNs: 1,
        });
    const { lines, notices } = await shortRun({ scheduling: { estimators } });
    expect(replayed(lines)).toEqual(notices);
    const cold = (await shortRun()).notices;
    expect(notices.filter(({ name }) => name === "decision")).not.toEqual(
      cold.filter(({ name }) => name === "decision"),
    );
  });

  it("names a policy of one's own, which the replay has to be given", async () => {
    const last: SchedulingPolicy = {
      name: "last",
      choose: ({ candidates }) => ({
        candidate: candidates.at(-1) as (typeof candidates)[number],
        scoresNs: candidates.map(() => null),
      }),
    };
    const { lines, notices } = await shortRun({ scheduling: { policy: last } });
    expect(replayed(lines, [last])).toEqual(notices);
    expect(() => replayed(lines)).toThrow(
      expect.objectContaining({
        code: "EVENT_LOG_UNREPLAYABLE",
        line: 1,
        path: "policy",
        message:
          'line 1, policy: the run had the policy "last", and there are simulation-guided, first-fit; give it as one of policies',
      }),
    );
  });
});

describe("readEventLog", () => {
  it.each([
    ["nothing", "", 1, "", "the log is empty: its first line is to be a header"],
    ["another file", "a,b,c\n", 1, "", "the line is not JSON; it was cut off, or this is no event log"],
    ["another format", '{"format":"x"}\n', 1, "format", 'is to be "slicescheduler.events"; this is no event log'],
    [
      "a newer version",
      header.replace('"version":1', '"version":2'),
      1,
      "version",
      "is 2; a newer release wrote it, this one reads 1",
    ],
    ["a header without a cluster", header.replace('"cluster":', '"cluser":'), 1, "cluster", "is to be an object"],
    ["a field too many", header.replace('"label":', '"more":1,"label":'), 1, "more", "is no field of a header"],
    ["a list for an entry", `${header}[]\n`, 2, "", "the line is to be an object"],
    [
      "a time that is none",
      `${header}{"nowNs":"1"}\n`,
      2,
      "nowNs",
      "is to be a time from 0 ns on, that of the entry before",
    ],
    ["no event", `${header}${event(undefined)}`, 2, "event", "is to be an object"],
    [
      "an unknown event",
      `${header}${event({ type: "toString" })}`,
      2,
      "event.type",
      'is to be one of the master\'s events, is "toString"',
    ],
    [
      "a field missing",
      `${header}${event({ type: "recvReady" })}`,
      2,
      "event.transfer",
      "is to be a whole number from 0",
    ],
    [
      "a field of an event too many",
      `${header}${event({ type: "timePassed", x: 1 })}`,
      2,
      "event.x",
      "is no field of timePassed",
    ],
    [
      "a step back in time",
      `${header}${event({ type: "timePassed" }, 5)}${event({ type: "timePassed" }, 4)}`,
      3,
      "nowNs",
      "is to be a time from 5 ns on, that of the entry before",
    ],
    [
      "a symbol that is no number",
      `${header}${event({ type: "instanceSubmitted", instance: 0, request: 0, template: "pass", symbols: { size: "1" } })}`,
      2,
      "event.symbols",
      'is to be an object whose "size" is a number',
    ],
    ["a check without a round", `${header}{"check":{}}\n`, 2, "check.round", "is to be a whole number from 0"],
    ["a check with a time", `${header}{"nowNs":1,"check":{}}\n`, 2, "nowNs", "is no field of a check"],
    [
      "a class beyond all",
      `${header}${event({ type: "requestOpened", request: 0, label: "", rank: 1e9 })}`,
      2,
      "event.rank",
      "is to be a whole number from 0 to 65535",
    ],
  ])("refuses %s with the line and the place", (_, text, line, path, reason) => {
    expect(() => readEventLog(text)).toThrow(
      expect.objectContaining({ code: "EVENT_LOG_INVALID", line, path, reason }),
    );
  });

  it("knows the form of every event", () => {
    expect(Object.keys(EVENT_FORMS)).toHaveLength(22);
  });

  it("takes a log that was cut off in its last line where that is asked for", async () => {
    const text = (await shortRun()).lines.join("").slice(0, -9);
    expect(() => readEventLog(text)).toThrow("the line is not JSON; it was cut off, or this is no event log");
    const whole = readEventLog((await shortRun()).lines);
    expect(readEventLog(text, { acceptsCutOff: true })).toEqual({
      header: whole.header,
      entries: whole.entries.slice(0, -1),
      checks: [],
      isCutOff: true,
    });
    expect(readEventLog(text.trimEnd().split("\n").slice(0, -1).join("\n")).isCutOff).toBe(false);
  });

  it("reads no more than it may", async () => {
    const { lines } = await shortRun();
    expect(() => readEventLog(lines, { eventsMax: 3 })).toThrow(
      "line 5: the log has more than 3 events; raise eventsMax",
    );
    expect(() => readEventLog(lines, { lineCharactersMax: 50 })).toThrow(
      "line 1: the line has more than 50 characters",
    );
    const endless = (function* () {
      for (;;) yield "x".repeat(1000);
    })();
    expect(() => readEventLog(endless, { lineCharactersMax: 10_000 })).toThrow(
      "line 1: the line has more than 10000 characters",
    );
  });
});

describe("replayEventLog", () => {
  it("holds the replay to the decisions that were written down", async () => {
    const { lines, notices } = await shortRun({}, true);
    const decisions = notices.flatMap((notice) => (notice.name === "decision" ? [notice.value] : []));
    const log = readEventLog(lines);
    expect(log.checks.map(({ round, instance, partition }) => ({ round, instance, partition }))).toEqual(
      decisions.map(({ round, instance, partition }) => ({ round, instance, partition })),
    );
    expect(replayed(lines)).toEqual(notices);
    const at = lines.findLastIndex((line) => line.startsWith('{"check"'));
    const last = decisions.at(-1);
    const astray = lines.with(at, (lines[at] as string).replace(/"partition":"\w+"/, '"partition":"01x"'));
    const reason = `decision ${last?.round} of the run laid instance ${last?.instance} on 01x, and that of the replay laid instance ${last?.instance} on ${last?.partition}`;
    expect(() => replayed(astray)).toThrow(
      expect.objectContaining({
        code: "EVENT_LOG_DIVERGED",
        line: at + 1,
        message: expect.stringContaining(reason) as unknown,
      }),
    );
    const early = [lines[0] as string, lines[at] as string];
    expect(() => replayed(early)).toThrow(
      "and that of the replay was not made; was the log written with the scheduler's options",
    );
  });

  it.each([
    [
      "a cluster of nothing",
      header.replace(/"accelerators":\[[^\]]*\]/, '"accelerators":[]'),
      1,
      /^line 1: the header was refused: .*accelerators/s,
    ],
    [
      "an option that there is not",
      header.replace('"scheduling":{}', '"scheduling":{"turns":1}'),
      1,
      /the header was refused: .*scheduling\.turns: there is no such option/s,
    ],
    ["estimators that are none", header.replace('"estimators":null', '"estimators":{}'), 1, /the header was refused/],
    [
      "an instance of no template",
      `${header}${event(submission)}`,
      2,
      /line 2, event: the instanceSubmitted was refused/,
    ],
  ])("refuses %s", (_, text, line, message) => {
    expect(() => replayEventLog(readEventLog(text))).toThrow(
      expect.objectContaining({ code: "EVENT_LOG_UNREPLAYABLE", line }),
    );
    expect(() => replayEventLog(readEventLog(text))).toThrow(message);
  });
});
