import fc from "fast-check";
import { test } from "vitest";
import { worldArbitrary } from "../test/graph-world.ts";
import { LOSS_KINDS, LossPlay, seenLosses } from "../test/loss-play.ts";

const weights = {
  open: 2,
  submit: 5,
  step: 12,
  lose: 2,
  return: 3,
  drain: 1,
  cancel: 1,
  recall: 1,
  displace: 1,
  promote: 2,
  unplace: 1,
};

const steps = fc.array(
  fc.record({
    kind: fc.oneof(...LOSS_KINDS.map((kind) => ({ weight: weights[kind], arbitrary: fc.constant(kind) }))),
    pick: fc.nat(1000),
    steps: fc.integer({ min: 1, max: 6 }),
  }),
  { minLength: 10, maxLength: 70, size: "max" },
);

/** Room enough for most of what is submitted, and more than one accelerator. */
const roomyWorlds = worldArbitrary
  .filter(({ accelerators }) => accelerators.length > 1)
  .map((world) => ({
    ...world,
    accelerators: world.accelerators.map((each) => ({ ...each, capacityBytes: 2 * each.capacityBytes })),
  }));

test("whatever accelerators are lost, drained and come back: every instance has one outcome, and nothing is left", () => {
  fc.assert(
    fc.property(roomyWorlds, steps, (world, taken) => {
      const play = new LossPlay(world);
      for (const step of taken) play.step(step);
      play.end();
      play.expectAtRest();
    }),
    { numRuns: Number(process.env["RUNS"] ?? 100) },
  );
  if (process.env["RUNS"] !== undefined) console.log(seenLosses);
});
