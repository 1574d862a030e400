import type { IssueInstruction } from "@slicescheduler/executor";
import type { Check, Stage } from "../check.ts";
import { WHERE } from "../rules.ts";
import { made } from "../work.ts";
import { FREE_BYTES } from "../world.ts";

/** How a transfer is given up, and what is late for it. */
export const transferEndChecks: readonly Check[] = [
  {
    rule: "a planned transfer can be cancelled; its consumers stay blocked until they are withdrawn",
    where: WHERE.interface,
    run: async (stage) => {
      const { scene, producer, consumer, transfer } = await planned(stage, true);
      scene.execute({ type: "cancelTransfer", transfer });
      await scene.hears(["transferCancelled", transfer]);
      scene.execute({ type: "activate", issueNumber: producer.issueNumber });
      await scene.done(producer);
      await scene.quiet();
      scene.silent("no intent of a cancelled transfer", ["intentsRaised", transfer]);
      scene.silent("the consumer stays blocked", ["operatorStarted", consumer.issueNumber]);
      scene.execute({ type: "withdraw", issueNumber: consumer.issueNumber });
      await scene.hears(["withdrawn", consumer.issueNumber]);
      scene.execute({ type: "release", tensor: made(producer), accelerator: 0 });
      await stage.memory(scene).isEmpty("all was withdrawn or released");
    },
  },
  {
    rule: "an intent can be cancelled, also one whose receive buffer was refused",
    where: WHERE.interface,
    run: async (stage) => {
      const { scene, producer, consumer, transfer } = await planned(stage, false);
      const filler = scene.numbers.source(1, FREE_BYTES);
      scene.execute(filler);
      await scene.hears(["operatorDone", filler.issueNumber], ["intentsRaised", transfer]);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvFailed", transfer]);
      scene.execute({ type: "cancelTransfer", transfer }, { type: "release", tensor: made(producer), accelerator: 0 });
      await scene.hears(["transferCancelled", transfer]);
      await stage.memory(scene).uses(0, 0, "it is to be sent nowhere");
      await stage.memory(scene).uses(1, FREE_BYTES, "its copy will not come");
      scene.silent("the consumer stays blocked", ["operatorStarted", consumer.issueNumber]);
    },
  },
  {
    rule: "a transfer that has its receive buffer and does not send can be cancelled: the buffer is free, and a send that comes late is ignored",
    where: WHERE.interface,
    run: async (stage) => {
      const { scene, producer, consumer, transfer } = await planned(stage, false);
      await scene.hears(["intentsRaised", transfer]);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      scene.execute({ type: "cancelTransfer", transfer }, { type: "release", tensor: made(producer), accelerator: 0 });
      await scene.hears(["transferCancelled", transfer]);
      scene.execute({ type: "activateSend", transfer });
      await scene.quiet();
      scene.silent("nothing is sent", ["transferDone", transfer]);
      scene.silent("the consumer stays blocked", ["operatorStarted", consumer.issueNumber]);
      scene.execute({ type: "withdraw", issueNumber: consumer.issueNumber });
      await scene.hears(["withdrawn", consumer.issueNumber]);
      await stage.memory(scene).isEmpty("all was given up or withdrawn");
    },
  },
  {
    rule: "a transfer that sends or has ended cannot be cancelled: the instruction is ignored",
    where: WHERE.interface,
    run: async (stage) => {
      const { scene, consumer, transfer } = await planned(stage, false);
      await scene.hears(["intentsRaised", transfer]);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      scene.execute({ type: "activateSend", transfer }, { type: "cancelTransfer", transfer });
      await scene.done(consumer);
      scene.execute({ type: "cancelTransfer", transfer });
      await scene.quiet();
      scene.silent("the transfer goes on to its end", ["transferCancelled", transfer]);
    },
  },
  {
    rule: "what is said of a transfer that has ended is ignored, of one that never was is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const { scene, consumer, transfer } = await planned(stage, false);
      await scene.hears(["intentsRaised", transfer]);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      scene.execute({ type: "activateSend", transfer });
      await scene.done(consumer);
      const before = scene.events.length;
      scene.execute(scene.recv(transfer), { type: "activateSend", transfer });
      await scene.quiet();
      scene.expect(scene.events.length === before, "no event", `${scene.events.length - before} more`);
      for (const type of ["activateSend", "cancelTransfer"] as const)
        scene.refuses(["UNKNOWN_TRANSFER"], { type, transfer: transfer + 1 });
      const { tensor } = consumer.inputs[0] ?? { tensor: -1 };
      scene.refuses(["UNKNOWN_TRANSFER"], {
        ...{ type: "activateRecv", transfer: transfer + 1, tensor, source: 0, destination: 1, bytes: 512 },
      });
    },
  },
  {
    rule: "an activateRecv that says something else than was issued is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const { scene, consumer, transfer } = await planned(stage, false);
      await scene.hears(["intentsRaised", transfer]);
      const right = {
        type: "activateRecv",
        transfer,
        tensor: consumer.inputs[0]?.tensor ?? -1,
        source: 0,
        destination: 1,
        bytes: 512,
      } as const;
      const wrong = [{ tensor: right.tensor + 1 }, { source: 2 }, { destination: 2 }, { bytes: 513 }, { bytes: -1 }];
      for (const change of wrong) scene.refuses(["INVALID_INSTRUCTION"], { ...right, ...change });
      scene.execute(right);
      await scene.hears(["recvReady", transfer]);
      scene.execute({ type: "activateSend", transfer });
      await scene.done(consumer);
    },
  },
  {
    rule: "when a producer fails, planned transfers of its results are cancelled, onward ones too",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512, { scratchBytes: FREE_BYTES });
      const first = numbers.bring(made(producer), 0);
      const onward = numbers.bring(made(producer), 1);
      const consumers = [numbers.sink(1, first), numbers.sink(2, onward)] as const;
      scene.execute(producer, ...consumers);
      await scene.hears(
        ["operatorFailed", producer.issueNumber],
        ["transferCancelled", first.transfer ?? -1],
        ["transferCancelled", onward.transfer ?? -1],
      );
      await scene.quiet();
      for (const { issueNumber } of consumers) scene.silent("consumers stay blocked", ["operatorStarted", issueNumber]);
      scene.execute(...consumers.map(({ issueNumber }) => ({ type: "withdraw", issueNumber }) as const));
      await scene.hears(...consumers.map(({ issueNumber }) => ["withdrawn", issueNumber] as const));
      await stage.memory(scene).isEmpty("all was withdrawn");
      const late = numbers.sink(2, numbers.bring(made(producer), 1));
      scene.execute(late);
      await scene.hears(["operatorFailed", late.issueNumber]);
    },
  },
];

/** A producer on accelerator 0 and a consumer on 1, with a transfer that the check moves. */
async function planned(stage: Stage, isProducerHeld: boolean) {
  const scene = await stage.open({ moves: false });
  const { numbers } = scene;
  const producer: IssueInstruction = numbers.source(0, 512, { held: isProducerHeld });
  const moved = numbers.bring(made(producer), 0);
  const consumer = numbers.sink(1, moved);
  scene.execute(producer, consumer);
  return { scene, producer, consumer, transfer: moved.transfer ?? -1 };
}
