import type { IssueInstruction } from "@slicescheduler/executor";
import type { Check } from "../check.ts";
import { ALWAYS, WHERE } from "../rules.ts";
import type { EventKey, Scene } from "../scene.ts";
import { made } from "../work.ts";

/** Which operator starts when. */
export const orderChecks: readonly Check[] = [
  {
    rule: "operators run by dependency, not in the order of their issue",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(1, 512, { held: true });
      const waiting = numbers.sink(0, numbers.bring(made(producer), 1));
      const free = numbers.work(0);
      scene.execute(producer, waiting, free);
      await scene.done(free);
      scene.execute({ type: "activate", issueNumber: producer.issueNumber });
      await scene.done(waiting);
      scene.inOrder(start(free), start(producer), start(waiting));
    },
  },
  {
    rule: ALWAYS.inputs.rule,
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const near = numbers.source(0, 512);
      const far = numbers.source(1, 1_024, { held: true });
      const moved = numbers.bring(made(far), 1);
      const join = numbers.join(0, [numbers.here(made(near)), moved], 256);
      scene.execute(near, far, join);
      await scene.done(near);
      await scene.quiet();
      scene.silent(`no start of ${join.issueNumber}, which misses an input`, start(join));
      scene.execute({ type: "activate", issueNumber: far.issueNumber });
      await scene.done(join);
      scene.inOrder(["operatorDone", far.issueNumber], ["transferDone", moved.transfer ?? -1], start(join));
    },
  },
  {
    rule: ALWAYS.alone.rule,
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const works = Array.from({ length: 6 }, (_, at) => scene.numbers.work(at % 2));
      scene.execute(...works);
      await scene.done(...works);
      for (const accelerator of [0, 1]) {
        const own = works.filter((work) => work.accelerator === accelerator);
        scene.inOrder(
          ...own.flatMap(({ issueNumber }): EventKey[] => [
            ["operatorStarted", issueNumber],
            ["operatorDone", issueNumber],
          ]),
        );
      }
    },
  },
  {
    rule: "an accelerator that can start nothing holds up no other",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const held = numbers.work(0, { held: true });
      const free = numbers.work(1);
      scene.execute(held, free);
      await scene.done(free);
    },
  },
  {
    rule: "idle accelerators start in the order of their indices",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const works = [2, 0, 1].map((on) => scene.numbers.work(on));
      scene.execute(...works);
      await scene.done(...works);
      startsIn(scene, works, [1, 2, 0]);
    },
  },
  {
    rule: "a lower rank starts first, whatever was issued or became ready before",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const works = [3, 1, 2, 1].map((rank) => numbers.work(0, { rank }));
      scene.execute(...works);
      await scene.done(...works);
      startsIn(scene, works, [1, 3, 2, 0]);
      const producer = numbers.source(0, 512);
      const ready = numbers.work(0, { rank: 2 });
      const urgent = numbers.sink(0, numbers.here(made(producer)), { rank: 1 });
      scene.execute(producer, ready, urgent);
      await scene.done(ready, urgent);
      scene.inOrder(start(producer), start(urgent), start(ready));
    },
  },
  {
    rule: "of one rank, what became ready earlier starts first",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const later = numbers.sink(0, numbers.here(made(producer)), { rank: 1 });
      const ready = numbers.work(0, { rank: 1 });
      scene.execute(producer, later, ready);
      await scene.done(later, ready);
      scene.inOrder(start(producer), start(ready), start(later));
    },
  },
  {
    rule: "of one rank and ready time, the lower issue number starts first",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const works = Array.from({ length: 5 }, () => scene.numbers.work(0, { rank: 4 }));
      scene.execute(...works);
      await scene.done(...works);
      startsIn(scene, works, [0, 1, 2, 3, 4]);
    },
  },
  {
    rule: ALWAYS.heldBack.rule,
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const held = numbers.work(0, { held: true });
      const heldAndBlocked = numbers.sink(0, numbers.here(made(producer)), { held: true });
      scene.execute(producer, held, heldAndBlocked, { type: "activate", issueNumber: heldAndBlocked.issueNumber });
      await scene.done(producer, heldAndBlocked);
      await scene.quiet();
      scene.silent(`no start of ${held.issueNumber}, which is held back`, start(held));
      scene.execute(
        { type: "activate", issueNumber: held.issueNumber },
        { type: "activate", issueNumber: held.issueNumber },
      );
      await scene.done(held);
    },
  },
  {
    rule: "an operator that is activated takes the place of its ready time, not of its activation",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const first = numbers.work(0);
      const held = numbers.work(0, { rank: 1, held: true });
      const ready = numbers.work(0, { rank: 1 });
      scene.when(start(first), () => [{ type: "activate", issueNumber: held.issueNumber }]);
      scene.execute(first, held, ready);
      await scene.done(held, ready);
      scene.inOrder(start(first), start(held), start(ready));
    },
  },
  {
    rule: "an operator that gets another rank takes its place in the new class, and what runs goes on",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const running = numbers.work(0);
      const patient = numbers.work(0, { rank: 2 });
      const raised = numbers.work(0, { rank: 3 });
      const lowered = numbers.work(0, { rank: 1 });
      scene.when(start(running), () => [
        { type: "rerank", issueNumber: running.issueNumber, rank: 9 },
        { type: "rerank", issueNumber: raised.issueNumber, rank: 1 },
        { type: "rerank", issueNumber: lowered.issueNumber, rank: 4 },
      ]);
      scene.execute(running, patient, raised, lowered);
      await scene.done(running, patient, raised, lowered);
      scene.inOrder(start(running), start(raised), start(patient), start(lowered));
      scene.execute({ type: "rerank", issueNumber: patient.issueNumber, rank: 0 });
      await scene.quiet();
    },
  },
  {
    rule: "what runs is not stopped for what is more urgent",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const running = numbers.work(0, { rank: 5 });
      const urgent = numbers.work(0);
      scene.when(start(running), () => [urgent]);
      scene.execute(running);
      await scene.done(running, urgent);
      scene.inOrder(start(running), ["operatorDone", running.issueNumber], start(urgent));
    },
  },
];

function start({ issueNumber }: IssueInstruction): EventKey {
  return ["operatorStarted", issueNumber];
}

/** Fails unless they were started in this order. */
function startsIn(scene: Scene, works: readonly IssueInstruction[], order: readonly number[]): void {
  scene.inOrder(...order.map((at): EventKey => ["operatorStarted", works[at]?.issueNumber ?? -1]));
}
