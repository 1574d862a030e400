import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { timelineOf } from "../client/timeline/timeline.ts";
import { operatorWords } from "../client/timeline/words.ts";
import { type MadeOperator, madeRecord } from "../record.fixture.ts";
import type { TimelineMeta } from "../shared/blocks.ts";
import { unpack } from "../shared/columns.ts";
import { runOf } from "./run.ts";
import { timelineBlock } from "./timeline-block.ts";

/** Operators that follow each other on three accelerators. */
const operators = fc
  .array(
    fc.record({
      accelerator: fc.nat(2),
      gapNs: fc.nat(5_000_000),
      durationNs: fc.integer({ min: 1, max: 2 ** 40 }),
      name: fc.constantFrom("prefill/a", "decode/b", "decode/c"),
      rank: fc.constantFrom(-1, 0, 1),
      tenant: fc.constantFrom("", "red", "blue"),
      request: fc.nat(5),
      instance: fc.nat(30),
      outcome: fc.constantFrom("done" as const, "failed" as const),
    }),
    { maxLength: 60 },
  )
  .map((list) => {
    const free = [0, 0, 0];
    return list.map(({ gapNs, durationNs, ...rest }): MadeOperator => {
      // What is told of an instance is the same for all of its operators.
      const { instance } = rest;
      const startNs = (free[rest.accelerator] ?? 0) + gapNs;
      free[rest.accelerator] = startNs + durationNs;
      const told = { rank: (instance % 3) - 1, tenant: ["", "red", "blue"][instance % 3] ?? "", request: instance % 6 };
      return { ...rest, ...told, startNs, endNs: startNs + durationNs };
    });
  });

test.prop([operators, fc.constantFrom(1, 1000, 100_000)])(
  "the browser gets back every operator, its times to the unit, in its row",
  (list, unitNs) => {
    const record = madeRecord({ accelerators: ["x", "y", "z"], endNs: 2 ** 47, operators: list });
    const run = runOf({ name: "p", record }, 1e9);
    const timeline = timelineOf(unpack<TimelineMeta>(timelineBlock(run, unitNs)));
    const back: unknown[] = [];
    for (let row = 0; row < 3; row++) {
      for (let i = timeline.offsets[row] ?? 0; i < (timeline.offsets[row + 1] ?? 0); i++) {
        const instance = timeline.instance[i] ?? -1;
        back.push({
          accelerator: row,
          startNs: timeline.startNs[i],
          endNs: timeline.endNs[i],
          name: timeline.meta.operatorNames[timeline.name[i] ?? -1],
          rank: timeline.instanceRank[instance],
          tenant: timeline.meta.tenants[timeline.instanceTenant[instance] ?? -1],
          request: timeline.requestNumber[timeline.instanceRequest[instance] ?? -1],
          instance: timeline.instanceNumber[instance],
          outcome: timeline.meta.outcomes[timeline.outcome[i] ?? -1],
        });
      }
    }
    const rounded = (ns: number): number => Math.round(ns / unitNs) * unitNs;
    const expected = [0, 1, 2].flatMap((row) =>
      list
        .filter((it) => it.accelerator === row)
        .map((it) => ({ ...it, startNs: rounded(it.startNs), endNs: rounded(it.endNs ?? 0) })),
    );
    expect(back).toEqual(expected);
  },
);

test("an operator in words names request, label, tenant and class, and how it ended unless it was done", () => {
  const record = madeRecord({
    endNs: 5e9,
    operators: [
      {
        accelerator: 1,
        startNs: 1e9,
        endNs: 1.5e9,
        name: "decode/b",
        rank: 1,
        request: 7,
        instance: 3,
        outcome: "failed",
      },
      { accelerator: 1, startNs: 2e9, name: "decode/b", rank: 0, request: 8, instance: 4 },
    ],
    requests: [{ id: 7, label: "red #7", submittedNs: 0 }],
  });
  const run = runOf({ name: "p", record, tenantOf: (label) => label.replace(/ #.*/, "") }, 1e9);
  const timeline = timelineOf(unpack<TimelineMeta>(timelineBlock(run, 1)));
  expect(operatorWords(timeline, 0, "a1", 4e9)).toEqual({
    name: "decode/b",
    facts: [
      ["accelerator", "a1"],
      ["from", "1.000000 s"],
      ["took", "500 ms"],
      ["class", "offline"],
      ["tenant", "red"],
      ["request", "7 (red #7)"],
      ["instance", "3"],
      ["ended", "failed"],
    ],
  });
  // Still running when the record ended, and of a request that was dropped from it.
  expect(operatorWords(timeline, 1, "a1", 4e9).facts.slice(2)).toEqual([
    ["took", "3 s"],
    ["class", "online"],
    ["request", "8"],
    ["instance", "4"],
    ["ended", "running"],
  ]);
});
