import { expect, test } from "vitest";
import { madeRecord } from "../record.fixture.ts";
import { decisionsMeta, shownDecisionsMax } from "./decisions.ts";

type Decision = Parameters<typeof decisionsMeta>[0]["decisions"]["kept"][number];
type Candidate = Decision["candidates"][number];

function candidate(partition: string, more: Partial<Candidate> = {}): Candidate {
  return { partition, scoreNs: null, leastNs: null, movedBytes: 0, shortage: null, outOfMemory: null, ...more };
}

function decision(round: number, candidates: readonly Candidate[]): Decision {
  return {
    round,
    atNs: 1e9 + round,
    instance: 5 as Decision["instance"],
    operators: [0, 1],
    partition: "pair0",
    candidates,
  };
}

test("every candidate has its verdict, and why", () => {
  const shortage = { accelerator: "a4", neededBytes: 4e9, availableBytes: 1e9, cause: "room" as const };
  const outOfMemory = { accelerator: "a6", atNs: 1.1e9, operator: null, bytesOver: 3e8 };
  const candidates = [
    candidate("pair0", { scoreNs: 1.3e9 }),
    candidate("pair1", { scoreNs: 1.4e9, movedBytes: 5 }),
    candidate("pair2", { scoreNs: 1.3e9 }),
    candidate("pair3", { shortage }),
    candidate("pair4", { outOfMemory }),
    candidate("pair5", { leastNs: 1.5e9 }),
    candidate("pair6"),
  ];
  const record = madeRecord({ startNs: 1e9, endNs: 2e9, decisions: [decision(0, candidates)] });
  const { seen, rejectingSeen, shown } = decisionsMeta(record);
  expect([seen, rejectingSeen, shown.length]).toEqual([1, 1, 1]);
  expect(shown[0]).toMatchObject({ atNs: 0, batch: "2 operators", partition: "pair0", instance: 5 });
  expect(shown[0]?.candidates.map(({ verdict, why }) => [verdict, why])).toEqual([
    ["chosen", ""],
    ["slower", "ends 100 ms later"],
    ["slower", "ends at the same time; fewer bytes moved, or the name, decided"],
    ["rejected", "a4: needs 4 GB, 1 GB available (the bytes are taken)"],
    ["rejected", "would run out of memory: a6 300 MB over, 100 ms later, at a receive buffer"],
    ["not simulated", "cannot end sooner than in 500 ms: not worth simulating"],
    ["not simulated", "given up in simulation: it could not win any more"],
  ]);
});

test("of few decisions with a choice among many without, those are shown; all of a few decisions are", () => {
  const decisions = Array.from({ length: 2000 }, (_, round) =>
    decision(
      round,
      ["pair0", ...(round % 100 === 7 ? ["pair1"] : [])].map((it) => candidate(it)),
    ),
  );
  const { shown } = decisionsMeta(madeRecord({ endNs: 2e9, decisions }));
  expect(shown).toHaveLength(shownDecisionsMax);
  expect(shown.filter((it) => it.candidates.length > 1)).toHaveLength(20);
  const choices = decisions.map((it) => ({ ...it, candidates: [candidate("pair0"), candidate("pair1")] }));
  expect(decisionsMeta(madeRecord({ endNs: 2e9, decisions: choices })).shown).toHaveLength(shownDecisionsMax);
  const few = decisionsMeta(madeRecord({ endNs: 2e9, decisions: choices.slice(0, 130) })).shown;
  expect(few.map(({ round }) => round)).toEqual(choices.slice(0, 130).map(({ round }) => round));
});

test("of many decisions those are shown that rejected something, up to half, and others spread over the run", () => {
  const shortage = { accelerator: "a4", neededBytes: 4e9, availableBytes: 1e9, cause: "order" as const };
  const decisions = Array.from({ length: 2000 }, (_, round) =>
    decision(round, [
      candidate("pair0", { scoreNs: 2e9 }),
      ...(round % 2 === 0 ? [candidate("pair1", { shortage })] : []),
    ]),
  );
  const { shown } = decisionsMeta(madeRecord({ endNs: 2e9, decisions }));
  expect(shown).toHaveLength(shownDecisionsMax);
  expect(shown.filter((it) => it.candidates.length > 1)).toHaveLength(shownDecisionsMax / 2);
  const rounds = shown.map((it) => it.round);
  expect(rounds).toEqual([...rounds].sort((a, b) => a - b));
  expect([rounds[0], rounds.at(-1)]).toEqual([0, 1999]);
});
