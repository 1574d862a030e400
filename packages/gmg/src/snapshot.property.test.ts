import type { GlobalMappingGraph } from "@slicescheduler/gmg";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { KINDS, Play } from "../test/graph-play.ts";
import { worldArbitrary } from "../test/graph-world.ts";
import { nodesDiffer } from "../test/snapshot-nodes.ts";
import { actionArbitrary, roomyWorlds, Session, throughJson } from "../test/snapshot-session.ts";

const numRuns = Number(process.env["RUNS"] ?? 25);

/** What was restored over all runs: the test is worth its time only if there was something of everything. */
const seen = {
  restores: 0,
  issued: 0,
  transfers: 0,
  recalled: 0,
  relocating: 0,
  departed: 0,
  lostReads: 0,
  reordered: 0,
};

function restored(graph: GlobalMappingGraph): GlobalMappingGraph {
  const again = throughJson(graph);
  again.validate();
  expect(again.hash()).toBe(graph.hash());
  const snapshot = graph.snapshot();
  expect(nodesDiffer(graph, again, snapshot.origins.id)).toBe(null);
  seen.restores += 1;
  seen.issued += graph.counts().issuedOperators;
  seen.transfers += graph.counts().transfers;
  seen.recalled += [...snapshot.operators.states].filter((letter) => "IRS".includes(letter)).length;
  seen.relocating += snapshot.relocating.length;
  seen.departed += snapshot.departed;
  seen.lostReads += snapshot.operators.lostReads.length;
  seen.reordered += snapshot.tensors.reordered.length;
  return again;
}

/** What a graph does wrong by itself is for other tests to find: the restored one does it as well. */
function failureOf(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (error) {
    return String(error);
  }
}

/** Whether both can go on. */
function goAlike(kept: Session, moved: Session, go: (session: Session) => void): boolean {
  const failure = failureOf(() => go(kept));
  expect(failureOf(() => go(moved))).toBe(failure);
  expect(moved.log).toEqual(kept.log);
  if (failure !== null) return false;
  expect(moved.graph.hash()).toBe(kept.graph.hash());
  return true;
}

test("a restored graph does for the same calls what the saved one does, to the end, whatever is lost or recalled", () => {
  fc.assert(
    fc.property(
      roomyWorlds,
      fc.constantFrom("guaranteed" as const, "guaranteed" as const, "predicted" as const),
      fc.array(fc.record({ action: actionArbitrary, saves: fc.nat(4) }), { minLength: 10, maxLength: 60, size: "max" }),
      (world, memorySafety, steps) => {
        const kept = new Session(world, memorySafety);
        const moved = new Session(world, memorySafety);
        for (const { action, saves } of steps) {
          if (saves === 0) moved.exchange(restored(moved.graph));
          if (!goAlike(kept, moved, (session) => session.apply(action))) return;
        }
        moved.exchange(restored(moved.graph));
        goAlike(kept, moved, (session) => session.end());
      },
    ),
    { numRuns },
  );
});

const playArbitrary = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS, "submit", "issue", "issue", "start", "start", "complete", "complete"),
    pick: fc.nat(30),
    others: fc.array(fc.nat(30), { minLength: 6, maxLength: 6 }),
    flags: fc.nat(31),
    saves: fc.nat(5),
  }),
  { minLength: 20, maxLength: 80, size: "max" },
);

test("a graph that is restored again and again agrees with a twin that never is, as far as one does that is not", () => {
  fc.assert(
    fc.property(worldArbitrary, playArbitrary, (world, steps) => {
      const play = (saves: boolean) =>
        failureOf(() => {
          const each = new Play(world, []);
          for (const step of steps) {
            if (saves && step.saves === 0) Object.assign(each, { graph: restored(each.graph) });
            each.step(step);
          }
          each.drain();
        });
      expect(play(true)).toBe(play(false));
    }),
    { numRuns },
  );
});

afterAll(() => {
  if (process.env["RUNS"] !== undefined) console.log(seen);
});
