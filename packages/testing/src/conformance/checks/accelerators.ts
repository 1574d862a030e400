import type { IssueInstruction } from "@slicescheduler/executor";
import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";
import type { Scene } from "../scene.ts";
import { made } from "../work.ts";

const KIB = 1_024;

/** Accelerators that are lost and return. */
export const acceleratorChecks: readonly Check[] = [
  {
    rule: "an accelerator that is lost takes its queue along without a word; work elsewhere goes on",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const gone = [numbers.source(0, KIB), numbers.work(0), numbers.work(0, { held: true })];
      const elsewhere = [numbers.work(1), numbers.work(1), numbers.work(2)];
      scene.execute(...gone, ...elsewhere);
      await lose(scene, 0);
      await scene.done(...elsewhere);
      await scene.quiet();
      const losses = scene.count("acceleratorLost", 0);
      scene.expect(losses === 1, "one acceleratorLost", `${losses}`);
      scene.expect(scene.find("acceleratorLost", 0).reason !== "", "a reason in words", "none");
    },
  },
  {
    rule: "instructions that concern an absent accelerator are ignored, and their issue numbers are used up",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const held = numbers.source(0, KIB, { held: true });
      scene.execute(held);
      await lose(scene, 0);
      const ignored = numbers.work(0);
      const before = scene.events.length;
      scene.execute(
        ignored,
        { type: "activate", issueNumber: held.issueNumber },
        { type: "withdraw", issueNumber: held.issueNumber },
        { type: "loadWeights", accelerator: 0, name: "w", bytes: KIB },
        { type: "hold", tensor: made(held), accelerator: 0 },
        { type: "release", tensor: made(held), accelerator: 0 },
      );
      await scene.quiet();
      scene.expect(scene.events.length === before, "no event", `${scene.events.length - before}`);
      scene.refuses(["ISSUE_ORDER"], { ...ignored, accelerator: 1 });
    },
  },
  {
    rule: "an accelerator that returns is empty, and serves from its acceleratorReturned on",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open();
      const { backend, numbers } = scene;
      const result = numbers.source(0, KIB);
      scene.execute({ type: "loadWeights", accelerator: 0, name: "w", bytes: 2 * KIB }, result);
      await scene.done(result);
      await lose(scene, 0);
      const next = numbers.work(0);
      scene.when(["acceleratorReturned", 0], () => [next]);
      scene.attempt("returnAccelerator", () => backend.returnAccelerator?.(0));
      await scene.hears(["acceleratorReturned", 0]);
      await scene.done(next);
      const memory = stage.memory(scene);
      await memory.uses(0, 0, "it returned empty");
      scene.execute({ type: "loadWeights", accelerator: 0, name: "w", bytes: 3 * KIB });
      await memory.uses(0, 3 * KIB, "its weights were loaded again");
    },
  },
  {
    rule: "what is said before the loss and the return are heard is meant for the accelerator that was lost, and ignored",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open();
      const { backend, numbers } = scene;
      const first = numbers.work(1);
      const ignored = numbers.work(0);
      const next = numbers.work(0);
      scene.when(["operatorDone", first.issueNumber], () => {
        backend.loseAccelerator?.(0);
        backend.returnAccelerator?.(0);
        return [ignored];
      });
      scene.when(["acceleratorReturned", 0], () => [next]);
      scene.execute(first);
      await scene.done(next);
      await scene.quiet();
      scene.inOrder(["acceleratorLost", 0], ["acceleratorReturned", 0], ["operatorStarted", next.issueNumber]);
      scene.silent("no start of what was said too early", ["operatorStarted", ignored.issueNumber]);
    },
  },
  {
    rule: "transfers from a lost accelerator end: their buffers are freed, their consumers stay blocked, onward transfers are cancelled",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open({ moves: false });
      const { numbers } = scene;
      const producer = numbers.source(0, KIB);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      const onward = numbers.bring(made(producer), 1);
      const consumers = [numbers.sink(1, moved), numbers.sink(2, onward)];
      scene.execute(producer, ...consumers);
      await scene.hears(["intentsRaised", transfer]);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      await lose(scene, 0);
      await scene.hears(["transferCancelled", onward.transfer ?? -1]);
      scene.inOrder(["acceleratorLost", 0], ["transferCancelled", onward.transfer ?? -1]);
      await scene.quiet();
      for (const { issueNumber } of consumers) scene.silent("consumers stay blocked", ["operatorStarted", issueNumber]);
      await stage.memory(scene).uses(1, 0, "the receive buffer was freed");
      scene.execute({ type: "activateSend", transfer });
      scene.execute(...consumers.map(({ issueNumber }) => ({ type: "withdraw", issueNumber }) as const));
      await scene.hears(...consumers.map(({ issueNumber }) => ["withdrawn", issueNumber] as const));
    },
  },
  {
    rule: "transfers to a lost accelerator end: their tensors are needed for them no more; copies that had arrived elsewhere stay",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, KIB);
      const arrived = numbers.sink(1, numbers.bring(made(producer), 0));
      scene.execute(producer, arrived);
      await scene.done(arrived);
      const late = numbers.source(1, 2 * KIB, { held: true });
      const waiting = numbers.sink(0, numbers.bring(made(late), 1));
      scene.execute(late, waiting, { type: "release", tensor: made(late), accelerator: 1 });
      await lose(scene, 0);
      scene.execute({ type: "activate", issueNumber: late.issueNumber });
      await scene.done(late);
      await stage.memory(scene).uses(1, KIB, "the copy that arrived is held, and what was to be sent was released");
    },
  },
  {
    rule: "an issue elsewhere that wants an input from an absent accelerator fails with the cause inputLost",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, KIB);
      scene.execute(producer);
      await scene.done(producer);
      await lose(scene, 0);
      const consumer = numbers.sink(1, numbers.bring(made(producer), 0));
      scene.execute(consumer);
      await scene.hears(["operatorFailed", consumer.issueNumber]);
      const { cause } = scene.find("operatorFailed", consumer.issueNumber);
      scene.expect(cause === "inputLost", "the cause inputLost", `the cause ${cause}`);
    },
  },
  {
    rule: "a second loss of what is absent, or return of what is there, is ignored",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open();
      const { backend, numbers } = scene;
      const result = numbers.source(1, KIB);
      scene.execute(result);
      await scene.done(result);
      scene.attempt("returnAccelerator", () => backend.returnAccelerator?.(1));
      await scene.quiet();
      await stage.memory(scene).uses(1, KIB, "it was there all the time");
      await lose(scene, 0);
      scene.attempt("loseAccelerator", () => backend.loseAccelerator?.(0));
      await scene.quiet();
      const told = [scene.count("acceleratorReturned", 1), scene.count("acceleratorLost", 0)];
      scene.expect(
        told.join() === "0,1",
        "no acceleratorReturned 1, one acceleratorLost 0",
        `${told.join(" and ")} of them`,
      );
    },
  },
  {
    rule: "an accelerator that is declared absent takes nothing until it joins with acceleratorReturned",
    where: WHERE.accelerators,
    needs: "losesAccelerators",
    run: async (stage) => {
      const scene = await stage.open({ absent: [2] });
      const { backend, numbers } = scene;
      scene.execute(numbers.work(2));
      await scene.quiet();
      scene.expect(scene.events.length === 0, "no event", `${scene.events.length}`);
      scene.attempt("returnAccelerator", () => backend.returnAccelerator?.(2));
      await scene.hears(["acceleratorReturned", 2]);
      const work: IssueInstruction = numbers.work(2);
      scene.execute(work);
      await scene.done(work);
    },
  },
];

async function lose(scene: Scene, accelerator: number): Promise<void> {
  scene.attempt("loseAccelerator", () => scene.backend.loseAccelerator?.(accelerator));
  await scene.hears(["acceleratorLost", accelerator]);
}
