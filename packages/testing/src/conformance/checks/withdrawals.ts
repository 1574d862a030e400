import type { ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";
import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";
import { made } from "../work.ts";

/** Taking operators back. */
export const withdrawalChecks: readonly Check[] = [
  {
    rule: "an operator that has not started is withdrawn, and leaves nothing",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const held = numbers.source(0, 512, { held: true });
      const blocked = numbers.sink(0, numbers.here(made(held)));
      scene.execute(held, blocked);
      scene.execute(withdraw(blocked), withdraw(held));
      await scene.hears(["withdrawn", held.issueNumber], ["withdrawn", blocked.issueNumber]);
      await scene.quiet();
      scene.silent("no start of what was withdrawn", ["operatorStarted", held.issueNumber]);
      await stage.memory(scene).isEmpty("what was issued was withdrawn");
    },
  },
  {
    rule: "consumers of a withdrawn operator stay blocked until they are withdrawn",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512, { held: true });
      const consumer = numbers.map(0, numbers.here(made(producer)), 256);
      scene.execute(producer, consumer, withdraw(producer));
      await scene.hears(["withdrawn", producer.issueNumber]);
      await scene.quiet();
      scene.silent("no event of the consumer, which is blocked", ...anyOf(consumer));
      scene.execute(withdraw(consumer));
      await scene.hears(["withdrawn", consumer.issueNumber]);
      await stage.memory(scene).isEmpty("what was issued was withdrawn");
    },
  },
  {
    rule: "withdrawing what already runs is answered by its normal end",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const running = numbers.source(0, 512);
      scene.when(["operatorStarted", running.issueNumber], () => [withdraw(running)]);
      scene.execute(running);
      await scene.done(running);
      await scene.quiet();
      scene.silent("operatorDone alone", ["withdrawn", running.issueNumber]);
      await stage.memory(scene).uses(0, 512, "it made its result, which is held");
    },
  },
  {
    rule: "withdrawing, activating or reranking what was withdrawn or has ended is ignored",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const ended = numbers.work(0);
      const held = numbers.work(0, { held: true });
      scene.execute(ended, held, withdraw(held));
      await scene.hears(["withdrawn", held.issueNumber], ["operatorDone", ended.issueNumber]);
      const before = scene.events.length;
      for (const late of [held, ended]) scene.execute(withdraw(late), activate(late), rerank(late, 3));
      await scene.quiet();
      scene.expect(scene.events.length === before, "no event", `${scene.events.length - before} more`);
    },
  },
  {
    rule: "withdrawing, activating or reranking what was never issued is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const work = scene.numbers.work(0);
      scene.refuses(["UNKNOWN_ISSUE"], withdraw(work));
      scene.refuses(["UNKNOWN_ISSUE"], activate(work));
      scene.refuses(["UNKNOWN_ISSUE"], rerank(work, 3));
      scene.execute(work);
      await scene.done(work);
    },
  },
  {
    rule: "a planned transfer is cancelled with the last operator that waits for it, before that is reported",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512, { held: true });
      const moved = numbers.bring(made(producer), 0);
      const consumers = [numbers.sink(1, moved), numbers.sink(1, moved)] as const;
      scene.execute(producer, ...consumers, withdraw(consumers[0]));
      await scene.hears(["withdrawn", consumers[0].issueNumber]);
      await scene.quiet();
      scene.silent("the transfer stays for the other consumer", ["transferCancelled", moved.transfer ?? -1]);
      scene.execute(withdraw(consumers[1]));
      await scene.hears(["withdrawn", consumers[1].issueNumber]);
      scene.inOrder(["transferCancelled", moved.transfer ?? -1], ["withdrawn", consumers[1].issueNumber]);
      scene.execute(activate(producer));
      await scene.done(producer);
      await scene.quiet();
      scene.silent("no intent of a transfer that was cancelled", ["intentsRaised", moved.transfer ?? -1]);
      scene.execute({ type: "release", tensor: made(producer), accelerator: 0 });
      await stage.memory(scene).isEmpty("the only result was released");
    },
  },
  {
    rule: "a withdrawn operator takes along the planned transfers of its results, before that is reported",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512, { held: true });
      const moved = numbers.bring(made(producer), 0);
      const consumer = numbers.sink(1, moved);
      scene.execute(producer, consumer, withdraw(producer));
      await scene.hears(["withdrawn", producer.issueNumber]);
      scene.inOrder(["transferCancelled", moved.transfer ?? -1], ["withdrawn", producer.issueNumber]);
      await scene.quiet();
      scene.silent("no event of the consumer, which is blocked", ...anyOf(consumer));
      scene.execute(withdraw(consumer));
      await scene.hears(["withdrawn", consumer.issueNumber]);
    },
  },
  {
    rule: "from intent on a transfer runs to its end, although nobody waits for it any more",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open({ moves: false });
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      const consumer = numbers.sink(1, moved);
      scene.execute(producer, consumer);
      await scene.hears(["intentsRaised", transfer]);
      scene.execute(withdraw(consumer));
      await scene.hears(["withdrawn", consumer.issueNumber]);
      scene.silent("the transfer stays", ["transferCancelled", transfer]);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      scene.execute({ type: "activateSend", transfer });
      await scene.hears(["transferDone", transfer]);
      await stage.memory(scene).uses(1, 512, "the copy that arrived is held");
    },
  },
];

function withdraw({ issueNumber }: IssueInstruction): ExecutorInstruction {
  return { type: "withdraw", issueNumber };
}

function activate({ issueNumber }: IssueInstruction): ExecutorInstruction {
  return { type: "activate", issueNumber };
}

function rerank({ issueNumber }: IssueInstruction, rank: number): ExecutorInstruction {
  return { type: "rerank", issueNumber, rank };
}

function anyOf({ issueNumber }: IssueInstruction) {
  return (["operatorStarted", "operatorDone", "operatorFailed", "withdrawn"] as const).map(
    (type) => [type, issueNumber] as const,
  );
}
