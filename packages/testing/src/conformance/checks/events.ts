import type { Check } from "../check.ts";
import { ALWAYS, WHERE } from "../rules.ts";
import { made, WorkNumbers } from "../work.ts";

/** How what happens is told. */
export const eventChecks: readonly Check[] = [
  {
    rule: ALWAYS.nested.rule,
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const first = numbers.source(0, 512);
      const held = [numbers.work(0, { held: true }), numbers.work(1, { held: true })] as const;
      const consumer = numbers.sink(1, numbers.bring(made(first), 0));
      scene.when(["operatorDone", first.issueNumber], () => [
        ...held.map(({ issueNumber }) => ({ type: "withdraw", issueNumber }) as const),
        consumer,
      ]);
      scene.when(["withdrawn", held[0].issueNumber], () => [{ type: "withdraw", issueNumber: held[0].issueNumber }]);
      scene.execute(first, ...held);
      await scene.done(consumer);
      scene.inOrder(
        ["operatorDone", first.issueNumber],
        ["withdrawn", held[0].issueNumber],
        ["withdrawn", held[1].issueNumber],
        ["intentsRaised", consumer.inputs[0]?.transfer ?? -1],
      );
    },
  },
  {
    rule: "what a master answers to an event counts before anything starts at that instant",
    where: WHERE.interface,
    unless: "runsAhead",
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const first = numbers.work(0);
      const waiting = numbers.work(0, { rank: 2 });
      const withdrawn = numbers.work(0, { rank: 1 });
      const urgent = numbers.work(0, { rank: 1 });
      scene.when(["operatorDone", first.issueNumber], () => [
        { type: "withdraw", issueNumber: withdrawn.issueNumber },
        urgent,
      ]);
      scene.execute(first, waiting, withdrawn);
      await scene.done(waiting, urgent);
      scene.inOrder(
        ["operatorDone", first.issueNumber],
        ["operatorStarted", urgent.issueNumber],
        ["operatorStarted", waiting.issueNumber],
      );
      scene.silent("it was withdrawn in time", ["operatorStarted", withdrawn.issueNumber]);
    },
  },
  {
    rule: "what is issued in answer to an event runs, on any accelerator",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const works = Array.from({ length: 8 }, (_, at) => numbers.work(at % 3));
      const [first] = works;
      for (const [at, { issueNumber }] of works.entries()) {
        const next = works[at + 1];
        const type = at % 2 === 0 ? "operatorDone" : "operatorStarted";
        if (next !== undefined) scene.when([type, issueNumber], () => [next]);
      }
      if (first !== undefined) scene.execute(first);
      await scene.done(...works);
    },
  },
  {
    rule: ALWAYS.operatorLife.rule,
    where: WHERE.events,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const works = [producer, numbers.sink(0, numbers.here(made(producer))), numbers.work(1)];
      scene.execute(...works);
      await scene.done(...works);
      await scene.quiet();
      for (const { issueNumber } of works)
        for (const type of ["operatorStarted", "operatorDone"] as const) {
          const count = scene.count(type, issueNumber);
          scene.expect(count === 1, `one ${type} ${issueNumber}`, `${count}`);
        }
    },
  },
  {
    rule: ALWAYS.observed.rule,
    where: WHERE.time,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 4_096);
      const consumer = numbers.sink(1, numbers.bring(made(producer), 0));
      scene.execute(producer, consumer);
      await scene.done(consumer);
      const observed = scene.events.flatMap((event) => ("observedNs" in event ? [event.observedNs] : []));
      scene.expect(observed.length === 3, "the durations of two operators and a transfer", `${observed.length}`);
    },
  },
  {
    rule: "numbers up to 2^53 − 1 come back as they went",
    where: WHERE.interface,
    run: async (stage) => {
      const newest = Number.MAX_SAFE_INTEGER - 64;
      const numbers = new WorkNumbers({
        issue: newest,
        tensor: newest + 1,
        transfer: newest + 2,
        instance: newest + 3,
      });
      const scene = await stage.open({ numbers });
      const producer = numbers.source(0, 512);
      const moved = numbers.bring(made(producer), 0);
      const consumer = numbers.sink(1, moved);
      const held = numbers.work(2, { held: true });
      scene.execute(producer, consumer, held);
      await scene.done(consumer);
      scene.execute({ type: "release", tensor: made(producer), accelerator: 0 });
      scene.execute({ type: "release", tensor: made(producer), accelerator: 1 });
      scene.execute({ type: "withdraw", issueNumber: held.issueNumber });
      await scene.hears(["withdrawn", held.issueNumber]);
      await stage.memory(scene).isEmpty("all was released");
    },
  },
  {
    rule: "an empty batch changes nothing",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      scene.execute();
      await scene.quiet();
      scene.expect(scene.events.length === 0, "no event", `${scene.events.length}`);
    },
  },
];
