import type { WaitingReason } from "@slicescheduler/scheduler";
import { describe, expect, it } from "vitest";
import { runWorld, type World } from "../../test/world.ts";
import { readEventLog } from "../log/reader.ts";
import { replayEventLog } from "../log/replay.ts";
import { inspectEventLog, inspectSnapshot } from "./inspect.ts";
import { inspectionText, instanceText } from "./inspection-text.ts";
import { bytesText, durationText, missingWords, momentText, reasonWords } from "./words.ts";

const request = { priority: "online" as const, tenant: "red", steps: 1, cancelAfterNs: null };
const busy: World = {
  seed: 2,
  requests: [1400, 1500, 1200, 900, 1300, 1100, 800, 1450].map((size, index) => ({
    ...request,
    size,
    atNs: 100 * index,
    ...(index > 3 ? { priority: "offline" as const, tenant: "" } : {}),
  })),
  outage: null,
  faultShare: 0,
  health: true,
};

const log = readEventLog((await runWorld(busy)).log);

describe("inspectionText", () => {
  it("says what runs, what waits and for what, who has the memory, and why it is so", () => {
    const found = inspectEventLog(log, { atNs: 1500, instance: 2, decision: 1 });
    expect(inspectionText(found, { priorities: ["online", "offline"] })).toMatchInlineSnapshot(`
      "at 1.498 µs: 8 requests, 3 operators to be placed, 6 transfers

      a0 (demo)
        runs    pass/make of instance 2 (request 1, online), for 1.40 µs
        queued  step/first of instance 3 (request 1, online): waits for pass/make of instance 2, which runs
        queued  pass/make of instance 6 (request 3, online): ready, waits for its turn
        queued  step/first of instance 7 (request 3, online): waits for pass/make of instance 6, which waits in the queue
        HBM     1.68 kB of 4.00 kB (42%), peak 1.68 kB: request 1 1.50 kB, baseline 100 bytes, weights of 1 name 50 bytes, workspace 30 bytes
      a1 (demo)
        runs    step/first of instance 5 (request 2, online), for 0 ns
        queued  pass/read of instance 2 (request 1, online): waits for transfer 0 of 1.50 kB from a0: planned, its tensor is not made yet
        queued  step/second of instance 3 (request 1, online): waits for transfer 1 of 20 bytes from a0: planned, its tensor is not made yet
        queued  pass/read of instance 6 (request 3, online): waits for transfer 4 of 900 bytes from a0: planned, its tensor is not made yet
        queued  step/second of instance 7 (request 3, online): waits for transfer 5 of 20 bytes from a0: planned, its tensor is not made yet
        HBM     1.37 kB of 4.00 kB (34%), peak 1.38 kB: request 2 1.22 kB, baseline 100 bytes, weights of 1 name 50 bytes
      a2 (demo)
        runs    pass/make of instance 0 (request 0, online), for 1.50 µs
        queued  pass/read of instance 0 (request 0, online): waits for pass/make of instance 0, which runs
        queued  step/first of instance 1 (request 0, online): waits for pass/make of instance 0, which runs
        queued  step/second of instance 1 (request 0, online): waits for step/first of instance 1, which waits in the queue
        queued  pass/read of instance 4 (request 2, online): waits for transfer 2 of 1.20 kB from a1: moves its data
        queued  step/second of instance 5 (request 2, online): waits for transfer 3 of 20 bytes from a1: planned, its tensor is not made yet
        queued  pass/make of instance 10 (request 5, offline): ready, held back for more urgent work
        queued  pass/read of instance 10 (request 5, offline): waits for pass/make of instance 10, which waits in the queue
        queued  step/first of instance 11 (request 5, offline): waits for pass/make of instance 10, which waits in the queue
        queued  step/second of instance 11 (request 5, offline): waits for step/first of instance 11, which waits in the queue
        HBM     2.78 kB of 4.00 kB (70%), peak 2.78 kB: request 0 1.40 kB, request 2 1.20 kB, baseline 100 bytes, weights of 1 name 50 bytes, workspace 30 bytes

      to be placed
        pass/make of instance 8 (request 4, offline), for 1.10 µs: memory: 1.36 kB needed on a1, 170 bytes available (the bytes are taken); held by requests 1, 2, 3
        pass/make of instance 12 (request 6, offline), for 898 ns: memory: 860 bytes needed on a1, 170 bytes available (the bytes are taken); held by requests 1, 2, 3
        pass/make of instance 14 (request 7, offline), for 798 ns: memory: 1.51 kB needed on a1, 170 bytes available (the bytes are taken); held by requests 1, 2, 3
        9 operators wait for producers that are not issued

      transfers
        0: 1.50 kB from a0 to a1 planned, its tensor is not made yet; for pass/read of instance 2
        1: 20 bytes from a0 to a1 planned, its tensor is not made yet; for step/second of instance 3
        2: 1.20 kB from a1 to a2 moves its data, for 0 ns; for pass/read of instance 4
        3: 20 bytes from a1 to a2 planned, its tensor is not made yet; for step/second of instance 5
        4: 900 bytes from a0 to a1 planned, its tensor is not made yet; for pass/read of instance 6
        5: 20 bytes from a0 to a1 planned, its tensor is not made yet; for step/second of instance 7

      requests
        0 "request 0" (online, tenant red): on 2; open for 1.50 µs; 2 live instances; a2 1.43 kB of 1.43 kB claimed
        1 "request 1" (online, tenant red): on 01; open for 1.40 µs; 2 live instances; a0 1.52 kB of 1.52 kB claimed, a1 1.53 kB of 1.53 kB claimed
        2 "request 2" (online, tenant red): on 12; open for 1.30 µs; 2 live instances; a1 1.22 kB of 1.22 kB claimed, a2 1.23 kB of 1.23 kB claimed
        3 "request 3" (online, tenant red): on 01; open for 1.20 µs; 2 live instances; a0 920 bytes of 920 bytes claimed, a1 930 bytes of 930 bytes claimed
        4 "request 4" (offline): not placed; open for 1.10 µs; 2 live instances
        5 "request 5" (offline): on 2; open for 998 ns; 2 live instances; a2 1.13 kB of 1.13 kB claimed
        6 "request 6" (offline): not placed; open for 898 ns; 2 live instances
        7 "request 7" (offline): not placed; open for 798 ns; 2 live instances

      instance 2: live, of pass, request 1, on 01
        make is issued: on a0, issued at 100 ns, started at 100 ns
        read is issued: on a1, issued at 100 ns, waits for transfer 0 of 1.50 kB from a0: planned, its tensor is not made yet
        decision 2 at 100 ns: 2 operators of instance 2 on 01, of 3 candidates
          01: chosen: completes 2.25 µs from then on average, moves 1.50 kB
          12: not simulated: it could not complete before 2.25 µs from then, moves 1.50 kB
          2: not simulated: it could not complete before 2.40 µs from then

      decision 1 at 0 ns: 2 operators of instance 1 on 2, of 1 candidate
        2: chosen: the only one, not simulated
      "
    `);
  });

  it("says of an empty cluster that it is empty", () => {
    expect(inspectionText(inspectEventLog(log, { atNs: -1 }))).toMatchInlineSnapshot(`
      "at 0 ns: 0 requests, 0 operators to be placed, 0 transfers

      a0 (demo)
        runs    nothing
        HBM     100 bytes of 4.00 kB (3%), peak 100 bytes: baseline 100 bytes
      a1 (demo)
        runs    nothing
        HBM     100 bytes of 4.00 kB (3%), peak 100 bytes: baseline 100 bytes
      a2 (demo)
        runs    nothing
        HBM     100 bytes of 4.00 kB (3%), peak 100 bytes: baseline 100 bytes

      to be placed
        nothing

      transfers
        none

      requests
        none
      "
    `);
  });

  it("writes an instance out alone, with the moment and the decisions about it", () => {
    const text = instanceText(inspectEventLog(log, { atNs: 1498, instance: 2, decision: 1 }));
    expect(text.split("\n").slice(0, 2)).toEqual(["at 1.498 µs", "instance 2: live, of pass, request 1, on 01"]);
    expect(text).toContain("\n  decision 2 at 100 ns: ");
    expect(text).toContain("\n\ndecision 1 at 0 ns: ");
    expect(text).not.toMatch(/HBM|to be placed/);
  });

  it.each([
    [0, "0 ns"],
    [999, "999 ns"],
    [1000, "1 µs"],
    [1_500_000, "1.5 ms"],
    [60e9, "60 s"],
    [1_000_000_001, "1.000000001 s"],
    [-2e9, "-2 s"],
    [Number.MAX_SAFE_INTEGER, "9007199.254740991 s"],
  ])("tells the moment %d ns as %s, to the nanosecond", (ns, text) => {
    expect(momentText(ns)).toBe(text);
  });

  it("writes out no more of a list than it is to", () => {
    const text = inspectionText(inspectEventLog(log, { atNs: 1500 }), { listMax: 1 });
    expect(text).toContain("and 7 more");
    expect(text.split("\n").filter((line) => /^ {2}\d+ "/.test(line))).toHaveLength(1);
  });
});

describe("inspect", () => {
  it("refuses what is unknown or no snapshot", () => {
    expect(() => inspectEventLog(log, { instance: 999 })).toThrow(
      expect.objectContaining({ code: "UNKNOWN_INSTANCE" }),
    );
    expect(() => inspectEventLog(log, { decision: 999 })).toThrow(
      expect.objectContaining({
        code: "UNKNOWN_DECISION",
        message: expect.stringContaining("there is no decision 999 up to") as unknown,
      }),
    );
    expect(() => inspectEventLog(log, { waitingMax: -1 })).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    const snapshot = replayEventLog(log, { untilNs: 1500 }).core.graph.snapshot();
    expect(() => inspectSnapshot(snapshot, { instance: 999 })).toThrow(
      expect.objectContaining({ code: "UNKNOWN_INSTANCE" }),
    );
    for (const wrong of [
      null,
      3,
      "x",
      {},
      [],
      { ...snapshot, requests: { id: [1] } },
      JSON.parse('{"__proto__":{"polluted":1}}'),
    ])
      expect(() => inspectSnapshot(wrong)).toThrow(expect.objectContaining({ code: "GRAPH_STATE_INVALID" }));
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it("explains an instance that has left the graph by its decisions", () => {
    const { instance } = inspectEventLog(log, { instance: 0 });
    expect(instance).toMatchObject({ state: "gone", request: null, operators: [] });
    expect(instance?.decisions.length).toBeGreaterThan(0);
  });
});

describe("words", () => {
  const shortage = { accelerator: "a0", neededBytes: 2e9, availableBytes: 512, heldBy: [1, 4] };
  const reasons: [WaitingReason, string][] = [
    [{ why: "producers", unscheduledInputs: 1 }, "inputs: 1 producer not issued yet"],
    [
      { why: "budget", accelerator: "a0", issuedOperators: 4, moreUrgentOperators: 1, budget: 4 },
      "issue budget: a0 has 4 of 4 operators, 1 of them more urgent",
    ],
    [
      { why: "memory", cause: "room", ...shortage },
      "memory: 2.00 GB needed on a0, 512 bytes available (the bytes are taken); held by requests 1, 4",
    ],
    [
      { why: "memory", cause: "order", ...shortage, heldBy: Array.from({ length: 10 }, (_, id) => id) },
      "memory: 2.00 GB needed on a0, 512 bytes available (free, but requests could come to wait for each other without end); held by requests 0, 1, 2, 3, 4, 5, 6, 7 and 2 more",
    ],
    [
      { why: "quota", tenant: "red", quota: "placedRequestsMax", found: 2, limit: 2 },
      'quota: tenant "red" has 2 of 2 (placedRequestsMax)',
    ],
    [{ why: "instance", behind: 3 }, "instance 3, whose results it reads, has not begun"],
    [{ why: "patience", behind: 3 }, "instance 3 has waited too long for memory to be passed by"],
    [{ why: "transfer" }, "a transfer that it would share is being taken back"],
    [{ why: "suspect", accelerators: ["a0", "a1"] }, "only accelerators under suspicion are left: a0, a1"],
    [{ why: "next" }, "nothing: it is decided next"],
  ];

  it.each(reasons)("tell a reason: %o", (reason, words) => expect(reasonWords(reason)).toBe(words));

  it("tell what is missing", () => {
    expect(missingWords({ from: "nowhere" })).toBe("an input that was lost");
    expect(missingWords({ from: "operator", operator: "pass/make", instance: 1, isRunning: true })).toBe(
      "pass/make of instance 1, which runs",
    );
    expect(missingWords({ from: "transfer", transfer: 3, state: "starved", source: "a1", bytes: 2000 })).toBe(
      "transfer 3 of 2.00 kB from a1: waits for its receive buffer",
    );
  });

  it("tell amounts with three digits", () => {
    expect([0, 999, 1000, 64e9, 1.5e12].map(bytesText)).toEqual([
      "0 bytes",
      "999 bytes",
      "1.00 kB",
      "64.0 GB",
      "1.50 TB",
    ]);
    expect([0, 999, 1500, -2e6, 3.25e9, 5e12].map(durationText)).toEqual([
      "0 ns",
      "999 ns",
      "1.50 µs",
      "-2.00 ms",
      "3.25 s",
      "5000 s",
    ]);
  });
});
