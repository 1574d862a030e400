import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";
import { made } from "../work.ts";
import { FREE_BYTES } from "../world.ts";

/** How a transfer comes about. */
export const transferChecks: readonly Check[] = [
  {
    rule: "the intents of an operator's results are raised all in one event, by rising number, just before its end is reported",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const pair = numbers.pair(1, [512, 256], { held: true });
      const reads = [
        numbers.bring(made(pair, 1), 1),
        numbers.bring(made(pair), 1),
        numbers.bring(made(pair), 1),
      ] as const;
      const consumers = [numbers.sink(0, reads[0]), numbers.sink(2, reads[1]), numbers.sink(0, reads[2])];
      scene.execute(pair, ...consumers);
      await scene.quiet();
      scene.expect(
        scene.events.length === 0,
        "no event before the producer is activated",
        `${scene.events.length} events`,
      );
      scene.execute({ type: "activate", issueNumber: pair.issueNumber });
      await scene.done(pair, ...consumers);
      const all = reads.map(({ transfer }) => transfer).join();
      scene.inOrder(["operatorStarted", pair.issueNumber], ["intentsRaised", all], ["operatorDone", pair.issueNumber]);
      const at = scene.events.findIndex(({ type }) => type === "intentsRaised");
      const next = scene.events[at + 1];
      scene.expect(next?.type === "operatorDone", "operatorDone right after the intents", next?.type ?? "nothing");
    },
  },
  {
    rule: "a tensor that is present at its source is an intent as soon as its consumer is issued; those of one batch come together",
    where: WHERE.operators,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producers = [numbers.source(0, 512), numbers.source(0, 256)] as const;
      scene.execute(...producers);
      await scene.done(...producers);
      const reads = [numbers.bring(made(producers[1]), 0), numbers.bring(made(producers[0]), 0)] as const;
      const join = numbers.join(1, [reads[1], reads[0]], 128);
      scene.execute(join);
      await scene.done(join);
      const all = reads.map(({ transfer }) => transfer).join();
      scene.inOrder(["intentsRaised", all], ["operatorStarted", join.issueNumber]);
    },
  },
  {
    rule: "there is one transfer of a tensor to an accelerator, however many operators wait for it there",
    where: WHERE.transfers,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      const consumers = [
        numbers.sink(1, moved),
        numbers.sink(1, moved),
        numbers.map(1, numbers.here(moved.tensor), 256),
      ] as const;
      scene.execute(producer, ...consumers);
      await scene.done(...consumers);
      const arrivals = scene.events.filter(({ type }) => type === "transferDone").length;
      scene.expect(arrivals === 1, "one transferDone", `${arrivals}`);
      scene.inOrder(["transferDone", transfer], ["operatorStarted", consumers[0].issueNumber]);
      await stage.memory(scene).uses(1, 512 + 256, "one copy and one result are held");
    },
  },
  {
    rule: "recv comes before send, and each waits until it is told",
    where: WHERE.transfers,
    run: async (stage) => {
      const scene = await stage.open({ moves: false });
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      const consumer = numbers.sink(1, moved);
      scene.execute(producer, consumer);
      await scene.hears(["intentsRaised", transfer]);
      await scene.quiet();
      scene.silent("no recvReady before activateRecv", ["recvReady", transfer]);
      scene.refuses(["ILLEGAL_MOVE"], { type: "activateSend", transfer });
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      await scene.quiet();
      scene.silent("no transferDone before activateSend", ["transferDone", transfer]);
      scene.refuses(["ILLEGAL_MOVE"], scene.recv(transfer));
      scene.execute({ type: "activateSend", transfer });
      await scene.done(consumer);
      scene.inOrder(["recvReady", transfer], ["transferDone", transfer], ["operatorStarted", consumer.issueNumber]);
    },
  },
  {
    rule: "transfers of several tensors move at the same time when they are told to",
    where: WHERE.transfers,
    run: async (stage) => {
      const scene = await stage.open({ moves: false });
      const { numbers } = scene;
      const producers = [numbers.source(0, 512), numbers.source(1, 256)] as const;
      const there = numbers.bring(made(producers[0]), 0);
      const back = numbers.bring(made(producers[1]), 1);
      const transfers = [there.transfer ?? -1, back.transfer ?? -1];
      const consumers = [numbers.sink(1, there), numbers.sink(0, back)];
      scene.execute(...producers);
      await scene.done(...producers);
      scene.execute(...consumers);
      await scene.hears(["intentsRaised", transfers.join()]);
      scene.execute(...transfers.map((transfer) => scene.recv(transfer)));
      await scene.hears(...transfers.map((transfer) => ["recvReady", transfer] as const));
      scene.execute(...transfers.map((transfer) => ({ type: "activateSend", transfer }) as const));
      await scene.done(...consumers);
    },
  },
  {
    rule: "a copy that has arrived can be sent on; its intents come after its arrival",
    where: WHERE.hears,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const first = numbers.bring(made(producer), 0);
      const onward = numbers.bring(made(producer), 1);
      const consumers = [numbers.sink(1, first), numbers.sink(2, onward)] as const;
      scene.execute(producer, ...consumers);
      await scene.done(...consumers);
      const [one, two] = [first.transfer ?? -1, onward.transfer ?? -1];
      scene.inOrder(["intentsRaised", one], ["transferDone", one], ["intentsRaised", two], ["transferDone", two]);
    },
  },
  {
    rule: "a receive buffer that does not fit is refused with recvFailed, and can be asked for again",
    where: WHERE.transfers,
    run: async (stage) => {
      const scene = await stage.open({ moves: false });
      const { numbers } = scene;
      const filler = numbers.source(1, FREE_BYTES - 512);
      const producer = numbers.source(0, 1_024);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      const consumer = numbers.sink(1, moved);
      scene.execute(filler, producer, consumer);
      await scene.done(filler, producer);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvFailed", transfer]);
      await stage.memory(scene).uses(1, FREE_BYTES - 512, "the buffer was refused");
      scene.execute({ type: "release", tensor: made(filler), accelerator: 1 }, scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      scene.execute({ type: "activateSend", transfer });
      await scene.done(consumer);
      const failures = scene.count("recvFailed", transfer);
      scene.expect(failures === 1, "one recvFailed", `${failures}`);
    },
  },
  {
    rule: "a transfer moves the contents of a tensor",
    where: WHERE.transfers,
    needs: "holdsData",
    run: async (stage) => {
      const scene = await stage.open();
      const { backend, numbers } = scene;
      const producer = numbers.source(0, 512);
      const mapped = numbers.map(0, numbers.here(made(producer)), 256);
      const consumer = numbers.sink(1, numbers.bring(made(mapped), 0));
      scene.execute(producer, mapped, consumer);
      await scene.done(consumer);
      const contents = async (accelerator: number) => {
        const found = await backend.read?.(made(mapped), accelerator);
        return found === undefined ? "" : Array.from(found).join();
      };
      const [sent, arrived] = [await contents(0), await contents(1)];
      scene.expect(sent !== "" && sent === arrived, `the contents at the source, ${sent}`, arrived);
    },
  },
];
