import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";
import type { Scene } from "../scene.ts";
import { made } from "../work.ts";
import { FREE_BYTES } from "../world.ts";

/** What fails, and what does not fail with it. */
export const failureChecks: readonly Check[] = [
  {
    rule: "an operator that does not fit as it would start fails with the cause outOfMemory, leaves nothing, and the next one has its turn",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const filler = numbers.source(0, FREE_BYTES / 2);
      const tooLarge = [
        numbers.source(0, FREE_BYTES),
        numbers.work(0, { scratchBytes: FREE_BYTES }),
        numbers.pair(0, [FREE_BYTES / 4, FREE_BYTES / 2]),
      ];
      const next = numbers.work(0);
      scene.execute(filler, ...tooLarge, next);
      await scene.done(filler, next);
      for (const { issueNumber } of tooLarge) failedBecause(scene, issueNumber, "outOfMemory");
      await stage.memory(scene).uses(0, FREE_BYTES / 2, "what did not fit left nothing");
    },
  },
  {
    rule: "an operator whose input is gone fails with the cause inputLost",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      scene.execute(producer, { type: "release", tensor: made(producer), accelerator: 0 });
      await scene.done(producer);
      const near = numbers.sink(0, numbers.here(made(producer)));
      const far = numbers.map(1, numbers.bring(made(producer), 0), 256);
      const next = [numbers.work(0), numbers.work(1)];
      scene.execute(near, far, ...next);
      await scene.hears(["operatorFailed", near.issueNumber], ["operatorFailed", far.issueNumber]);
      for (const { issueNumber } of [near, far]) failedBecause(scene, issueNumber, "inputLost");
      await scene.done(...next);
      await stage.memory(scene).isEmpty("nothing was made that was not released");
    },
  },
  {
    rule: "an issue that comes too late for its transfer fails with the cause inputLost",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const moved = numbers.bring(made(producer), 0);
      const first = numbers.sink(1, moved);
      scene.execute(producer, first, { type: "release", tensor: made(producer), accelerator: 1 });
      await scene.done(first);
      const late = numbers.sink(1, moved);
      scene.execute(late);
      await scene.hears(["operatorFailed", late.issueNumber]);
      failedBecause(scene, late.issueNumber, "inputLost");
    },
  },
  {
    rule: "an operator that fails touches nobody else: its results are forgotten, its consumers stay blocked, all else goes on",
    where: WHERE.hears,
    needs: "failsOperators",
    run: async (stage) => {
      const scene = await stage.open();
      const { backend, numbers } = scene;
      const input = numbers.source(0, 512);
      const failing = numbers.map(0, numbers.here(made(input)), 1_024, { scratchBytes: 2_048 });
      const moved = numbers.bring(made(failing), 0);
      const consumers = [numbers.sink(0, numbers.here(made(failing))), numbers.sink(1, moved)] as const;
      const others = [numbers.sink(0, numbers.here(made(input))), numbers.work(1)];
      backend.failOperator?.(failing.issueNumber);
      scene.execute(input, failing, ...consumers, ...others);
      await scene.done(...others);
      await scene.hears(["operatorFailed", failing.issueNumber], ["transferCancelled", moved.transfer ?? -1]);
      failedBecause(scene, failing.issueNumber, "fault");
      await scene.quiet();
      for (const { issueNumber } of consumers) scene.silent("consumers stay blocked", ["operatorStarted", issueNumber]);
      await stage.memory(scene).uses(0, 512, "the failed operator left nothing");
      scene.execute(...consumers.map(({ issueNumber }) => ({ type: "withdraw", issueNumber }) as const));
      await scene.hears(...consumers.map(({ issueNumber }) => ["withdrawn", issueNumber] as const));
    },
  },
  {
    rule: "a transfer that fails leaves no copy and keeps its source; its consumers stay blocked",
    where: WHERE.interface,
    needs: "failsTransfers",
    run: async (stage) => {
      const scene = await stage.open();
      const { backend, numbers } = scene;
      const producer = numbers.source(0, 512);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      const consumer = numbers.sink(1, moved);
      backend.failTransfer?.(transfer);
      scene.execute(producer, consumer);
      await scene.hears(["transferFailed", transfer]);
      await scene.quiet();
      scene.silent("the consumer stays blocked", ["operatorStarted", consumer.issueNumber]);
      const memory = stage.memory(scene);
      await memory.uses(0, 512, "the source is held");
      await memory.uses(1, 0, "the receive buffer was given back");
      scene.execute({ type: "withdraw", issueNumber: consumer.issueNumber });
      await scene.hears(["withdrawn", consumer.issueNumber]);
      const again = numbers.sink(1, numbers.bring(made(producer), 0));
      scene.execute(again);
      await scene.done(again);
    },
  },
];

function failedBecause(scene: Scene, issueNumber: number, cause: string): void {
  const failed = scene.find("operatorFailed", issueNumber);
  scene.expect(
    failed.cause === cause,
    `operatorFailed ${issueNumber} with the cause ${cause}`,
    `the cause ${failed.cause}`,
  );
  scene.expect(failed.reason !== "", "a reason in words", "none");
}
