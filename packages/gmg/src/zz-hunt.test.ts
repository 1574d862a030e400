import fc from "fast-check";
import { test } from "vitest";
import { KINDS, Play } from "../test/graph-play.ts";
import { worldArbitrary } from "../test/graph-world.ts";
import { throughJson } from "../test/snapshot-session.ts";
const playArbitrary = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS, "submit", "issue", "issue", "start", "start", "complete", "complete"),
    pick: fc.nat(30), others: fc.array(fc.nat(30), { minLength: 6, maxLength: 6 }), flags: fc.nat(31), saves: fc.nat(5),
  }), { minLength: 20, maxLength: 80, size: "max" });
function run(world: any, steps: any, saves: boolean): string | null {
  try {
    const play = new Play(world, []);
    for (const step of steps) {
      if (saves && step.saves === 0) Object.assign(play, { graph: throughJson(play.graph) });
      play.step(step);
    }
    play.drain();
    return null;
  } catch (e) { return String((e as Error).message).slice(0, 300) + (e as Error).stack?.split("\n").slice(1,6).join("|"); }
}
test("hunt", () => {
  const end = Date.now() + 500_000; let n = 0, bad = 0;
  while (Date.now() < end && bad < 4) {
    for (const [world, steps] of fc.sample(fc.tuple(worldArbitrary, playArbitrary), 50)) {
      n++;
      const plain = run(world, steps, false);
      const saved = run(world, steps, true);
      if (plain !== null || saved !== null) { bad++; console.log("PLAIN", plain, "\nSAVED", saved); if (plain === null) { console.log(JSON.stringify([world, steps])); } }
    }
  }
  console.log(n, bad);
}, 600_000);
