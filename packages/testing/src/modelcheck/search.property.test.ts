import fc from "fast-check";
import { expect, test } from "vitest";
import { Search } from "./search.ts";
import { everyChoice, type Move, type System } from "./system.ts";

/** A graph as a system: a state is a node; `broken` nodes are violations. */
function systemOf(edges: readonly (readonly number[])[], broken: ReadonlySet<number> = new Set()): System {
  const cause = { type: "takes", instructions: [] } as const;
  return {
    width: 1,
    first: [0],
    movesFrom: ([node = 0]): Move[] =>
      (edges[node] ?? []).map((to) => {
        const violation = broken.has(to) ? ({ kind: "broken", words: `node ${to}`, amount: 1 } as const) : null;
        return { next: violation === null ? [to] : null, violation, cause, effects: [] };
      }),
    whatIsLeft: () => null,
    compare: () => null,
    lookAt: () => {
      throw new Error("there is nothing to look at");
    },
    counts: () => ({ machineStates: 0, machineSteps: 0, machineInputs: 0, compared: 0 }),
  };
}

const graphs = fc
  .integer({ min: 1, max: 12 })
  .chain((nodes) =>
    fc.array(fc.array(fc.nat({ max: nodes - 1 }), { maxLength: 3 }), { minLength: nodes, maxLength: nodes }),
  );

/** Least moves to every node that can be reached. */
function distances(edges: readonly (readonly number[])[]): Map<number, number> {
  const found = new Map([[0, 0]]);
  for (let moves = 0; ; moves++) {
    const before = found.size;
    for (const [node, distance] of [...found]) {
      if (distance !== moves) continue;
      for (const to of edges[node] ?? []) if (!found.has(to)) found.set(to, moves + 1);
    }
    if (found.size === before) return found;
  }
}

/** Whether a round can be reached: some way is longer than there are nodes. */
function hasRound(edges: readonly (readonly number[])[]): boolean {
  let ends = new Set([0]);
  for (let moves = 0; moves <= edges.length; moves++) ends = new Set([...ends].flatMap((node) => edges[node] ?? []));
  return ends.size > 0;
}

test("every state is reached by the fewest moves, and a round is found when there is one", () => {
  fc.assert(
    fc.property(graphs, (edges) => {
      const search = new Search(systemOf(edges));
      const violation = search.run();
      const twin = distances(edges);
      expect(search.complete).toBe(true);
      expect(search.states).toBe(twin.size);
      expect(search.depth).toBe(Math.max(...twin.values()));
      expect(search.transitions).toBe([...twin.keys()].reduce((sum, node) => sum + (edges[node]?.length ?? 0), 0));
      expect(violation?.kind).toBe(hasRound(edges) ? "standstills" : undefined);
    }),
  );
});

test("what is broken is found by the fewest moves", () => {
  fc.assert(
    fc.property(graphs, fc.uniqueArray(fc.integer({ min: 1, max: 11 }), { minLength: 1 }), (edges, broken) => {
      const search = new Search(systemOf(edges, new Set(broken)));
      const violation = search.run();
      const twin = distances(edges);
      const nearest = Math.min(...broken.map((node) => twin.get(node) ?? Number.POSITIVE_INFINITY));
      if (nearest === Number.POSITIVE_INFINITY) expect(violation?.kind).not.toBe("broken");
      else {
        expect(violation?.kind).toBe("broken");
        expect(search.moves).toBe(nearest);
        expect(search.way()).toHaveLength(nearest);
      }
    }),
  );
});

test("a search that is stopped says so", () => {
  const line = Array.from({ length: 2000 }, (_, node) => (node < 1999 ? [node + 1] : []));
  const limited = new Search(systemOf(line), { statesMax: 500 });
  expect(limited.run()).toBeNull();
  expect(limited.complete).toBe(false);
  const late = new Search(systemOf(line), { isTimeUp: () => true });
  expect(late.run()).toBeNull();
  expect([late.complete, late.states]).toEqual([false, 1]);
});

test("every way to choose is taken once", () => {
  // Between how many there is a choice depends on what was chosen before.
  const run = (picks: readonly number[]) => {
    const choices: number[] = [];
    const taken: number[] = [];
    for (let between = 2; between <= 3; between += taken.at(-1) === 1 ? 2 : 1) {
      taken.push(picks[choices.length] ?? 0);
      choices.push(between);
    }
    return { choices, taken: taken.join("") };
  };
  const taken = everyChoice(run).map((result) => result.taken);
  expect(taken.sort()).toEqual(["00", "01", "02", "1"]);
});
