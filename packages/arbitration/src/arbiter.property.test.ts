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
  expectedNs: number;
  /** When its deadline is counted from, and what is expected from then on. */
  stepNs: number;
  stepExpectedNs: number;
}

class Model {
  nowNs = 0;
  next = 0;
  readonly twin: Twin;
  readonly known: Known[] = [];
  readonly deadlines: Deadlines;

  constructor(twin: Twin, deadlines: Deadlines) {
    this.twin = twin;
    this.deadlines = deadlines;
  }

  deadlineNs({ state, stepNs, stepExpectedNs }: Known): number {
    if (!HOLDING.includes(state)) return Number.POSITIVE_INFINITY;
    const { deadlineFactor, deadlineMinNs } = this.deadlines;
    return stepNs + Math.max(deadlineMinNs, Math.ceil(deadlineFactor * stepExpectedNs));
  }

  /** It is out of the twin, and known to be quarantined. */
  quarantine(known: Known): void {
    this.end(known);
    known.state = "quarantined";
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

interface Deadlines {
  readonly deadlineFactor: number;
  readonly deadlineMinNs: number;
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
  expect(arbiter.nextDeadlineNs).toBe(Math.min(...model.known.map((known) => model.deadlineNs(known))));
  expect(arbiter.transfers()).toHaveLength(model.known.filter(({ state }) => state !== "gone").length);
  const waiting = arbiter.pending(model.nowNs);
  expect(waiting.map(({ transfer }) => transfer)).toEqual(model.twin.inOrder(model.nowNs).map((it) => it.transfer));
  for (const { waitsFor } of waiting) {
    for (const { port, index, reason, transfers } of waitsFor) {
      expect(transfers.length).toBe(reason === "busy" ? model.twin.capacity(`${port} ${index}`) : 1);
    }
  }
}

const HOLDING: readonly TransferState[] = ["receiving", "sending", "cancelling"];
const LIVE: readonly TransferState[] = ["intent", ...HOLDING, "quarantined"];

function raise(way: number, rank: number, expectedNs: number): Command {
  return {
    check: () => true,
    run: (model, real) => {
      const [source, destination] = pick(pairs(real.topology), way);
      const transfer = model.next++;
      real.arbiter.intent({ transfer, source, destination, rank, bytes: way, expectedNs }, model.nowNs);
      model.known.push({ transfer, source, destination, state: "intent", expectedNs, stepNs: 0, stepExpectedNs: 0 });
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
      for (const known of model.known) {
        if (!expected.includes(known.transfer)) continue;
        known.state = "receiving";
        known.stepNs = model.nowNs;
      }
      compare(model, real);
      // What still waits has a reason.
      for (const { waitsFor } of real.arbiter.pending(model.nowNs)) expect(waitsFor).not.toEqual([]);
    },
    toString: () => `select(after ${afterNs})`,
  };
}

const recvReady = (at: number) =>
  onOne("recvReady", at, ["receiving"], (known, model, { arbiter }) => {
    if (at % 2 === 0) known.expectedNs = at % 70;
    expect(arbiter.recvReady(known.transfer, model.nowNs, at % 2 === 0 ? known.expectedNs : undefined)).toBe("sending");
    known.state = "sending";
    known.stepNs = model.nowNs;
    known.stepExpectedNs = known.expectedNs;
  });
const done = (at: number) =>
  onOne("done", at, ["sending", "cancelling", "quarantined"], (known, model, { arbiter }) => {
    expect(arbiter.done(known.transfer, model.nowNs)).toBe(known.state);
    model.end(known);
  });
const failed = (at: number) =>
  onOne("failed", at, LIVE, (known, model, { arbiter }) => {
    expect(arbiter.failed(known.transfer, model.nowNs)).toBe(known.state);
    model.end(known);
  });
/** Steps of a transfer that is overdue change nothing; only its end does. */
const lateStep = (at: number) =>
  onOne("lateStep", at, ["quarantined"], (known, model, { arbiter }) => {
    const before = arbiter.save();
    expect(arbiter.recvReady(known.transfer, model.nowNs)).toBe("quarantined");
    expect(arbiter.cancel(known.transfer, model.nowNs)).toBe("quarantined");
    expect(arbiter.save()).toEqual(before);
  });
const rerank = (at: number, rank: number) =>
  onOne(`rerank to ${rank}`, at, LIVE, (known, model, { arbiter }) => {
    expect(arbiter.rerank(known.transfer, rank)).toBe(known.state === "intent");
    model.twin.pending = model.twin.pending.map((it) => (it.transfer === known.transfer ? { ...it, rank } : it));
  });

/** Time passes to one of the deadlines, or a little. */
function expire(afterNs: number): Command {
  return {
    check: () => true,
    run: (model, real) => {
      const next = Math.min(...model.known.map((known) => model.deadlineNs(known)));
      model.nowNs =
        afterNs % 2 === 0 || next === Number.POSITIVE_INFINITY ? model.nowNs + afterNs : Math.max(next, model.nowNs);
      const due = model.known.filter((known) => model.deadlineNs(known) <= model.nowNs);
      due.sort((a, b) => model.deadlineNs(a) - model.deadlineNs(b) || a.transfer - b.transfer);
      const expected = due.map((known) => ({
        transfer: known.transfer,
        source: known.source,
        destination: known.destination,
        from: known.state,
        deadlineNs: model.deadlineNs(known),
      }));
      expect(real.arbiter.expire(model.nowNs).map(({ bytes: _, ...rest }) => rest)).toEqual(expected);
      for (const known of due) model.quarantine(known);
      compare(model, real);
      expect(real.arbiter.expire(model.nowNs)).toEqual([]);
    },
    toString: () => `expire(after ${afterNs})`,
  };
}

function lose(drawn: number): Command {
  return {
    check: () => true,
    run: (model, real) => {
      const accelerator = drawn % real.topology.accelerators;
      const gone = model
        .in(...LIVE)
        .filter(({ source, destination }) => source === accelerator || destination === accelerator);
      const lost = real.arbiter.acceleratorLost(accelerator, model.nowNs);
      expect(lost).toEqual(gone.map(({ transfer }) => transfer));
      for (const known of gone) model.end(known);
      compare(model, real);
    },
    toString: () => `lose(${drawn})`,
  };
}
const cancel = (at: number) =>
  onOne("cancel", at, [...LIVE, "gone"], (known, model, { arbiter }) => {
    const after = arbiter.cancel(known.transfer, model.nowNs);
    const stays = known.state === "sending" || known.state === "cancelling";
    expect(after).toBe(stays ? "cancelling" : known.state === "quarantined" ? "quarantined" : "gone");
    if (stays) known.state = "cancelling";
    else if (known.state !== "quarantined") model.end(known);
  });
/** A move the table does not list must throw and change nothing. */
const illegal = (at: number) =>
  onOne("illegal", at, [...LIVE, "gone"], (known, model, { arbiter }) => {
    const before = arbiter.save();
    const code = known.state === "gone" ? "UNKNOWN_TRANSFER" : "ILLEGAL_MOVE";
    const throws = (act: () => void) => expect(act).toThrow(expect.objectContaining({ code }));
    const isLate = known.state === "quarantined";
    if (known.state !== "receiving" && !isLate) throws(() => arbiter.recvReady(known.transfer, model.nowNs));
    if (!["sending", "cancelling"].includes(known.state) && !isLate)
      throws(() => arbiter.done(known.transfer, model.nowNs));
    if (known.state === "gone") throws(() => arbiter.failed(known.transfer, model.nowNs));
    if (known.state === "gone") throws(() => arbiter.rerank(known.transfer, 0));
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
const raises = fc.tuple(at, fc.nat(3), fc.nat(40)).map(([way, rank, expectedNs]) => raise(way, rank, expectedNs));
const commands = fc.commands<Model, Real>(
  [
    raises,
    raises,
    fc.nat(30).map(select),
    fc.nat(30).map(expire),
    at.map(lateStep),
    at.map(lose),
    fc.tuple(at, fc.nat(3)).map(([which, rank]) => rerank(which, rank)),
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
  deadlines: fc.record({
    deadlineFactor: fc.double({ min: 1, max: 5, noNaN: true }),
    deadlineMinNs: fc.integer({ min: 1, max: 90 }),
  }),
});

describe("Arbiter", () => {
  it("follows the literal rule and its table of moves through any life, and everything ends when the transfers do", () => {
    fc.assert(
      fc.property(worlds, commands, ({ topology, agingNs, reserveNs, deadlines }, run) => {
        const model = new Model(new Twin(topology, agingNs, reserveNs), deadlines);
        const real: Real = { arbiter: new Arbiter(topology, { agingNs, reserveNs, ...deadlines }), topology };
        fc.modelRun(() => ({ model, real }), run);
        // Live: each select after an end admits somebody, until nobody is left.
        for (let round = 0; model.in(...LIVE).length > 0; round++) {
          expect(round).toBeLessThanOrEqual(model.known.length + 1);
          select(1).run(model, real);
          while (model.in("receiving").length > 0) recvReady(0).run(model, real);
          const moving = model.in("sending", "cancelling", "quarantined").length;
          expect(moving).toBeGreaterThan(0);
          for (let end = 0; end < moving; end++) done(0).run(model, real);
        }
        expect(real.arbiter.save().transfers).toEqual([]);
      }),
      { numRuns: 250 },
    );
  });
});
