import type { ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";
import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";
import { made } from "../work.ts";
import { FREE_BYTES } from "../world.ts";

const KIB = 1_024;

/** What is in memory, and since when until when. */
export const memoryChecks: readonly Check[] = [
  {
    rule: "what is free is HBM without margin and baseline",
    where: WHERE.memory,
    run: async (stage) => {
      await stage.memory(await stage.open()).isEmpty("nothing was issued");
    },
  },
  {
    rule: "an operator takes no memory before it starts",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      scene.execute(scene.numbers.source(0, 8 * KIB, { held: true, scratchBytes: KIB }));
      await stage.memory(scene).uses(0, 0, "nothing has started");
    },
  },
  {
    rule: "a result is held until it is released",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const pair = numbers.pair(0, [KIB, 2 * KIB]);
      scene.execute(pair);
      await scene.done(pair);
      const memory = stage.memory(scene);
      await memory.uses(0, 3 * KIB, "both results are held");
      scene.execute(release(pair));
      await memory.uses(0, 2 * KIB, "the second result is held");
      scene.execute(release(pair, 1), release(pair, 1));
      await memory.uses(0, 0, "both were released");
    },
  },
  {
    rule: "a result that was released before it was made is freed as its producer ends",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      const producer = scene.numbers.source(0, KIB);
      scene.execute(producer, release(producer));
      await scene.done(producer);
      await stage.memory(scene).uses(0, 0, "nobody needs the result");
    },
  },
  {
    rule: "a released tensor stays while an issued operator uses it",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, KIB);
      const consumer = numbers.sink(0, numbers.here(made(producer)), { held: true });
      scene.execute(producer, consumer, release(producer));
      await scene.done(producer);
      const memory = stage.memory(scene);
      await memory.uses(0, KIB, `issue ${consumer.issueNumber} uses it`);
      scene.execute({ type: "activate", issueNumber: consumer.issueNumber });
      await scene.done(consumer);
      await memory.uses(0, 0, "its last use has ended");
    },
  },
  {
    rule: "memory is freed before the end is reported and before the next operator starts",
    where: WHERE.events,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 8 * KIB);
      const consumer = numbers.sink(0, numbers.here(made(producer)), { scratchBytes: 4 * KIB });
      const next = numbers.work(0, { rank: 1, scratchBytes: FREE_BYTES });
      const answer = numbers.work(0, { rank: 1, scratchBytes: FREE_BYTES });
      scene.when(["operatorDone", consumer.issueNumber], () => [answer]);
      scene.execute(producer, consumer, release(producer), next);
      await scene.done(next, answer);
    },
  },
  {
    rule: "workspace is in use only while its operator runs",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const result = numbers.source(0, KIB, { scratchBytes: FREE_BYTES - KIB });
      const works = [numbers.work(0, { scratchBytes: 15 * KIB }), numbers.work(0, { scratchBytes: 15 * KIB })];
      scene.execute(result, ...works);
      await scene.done(result, ...works);
      await stage.memory(scene).uses(0, KIB, "only a result is left");
    },
  },
  {
    rule: "each allocation is rounded up to the granularity",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const pair = numbers.pair(0, [40, 72]);
      scene.execute(pair);
      await scene.done(pair);
      await stage.memory(scene).uses(0, 64 + 128, "40 and 72 bytes in granules of 64");
      const fits = numbers.work(0, { scratchBytes: FREE_BYTES - 64 - 128 - 8 });
      scene.execute(fits);
      await scene.done(fits);
    },
  },
  {
    rule: "an output that continues an input shares its buffer and takes only what it grows by",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const first = numbers.source(0, KIB);
      const grown = numbers.grow(0, numbers.here(made(first)), 3 * KIB);
      scene.execute(first, grown);
      await scene.done(grown);
      const memory = stage.memory(scene);
      await memory.uses(0, 3 * KIB, "both share a buffer of the larger size");
      scene.execute(release(grown));
      await memory.uses(0, 3 * KIB, "the first tensor keeps the buffer");
      const smaller = numbers.grow(0, numbers.here(made(first)), 2 * KIB);
      scene.execute(smaller, release(first));
      await scene.done(smaller);
      await memory.uses(0, 3 * KIB, "the third tensor keeps the buffer, which does not shrink");
      scene.execute(release(smaller));
      await memory.uses(0, 0, "all were released");
    },
  },
  {
    rule: "weights are in use from when they are loaded; loading them again changes nothing; what does not fit or has another size is refused",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open();
      scene.execute(weights("w", 4 * KIB), weights("w", 4 * KIB));
      const memory = stage.memory(scene);
      await memory.uses(0, 4 * KIB, "weights were loaded");
      scene.refuses(["OVER_CAPACITY"], weights("more", 13 * KIB));
      scene.refuses(["WEIGHTS_MISMATCH"], weights("w", 5 * KIB));
      await memory.uses(0, 4 * KIB, "what does not fit, or has another size, was refused");
      await memory.uses(1, 0, "weights were loaded on accelerator 0 only");
    },
  },
  {
    rule: "a hold keeps a released copy that is there or still expected",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, KIB);
      const consumer = numbers.sink(0, numbers.here(made(producer)), { held: true });
      scene.execute(producer, consumer, release(producer), hold(producer), release(producer));
      await scene.done(producer);
      scene.execute(hold(producer), { type: "activate", issueNumber: consumer.issueNumber });
      await scene.done(consumer);
      const memory = stage.memory(scene);
      await memory.uses(0, KIB, "it is held again");
      scene.execute(release(producer), hold(producer));
      await memory.uses(0, 0, "the hold came when it had gone");
      const expected = numbers.source(0, 2 * KIB);
      scene.execute(expected, release(expected), hold(expected));
      await scene.done(expected);
      await memory.uses(0, 2 * KIB, "it was held again before it was made");
    },
  },
  {
    rule: "a tensor stays at its source until it was sent; its copy takes memory from activateRecv on",
    where: WHERE.memory,
    run: async (stage) => {
      const scene = await stage.open({ moves: false });
      const { numbers } = scene;
      const producer = numbers.source(0, KIB);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      const consumer = numbers.sink(1, moved, { held: true });
      scene.execute(producer, consumer, release(producer), { type: "release", tensor: moved.tensor, accelerator: 1 });
      await scene.hears(["intentsRaised", transfer], ["operatorDone", producer.issueNumber]);
      const memory = stage.memory(scene);
      await memory.uses(0, KIB, "it is to be sent");
      await memory.uses(1, 0, "its transfer is an intent");
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      await memory.uses(1, KIB, "its receive buffer is there");
      scene.execute({ type: "activateSend", transfer });
      await scene.hears(["transferDone", transfer]);
      await memory.uses(0, 0, "it was sent");
      await memory.uses(1, KIB, `issue ${consumer.issueNumber} uses the copy`);
      scene.execute({ type: "activate", issueNumber: consumer.issueNumber });
      await scene.done(consumer);
      await memory.isEmpty("the last use has ended");
    },
  },
  {
    rule: "the account of stats() counts what happened",
    where: WHERE.interface,
    needs: "keepsAccounts",
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 2 * KIB);
      const consumer = numbers.sink(1, numbers.bring(made(producer), 0));
      const tooLarge = numbers.work(0, { scratchBytes: 2 * FREE_BYTES });
      scene.execute(producer, consumer, tooLarge);
      await scene.done(consumer);
      await scene.hears(["operatorFailed", tooLarge.issueNumber]);
      const stats = scene.executor.stats?.();
      const [first, second] = stats?.accelerators ?? [];
      const found = [
        ...[first?.operators, first?.transfersOut, second?.operators, second?.transfersIn],
        ...[stats?.operatorsFailed, stats?.overCapacityRefused, first?.losses, first?.absent],
      ];
      const expected = [1, 1, 1, 1, 1, 1, 0, false];
      scene.expect(
        JSON.stringify(found) === JSON.stringify(expected),
        `operators, transfersOut of 0, operators, transfersIn of 1, operatorsFailed, overCapacityRefused, losses, absent: ${expected.join()}`,
        found.join(),
      );
      const peakBytes = first?.peakHbmBytes ?? 0;
      const usedBytes = first?.usedHbmBytes ?? 0;
      scene.expect(
        peakBytes >= usedBytes && usedBytes > 0,
        "a peak not below what is in use",
        `${peakBytes} and ${usedBytes}`,
      );
      const { observedNs } = scene.find("operatorDone", producer.issueNumber);
      const busyNs = first?.busyNs ?? 0;
      scene.expect(busyNs >= 1, `busy for as long as an operator ran, ${observedNs} ns`, `${busyNs} ns`);
    },
  },
];

function release({ accelerator, outputs }: IssueInstruction, at = 0): ExecutorInstruction {
  return { type: "release", tensor: outputs[at]?.tensor ?? -1, accelerator };
}

function hold({ accelerator, outputs }: IssueInstruction): ExecutorInstruction {
  return { type: "hold", tensor: outputs[0]?.tensor ?? -1, accelerator };
}

function weights(name: string, bytes: number): ExecutorInstruction {
  return { type: "loadWeights", accelerator: 0, name, bytes };
}
