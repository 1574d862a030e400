import fc from "fast-check";
import { expect, test } from "vitest";
import { libtorchExecutor } from "./index.ts";
import { describeNative } from "./native/describe-native.fixture.ts";
import { cluster, definePrograms, RandomMaster, templates } from "./random-master.fixture.ts";

const unit = fc.noBias(fc.integer({ min: 0, max: 9_999 })).map((number) => number / 10_000);
const draw = fc.tuple(unit, unit, unit, unit);
/** Batches; between two of them the event loop has a turn, or not. */
const batch = fc.record({
  draws: fc.array(draw, { minLength: 1, maxLength: 5, size: "max" }),
  isTurn: fc.boolean(),
  /** One of the accelerators is lost and returns; mostly none. */
  lost: fc.noBias(fc.nat(90)),
});
const batches = fc.array(batch, { minLength: 10, maxLength: 60, size: "max" });

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 1));

describeNative("the native engine under real threads does what the core does", () => {
  // The executor compares every start with the core's, and throws INVARIANT_BROKEN where they part.
  test.each([1, 4, 32])("whatever a master says, with a lookahead of %i", async (lookahead) => {
    let done = 0;
    let transfers = 0;
    await fc.assert(
      fc.asyncProperty(batches, async (said) => {
        const executor = libtorchExecutor({ lookahead });
        definePrograms(executor);
        const master = new RandomMaster(executor);
        executor.open({ cluster, deliver: (event) => master.hear(event) });
        executor.execute(templates.map((template) => ({ type: "registerTemplate", template })));
        for (const { draws, isTurn, lost } of said) {
          master.say(draws);
          if (lost < 3) {
            executor.loseAccelerator(lost);
            executor.returnAccelerator(lost);
          }
          if (isTurn) await turn();
          executor.validate();
        }
        await master.settle(turn);
        executor.validate();
        expect(executor.leftovers()).toEqual({ operators: [], tensors: [], transfers: [] });
        expect(executor.liveTensors()).toBe(0);
        expect(executor.memory().map(({ usedBytes }) => usedBytes)).toEqual([0, 0, 0]);
        done += master.events.filter(({ type }) => type === "operatorDone").length;
        transfers += master.events.filter(({ type }) => type === "transferDone").length;
        executor.close();
      }),
      { numRuns: 40 },
    );
    // It is about something.
    expect(done).toBeGreaterThan(100);
    expect(transfers).toBeGreaterThan(5);
  });
});
