import { Arbiter } from "@slicescheduler/arbitration";
import { describe, expect, test } from "vitest";
import type { NewArbiter } from "./arbiter-twin.ts";
import { worldChoices } from "./choices.ts";
import { deviceMoves, ExecutorMachine } from "./executor-machine.ts";
import { explore } from "./explore.ts";
import { MasterMachine } from "./master-machine.ts";
import { MODEL_PLANTS } from "./model-plants.ts";
import { PartedSystem } from "./parted-system.ts";
import { modelPlants, plantedWorld } from "./planted-worlds.ts";
import { SHAPES, type Shape } from "./shapes.ts";
import type { SmallWorld } from "./small-world.ts";
import { smallWorldOf, type WorldChoice } from "./small-worlds.ts";

const newArbiter: NewArbiter = (topology, options) => new Arbiter(topology, options);

const ALONE: WorldChoice = {
  shape: SHAPES[0] as Shape,
  layouts: [[0, 1]],
  accelerators: 2,
  instances: 1,
  chained: false,
  urgentLast: false,
  memory: "tight",
  copyEngines: 1,
  sharedLink: false,
  channel: "inOrder",
  fault: null,
  issuedAheadMax: 8,
};

test("nothing breaks in any order: worlds of two operators, all of them", () => {
  for (const choice of worldChoices("few")) {
    const { world, complete, found, ends } = explore(smallWorldOf(choice), { newArbiter });
    expect(found?.story ?? [], world).toEqual([]);
    expect([complete, ends > 0], world).toEqual([true, true]);
  }
});

test("nothing breaks in any order: four transfers between three accelerators, cancelled at any moment", () => {
  const crossed = SHAPES.find(({ name }) => name === "crossed") as Shape;
  const world = smallWorldOf({ ...ALONE, shape: crossed, layouts: [[0, 1, 2, 0]], accelerators: 3, fault: "cancel" });
  const { complete, found, states, compared } = explore(world, { newArbiter });
  expect(found?.story ?? []).toEqual([]);
  expect(complete).toBe(true);
  expect(states).toBeGreaterThan(500);
  expect(compared).toBeGreaterThan(0);
});

const shapeOf = (name: string) => SHAPES.find((shape) => shape.name === name) as Shape;

test.each<[string, Partial<WorldChoice>]>([
  [
    "work gives way to more urgent work, and is heard to be back before its transfers are heard to be off",
    { shape: shapeOf("chain"), layouts: [[0, 1, 0]], instances: 2, urgentLast: true, channel: "perAccelerator" },
  ],
  [
    "an accelerator is lost and comes back between two instances of a request that keeps a result on another one",
    { shape: shapeOf("fanOut"), layouts: [[0, 1, 1]], chained: true, channel: "immediate", fault: "acceleratorLost" },
  ],
  [
    "all transfers become overdue, while what was heard of them waits for what it follows from",
    { shape: shapeOf("chain"), layouts: [[0, 1, 0]], channel: "perAccelerator", fault: "timePasses" },
  ],
  [
    "an instance is cancelled while what was heard of it waits for what it follows from",
    { shape: shapeOf("longChain"), layouts: [[0, 1, 1, 0]], channel: "perAccelerator", fault: "cancel" },
  ],
])("found once: %s", (_, choice) => {
  const { complete, found, states } = explore(smallWorldOf({ ...ALONE, ...choice }), { newArbiter });
  expect(found?.story ?? []).toEqual([]);
  expect(complete).toBe(true);
  expect(states).toBeGreaterThan(200);
});

test("the states are those that real machines come to along every way, one by one", () => {
  const world = smallWorldOf({ ...ALONE, fault: "cancel" });
  const { states, transitions } = explore(world);
  const twin = everyWay(world);
  expect([states, transitions]).toEqual([twin.states.size, twin.transitions]);
});

describe("planted faults are found, and not without the fault", () => {
  test.each(modelPlants())("%s", (plant) => {
    const world = plantedWorld(plant);
    const { found, moves, states } = explore(world, { newArbiter });
    if (plant === "noReservationWaits") expectStandstillInWords(found?.story ?? []);
    expect(found?.violation.kind).toBe(EXPECTED[plant].kind);
    expect(found?.violation.words).toMatch(EXPECTED[plant].words);
    expect(found?.story.filter((line) => /^\d+\. /.test(line))).toHaveLength(moves);
    // The same search without the fault finds nothing.
    const clean = explore({ ...world, plant: null }, { newArbiter, statesMax: Math.min(states, 200) });
    expect(clean.found).toBeNull();
    expect(MODEL_PLANTS[plant].length).toBeGreaterThan(0);
  });
});

const EXPECTED = {
  sendBeforeRecv: { kind: "broken", words: /^ILLEGAL_MOVE: .* cannot become sending/ },
  noReservation: { kind: "overCapacity", words: /did not fit and was refused: a\d: tensor \d+ needs/ },
  noReservationWaits: { kind: "standstills", words: /nothing moves any more/ },
  portsFreedTwice: { kind: "broken", words: /a\d has 2 transfers in flight on a port for 1/ },
  doneLost: { kind: "standstills", words: /nothing moves any more/ },
  releaseTooEarly: { kind: "broken", words: /INVARIANT_BROKEN: .* pending sends/ },
  releaseLost: { kind: "leakedBytes", words: /bytes are left on a0/ },
  recvTwice: { kind: "broken", words: /^ILLEGAL_MOVE: .* cannot become receiving/ },
};

test("no way shorter than the one that is told leads to the planted fault", () => {
  const world = plantedWorld("sendBeforeRecv");
  const { moves } = explore(world);
  const system = new PartedSystem(world, null);
  const isReached = (state: readonly number[], left: number): boolean =>
    left > 0 && system.movesFrom(state).some(({ next }) => next === null || isReached(next, left - 1));
  expect([isReached(system.first, moves - 1), isReached(system.first, moves)]).toEqual([false, true]);
});

function expectStandstillInWords(story: readonly string[]): void {
  expect(story).toContain("found: nothing moves any more, and instance 0 has no outcome");
  expect(story.find((line) => /waits for \d+ bytes on a\d, where \d+ are free/.test(line))).toBeDefined();
  expect(story.find((line) => /^a\d has \d+ of \d+ bytes in use: x\.o of instance \d/.test(line))).toBeDefined();
}

test("an arbiter that selects otherwise than the master's is found out", () => {
  const wide: NewArbiter = ({ portCapacity, ...topology }, options) =>
    new Arbiter({ ...topology, portCapacity: portCapacity.map((capacity) => capacity + 1) }, options);
  const world = smallWorldOf({ ...ALONE, instances: 2, memory: "ample", channel: "immediate" });
  expect(explore(world, { newArbiter: wide }).found?.violation.words).toMatch(/an arbiter told the same selects \[\d/);
});

/** Every state of a world with lines, by giving fresh machines every sequence of inputs that leads somewhere new. */
function everyWay(world: SmallWorld): { readonly states: ReadonlySet<string>; readonly transitions: number } {
  const first = runAlong(world, []);
  const states = new Set([first.text]);
  const pending = [{ way: [] as number[], moves: first.moves }];
  let transitions = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (let move = 0; move < next.moves; move++) {
      transitions += 1;
      const way = [...next.way, move];
      const { text, moves } = runAlong(world, way);
      if (states.has(text)) continue;
      states.add(text);
      pending.push({ way, moves });
    }
  }
  return { states, transitions };
}

/** Takes fresh machines along a way, by the index of each move among those that were possible. */
function runAlong(world: SmallWorld, way: readonly number[]) {
  const master = new MasterMachine(world, null);
  const executor = new ExecutorMachine(world);
  const toExecutor: string[] = [];
  const toMaster: string[] = [];
  let asked = 0;
  let faults = 1;
  const tell = (events: Parameters<MasterMachine["apply"]>[0]["events"]) => {
    const { instructions } = master.apply({ events, picks: [] });
    if (instructions.length > 0) toExecutor.push(JSON.stringify(instructions));
  };
  const give = (input: Parameters<ExecutorMachine["apply"]>[0]) => {
    for (const { event } of executor.apply(input)) toMaster.push(JSON.stringify(event));
  };
  const possible = () => {
    const moves: (() => void)[] = [];
    const part = world.script[asked];
    if (part !== undefined) {
      moves.push(() => {
        asked += 1;
        tell(part);
      });
    }
    if (toExecutor.length > 0)
      moves.push(() => give({ type: "takes", instructions: JSON.parse(toExecutor.shift() ?? "") }));
    if (toMaster.length > 0) moves.push(() => tell([JSON.parse(toMaster.shift() ?? "")]));
    for (const { move } of deviceMoves(executor.info(), world, false)) moves.push(() => give(move));
    for (const [instance, outcome] of master.info().outcomes.entries()) {
      if (outcome !== "live" || faults === 0) continue;
      moves.push(() => {
        faults -= 1;
        tell([{ type: "instanceCancelled", instance }]);
      });
    }
    return moves;
  };
  for (const move of way) possible()[move]?.();
  const text = JSON.stringify([master.encode(), executor.encode(), toExecutor, toMaster, asked, faults]);
  return { text, moves: possible().length };
}
