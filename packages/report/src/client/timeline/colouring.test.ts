import { expect, test } from "vitest";
import { runOf } from "../../evidence/run.ts";
import { timelineBlock } from "../../evidence/timeline-block.ts";
import { madeRecord } from "../../record.fixture.ts";
import type { TimelineMeta } from "../../shared/blocks.ts";
import { unpack } from "../../shared/columns.ts";
import { legendOf, slotsOf } from "./colouring.ts";
import { absences } from "./marks.ts";
import { timelineOf } from "./timeline.ts";

const names = { tenants: ["blue", "red"], operators: ["decode/b", "prefill/a"] };
const record = madeRecord({
  endNs: 100,
  operators: [
    { accelerator: 0, startNs: 0, endNs: 10, name: "prefill/a", rank: 0, tenant: "red", instance: 0 },
    { accelerator: 0, startNs: 10, endNs: 20, name: "decode/b", rank: 1, tenant: "blue", instance: 1 },
    { accelerator: 0, startNs: 20, endNs: 30, name: "decode/c", rank: 1, tenant: "green", instance: 2 },
    { accelerator: 0, startNs: 30, endNs: 40, name: "decode/b", rank: 0, tenant: "red", instance: 3, outcome: "lost" },
    { accelerator: 0, startNs: 40, endNs: 50, name: "decode/b", rank: -1, tenant: "red", instance: 4 },
  ],
});
const timeline = timelineOf(unpack<TimelineMeta>(timelineBlock(runOf({ name: "p", record }, 100), 1)));

test("a name has its colour, less urgent work is hatched, what was lost stands out", () => {
  expect(Array.from(slotsOf(timeline, "tenant", names))).toEqual([1, 8, 15, 16, 1]);
  expect(Array.from(slotsOf(timeline, "class", names))).toEqual([0, 9, 9, 16, 7]);
  expect(Array.from(slotsOf(timeline, "operator", names))).toEqual([1, 8, 15, 16, 0]);
});

test("the legend tells the colours that occur", () => {
  const used = new Set(slotsOf(timeline, "tenant", names));
  expect(legendOf("tenant", names, record.priorities, used)).toEqual([
    { slot: 8, text: "blue" },
    { slot: 1, text: "red" },
    { slot: 15, text: "others" },
    { slot: 15, text: "hatched: less urgent" },
    { slot: 16, text: "failed or lost" },
  ]);
  expect(legendOf("class", names, record.priorities, new Set([0, 9]))).toEqual([
    { slot: 0, text: "online" },
    { slot: 9, text: "offline" },
    { slot: 15, text: "hatched: less urgent" },
  ]);
});

test("an accelerator is away from its loss to its return, or to the end", () => {
  const notice = (kind: string, accelerator: number, atNs: number) => ({ kind, accelerator, atNs, text: "" });
  const list = [
    notice("acceleratorReturned", 2, 1),
    notice("acceleratorLost", 0, 5),
    notice("acceleratorLost", 1, 6),
    notice("acceleratorReturned", 0, 9),
    notice("acceleratorLost", 0, 12),
  ];
  expect(absences(list, 20)).toEqual([
    { accelerator: 0, fromNs: 5, toNs: 9 },
    { accelerator: 1, fromNs: 6, toNs: 20 },
    { accelerator: 0, fromNs: 12, toNs: 20 },
  ]);
});
