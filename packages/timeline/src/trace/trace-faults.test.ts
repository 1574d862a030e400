import { describe, expect, it } from "vitest";
import { chromeTraceFaults } from "./trace-faults.ts";

const names = [
  { ph: "M", name: "process_name", pid: 1, args: { name: "a0" } },
  { ph: "M", name: "thread_name", pid: 1, tid: 1, args: { name: "operators" } },
  { ph: "M", name: "thread_name", pid: 1, tid: 2, args: { name: "copies" } },
];
const slice = (ts: number, dur: number, tid = 1) => ({ ph: "X", name: "op", pid: 1, tid, ts, dur });
const flow = (ph: string, ts: number, tid: number, more = {}) => ({
  ph,
  name: "move",
  cat: "transfer",
  id: 7,
  pid: 1,
  tid,
  ts,
  ...more,
});
const asynchronous = (ph: string, ts: number) => ({ ph, name: "request", cat: "request", id: "0x1", pid: 1, ts });

const faultsOf = (...events: unknown[]) => chromeTraceFaults({ traceEvents: [...names, ...events] });

describe("chromeTraceFaults", () => {
  it("finds none in a trace that follows the rules, as text, object and list", () => {
    const events = [
      ...names,
      slice(0, 10),
      slice(2, 3),
      slice(10, 0),
      slice(1, 5, 2),
      flow("s", 0, 1),
      flow("f", 5.999, 2, { bp: "e" }),
      asynchronous("b", 0),
      asynchronous("n", 1),
      asynchronous("e", 1),
      { ph: "C", name: "HBM", pid: 1, ts: 0, args: { bytes: 1 } },
      { ph: "i", name: "lost", pid: 1, tid: 1, ts: 3, s: "p" },
      { ph: "B", name: "outer", pid: 1, tid: 1, ts: 20 },
      { ph: "E", pid: 1, tid: 1, ts: 21 },
      { ph: "M", name: "process_sort_index", pid: 1, args: { sort_index: 3 } },
    ];
    expect(chromeTraceFaults(events)).toEqual([]);
    expect(chromeTraceFaults({ traceEvents: events, displayTimeUnit: "ns" })).toEqual([]);
    expect(chromeTraceFaults(JSON.stringify(events))).toEqual([]);
  });

  it.each([
    ["a file", "{", "the file is not JSON"],
    ["a file without events", "{}", "the file is to be a list of events, or an object with such a list as traceEvents"],
    ["null", null, "the file is to be a list of events, or an object with such a list as traceEvents"],
  ])("refuses %s that is none", (_, file, fault) => expect(chromeTraceFaults(file)).toEqual([fault]));

  it.each([
    ["no object", 3, "is no object"],
    ["an unknown phase", { ph: "Q", pid: 1 }, 'ph is "Q"; phases that are checked are B E X b n e s t f i C M'],
    ["no time", { ...slice(0, 1), ts: "0" }, "ts is no finite number from 0"],
    ["a time before 0", slice(-1, 1), "ts is no finite number from 0"],
    ["no duration", { ...slice(0, 1), dur: undefined }, "dur is no finite number from 0"],
    ["no name", { ...slice(0, 1), name: undefined }, "name is no text"],
    ["no thread", { ...slice(0, 1), tid: undefined }, "tid is no whole number"],
    ["no process", { ...slice(0, 1), pid: "a0" }, "pid is no whole number"],
    [
      "a counter of text",
      { ph: "C", name: "HBM", pid: 1, ts: 0, args: { bytes: "1" } },
      "args of a counter are to be numbers, at least one",
    ],
    ["an instant of no scope", { ph: "i", name: "x", pid: 1, tid: 1, ts: 0, s: "q" }, "s is none of g, p and t"],
    ["a flow without an id", { ...flow("s", 0, 1), id: undefined }, "id is neither a text nor a whole number"],
    ["a binding point of a start", { ...flow("s", 0, 1), bp: "e" }, 'bp is for f, and "e"'],
    [
      "metadata of another type",
      { ph: "M", name: "thread_name", pid: 1, tid: 1, args: { name: 3 } },
      "the metadata are of no known name, or their args do not suit it",
    ],
  ])("finds an event with %s", (_, event, fault) => expect(faultsOf(event)).toEqual([`event 3: ${fault}`]));

  it("finds slices of one track that overlap without nesting, and none of two tracks", () => {
    expect(faultsOf(slice(0, 10), slice(5, 10))).toEqual([
      "track 1 1: slices overlap without one being within the other, 0 to 10 µs and 5 to 15 µs",
    ]);
    expect(faultsOf(slice(0, 10), slice(5, 10, 2))).toEqual([]);
    const begun = (ts: number) => ({ ph: "B", name: "op", pid: 1, tid: 1, ts });
    const ended = (ts: number) => ({ ph: "E", pid: 1, tid: 1, ts });
    expect(faultsOf(begun(0), begun(1), ended(2), ended(2), begun(2), ended(2))).toEqual([]);
    expect(faultsOf(begun(0), ended(10), slice(5, 6))).toEqual([
      "track 1 1: slices overlap without one being within the other, 0 to 10 µs and 5 to 11 µs",
    ]);
  });

  it("adds up times in doubles, as importers do", () => {
    expect(faultsOf(slice(0.1, 0.2), slice(0.3, 1))).toEqual([
      "track 1 1: slices overlap without one being within the other, 0.1 to 0.30000000000000004 µs and 0.3 to 1.3 µs",
    ]);
  });

  it("finds flows that bind to nothing, start twice, never end, or end before they start", () => {
    const slices = [slice(0, 10), slice(5, 10, 2)];
    expect(faultsOf(...slices, flow("s", 10, 1), flow("f", 15, 2, { bp: "e" }))).toEqual([
      "flow transfer move 7: s at 10 µs lies in no slice",
      "flow transfer move 7: f at 15 µs lies in no slice",
    ]);
    expect(faultsOf(...slices, flow("s", 1, 1), flow("f", 16, 2))).toEqual([
      "flow transfer move 7: f at 16 µs lies in no slice",
    ]);
    expect(faultsOf(...slices, flow("s", 1, 1), flow("f", 5, 2))).toEqual([]);
    expect(faultsOf(...slices, flow("s", 1, 1), flow("s", 2, 1), flow("f", 5, 2))).toEqual([
      "flow transfer move 7: has 2 starts",
    ]);
    expect(faultsOf(...slices, flow("s", 1, 1))).toEqual(["flow transfer move 7: has no end"]);
    expect(faultsOf(...slices, flow("s", 9, 1), flow("f", 6, 2, { bp: "e" }))).toEqual([
      "flow transfer move 7: goes on at 6 µs, before it starts at 9 µs",
    ]);
  });

  it("finds asynchronous slices and B and E that do not pair, and tracks without names", () => {
    expect(faultsOf(asynchronous("e", 0))).toEqual(["asynchronous request 0x1: ends before it begins"]);
    expect(faultsOf(asynchronous("b", 0))).toEqual(["asynchronous request 0x1: does not end"]);
    expect(faultsOf({ ph: "E", pid: 1, tid: 1, ts: 0 })).toEqual(["track 1 1: E at 0 µs ends nothing"]);
    expect(faultsOf({ ph: "B", name: "x", pid: 1, tid: 1, ts: 0 })).toEqual([
      "track 1 1: 1 slices begun by B do not end",
    ]);
    expect(faultsOf(slice(0, 1, 9))).toEqual(["thread 9 of process 1 has no thread_name"]);
    expect(faultsOf({ ...slice(0, 1), pid: 4 })).toEqual([
      "process 4 has no process_name",
      "thread 1 of process 4 has no thread_name",
    ]);
  });
});
