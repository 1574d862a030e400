import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pairs, pick, Twin, topologies } from "../test/twin.ts";
import { Arbiter, type Topology, type TransferState } from "./index.ts";

/** What the model knows of one transfer. */
interface Known {
  readonly transfer: number;
  readonly source: number;
  readonly destination: number;
  state: TransferState;
}

class Model {
  nowNs = 0;
  next = 0;
  readonly twin: Twin;
  readonly known: Known[] = [];

  constructor(twin: Twin) {
    this.twin = twin;
  }

  in(...states: TransferState[]): Known[] {
    return this.known.filter(({ state }) => states.includes(state));
  }

  /** The transfer is gone: out of the twin as well. */
  end(known: Known): void {
    known.state = "gone";
    this.twin.active = this.twin.active.filter(({ transfer }) => transfer !== known.transfer);
    this.twin.pending = this.twin.pending.filter(({ transfer }) => transfer !== known.transfer);
  }
}

interface Real {
  arbiter: Arbiter;
  readonly topology: Topology;
}
type Command = fc.Command<Model, Real>;

/** A command on one transfer out of those for which `states` holds, or no command at all when there is none. */
function onOne(
  name: string,
  at: number,
  states: readonly TransferState[],
  act: (known: Known, model: Model, real: Real) => void,
): Command {
  return {
    check: (model) => model.in(...states).length > 0,
    run: (model, real) => {
      act(pick(model.in(...states), at), model, real);
      compare(model, real);
    },
    toString: () => `${name}(${at})`,
  };
}

function compare(model: Model, { arbiter }: Real): void {
  arbiter.validate();
  for (const { transfer, state } of model.known) expect(arbiter.state(transfer)).toBe(state);
  expect(arbiter.transfers()).toHaveLength(model.known.filter(({ state }) => state !== "gone").length);
  const waiting = arbiter.pending(model.nowNs);
  expect(waiting.map(({ transfer }) => transfer)).toEqual(model.twin.inOrder(model.nowNs).map((it) => it.transfer));
  for (const { waitsFor } of waiting) {
    for (const { port, index, reason, transfers } of waitsFor) {
      expect(transfers.length).toBe(reason === "busy" ? model.twin.capacity(`${port} ${index}`) : 1);
    }
  }
}

const LIVE: readonly TransferState[] = ["intent", "receiving", "sending", "cancelling"];

function raise(way: number, rank: number): Command {
  return {
    check: () => true,
    run: (model, real) => {
      const [source, destination] = pick(pairs(real.topology), way);
      const transfer = model.next++;
      real.arbiter.intent({ transfer, source, destination, rank, bytes: way }, model.nowNs);
      model.known.push({ transfer, source, destination, state: "intent" });
      model.twin.pending.push({ transfer, source, destination, rank, sinceNs: model.nowNs });
      compare(model, real);
    },
    toString: () => `raise(${way}, rank ${rank})`,
  };
}

function select(afterNs: number): Command {
  return {
    check: () => true,
    run: (model, real) => {
      model.nowNs += afterNs;
      const expected = model.twin.select(model.nowNs);
      expect(real.arbiter.select(model.nowNs).map(({ transfer }) => transfer)).toEqual(expected);
      for (const known of model.known) if (expected.includes(known.transfer)) known.state = "receiving";
      compare(model, real);
      // What still waits has a reason.
      for (const { waitsFor } of real.arbiter.pending(model.nowNs)) expect(waitsFor).not.toEqual([]);
    },
    toString: () => `select(after ${afterNs})`,
  };
}

const recvReady = (at: number) =>
  onOne("recvReady", at, ["receiving"], (known, model, { arbiter }) => {
    arbiter.recvReady(known.transfer, model.nowNs);
    known.state = "sending";
  });
const done = (at: number) =>
  onOne("done", at, ["sending", "cancelling"], (known, model, { arbiter }) => {
    arbiter.done(known.transfer, model.nowNs);
    model.end(known);
  });
const failed = (at: number) =>
  onOne("failed", at, LIVE, (known, model, { arbiter }) => {
    arbiter.failed(known.transfer, model.nowNs);
    model.end(known);
  });
const cancel = (at: number) =>
  onOne("cancel", at, [...LIVE, "gone"], (known, model, { arbiter }) => {
    const after = arbiter.cancel(known.transfer, model.nowNs);
    const stays = known.state === "sending" || known.state === "cancelling";
    expect(after).toBe(stays ? "cancelling" : "gone");
    if (stays) known.state = "cancelling";
    else model.end(known);
  });
/** A move the table does not list must throw and change nothing. */
const illegal = (at: number) =>
  onOne("illegal", at, [...LIVE, "gone"], (known, model, { arbiter }) => {
    const before = arbiter.save();
    const code = known.state === "gone" ? "UNKNOWN_TRANSFER" : "ILLEGAL_MOVE";
    const throws = (act: () => void) => expect(act).toThrow(expect.objectContaining({ code }));
    if (known.state !== "receiving") throws(() => arbiter.recvReady(known.transfer, model.nowNs));
    if (!["sending", "cancelling"].includes(known.state)) throws(() => arbiter.done(known.transfer, model.nowNs));
    if (known.state === "gone") throws(() => arbiter.failed(known.transfer, model.nowNs));
    expect(arbiter.save()).toEqual(before);
  });
const reload: Command = {
  check: () => true,
  run: (model, real) => {
    real.arbiter = Arbiter.load(real.topology, JSON.parse(JSON.stringify(real.arbiter.save())));
    compare(model, real);
  },
  toString: () => "reload",
};

const at = fc.nat(1000);
const commands = fc.commands<Model, Real>(
  [
    fc.tuple(at, fc.nat(3)).map(([way, rank]) => raise(way, rank)),
    fc.tuple(at, fc.nat(3)).map(([way, rank]) => raise(way, rank)),
    fc.nat(30).map(select),
    at.map(recvReady),
    at.map(done),
    at.map(failed),
    at.map(cancel),
    at.map(illegal),
    fc.constant(reload),
  ],
  { maxCommands: 60 },
);

const worlds = fc.record({
  topology: topologies,
  agingNs: fc.integer({ min: 1, max: 40 }),
  reserveNs: fc.integer({ min: 0, max: 80 }),
});

describe("Arbiter", () => {
  it("follows the literal rule and its table of moves through any life, and everything ends when the transfers do", () => {
    fc.assert(
      fc.property(worlds, commands, ({ topology, agingNs, reserveNs }, run) => {
        const model = new Model(new Twin(topology, agingNs, reserveNs));
        const real: Real = { arbiter: new Arbiter(topology, { agingNs, reserveNs }), topology };
        fc.modelRun(() => ({ model, real }), run);
        // Live: each select after an end admits somebody, until nobody is left.
        for (let round = 0; model.in(...LIVE).length > 0; round++) {
          expect(round).toBeLessThanOrEqual(model.known.length + 1);
          select(1).run(model, real);
          while (model.in("receiving").length > 0) recvReady(0).run(model, real);
          const moving = model.in("sending", "cancelling").length;
          expect(moving).toBeGreaterThan(0);
          for (let end = 0; end < moving; end++) done(0).run(model, real);
        }
        expect(real.arbiter.save().transfers).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});
