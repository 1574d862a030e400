import { describe, expect, it } from "vitest";
import { topologyOf } from "../test/twin.ts";
import {
  Arbiter,
  type ArbiterState,
  ArbitrationError,
  DEFAULT_DEADLINE_FACTOR,
  DEFAULT_DEADLINE_MIN_NS,
} from "./index.ts";

const topology = topologyOf([1, 1, 1], [], () => []);

/** One cancelling 0 → 1, one receiving 1 → 2, one pending behind each, one gone. */
function busy(): Arbiter {
  const arbiter = new Arbiter(topology, { agingNs: 7, reserveNs: 5 });
  const ways = [
    [0, 1],
    [1, 2],
    [0, 1],
    [1, 2],
    [2, 0],
  ] as const;
  for (const [transfer, [source, destination]] of ways.entries()) {
    arbiter.intent({ transfer, source, destination, bytes: transfer, rank: transfer % 2 }, transfer);
  }
  arbiter.select(10);
  arbiter.recvReady(0, 11);
  arbiter.cancel(0, 12);
  arbiter.failed(4, 13);
  return arbiter;
}

const saved = () => JSON.parse(JSON.stringify(busy().save())) as ArbiterState;

describe("save and load", () => {
  it("continues through JSON as if nothing had happened", () => {
    const one = busy();
    const other = Arbiter.load(topology, saved());
    other.validate();
    expect(other.save()).toEqual(one.save());
    for (const arbiter of [one, other]) {
      arbiter.done(0, 20);
      arbiter.recvReady(1, 20);
    }
    expect(other.select(20)).toEqual(one.select(20));
    expect(other.pending(21)).toEqual(one.pending(21));
    expect(() => other.done(4, 22)).toThrow("failed at 13 ns");
  });

  it("shares nothing with the value", () => {
    const arbiter = busy();
    const state = arbiter.save();
    const other = Arbiter.load(topology, state);
    other.done(0, 20);
    arbiter.recvReady(1, 21);
    expect(state).toEqual(saved());
  });

  it("refuses another version by its own code", () => {
    for (const version of [0, 3, "2", null]) {
      expect(() => Arbiter.load(topology, { ...saved(), version })).toThrow(
        expect.objectContaining({ code: "UNSUPPORTED_VERSION", details: { found: version, supported: 2 } }),
      );
    }
  });

  it("reads version 1, which knew no deadlines: they get the defaults", () => {
    const { deadlineFactor: _, deadlineMinNs: __, ...state } = saved();
    const transfers = state.transfers.map(({ expectedNs: ___, ...view }) => view);
    const arbiter = Arbiter.load(topology, { ...state, version: 1, transfers });
    arbiter.validate();
    expect(arbiter.nextDeadlineNs).toBe(10 + DEFAULT_DEADLINE_MIN_NS);
    expect(arbiter.save()).toEqual({
      ...saved(),
      deadlineFactor: DEFAULT_DEADLINE_FACTOR,
      deadlineMinNs: DEFAULT_DEADLINE_MIN_NS,
    });
  });

  it("keeps deadlines, what was expected and what is quarantined", () => {
    const arbiter = new Arbiter(topology, { deadlineFactor: 2.5, deadlineMinNs: 20 });
    arbiter.intent({ transfer: 0, source: 0, destination: 1, bytes: 9, rank: 0 }, 0);
    arbiter.intent({ transfer: 1, source: 1, destination: 0, bytes: 9, rank: 0, expectedNs: 11 }, 0);
    arbiter.select(0);
    arbiter.recvReady(1, 3);
    expect(arbiter.expire(20)).toHaveLength(1);
    const other = Arbiter.load(topology, JSON.parse(JSON.stringify(arbiter.save())));
    other.validate();
    expect(other.save()).toEqual(arbiter.save());
    expect(other.state(0)).toBe("quarantined");
    expect(other.nextDeadlineNs).toBe(3 + Math.ceil(2.5 * 11));
    expect(other.expire(31)).toEqual(arbiter.expire(31));
    expect(other.failed(0, 40)).toBe("quarantined");
  });

  const broken: Record<string, (state: ArbiterState) => unknown> = {
    null: () => null,
    "a string": () => "arbiter",
    "a foreign format": (state) => ({ ...state, format: "else" }),
    "no time": ({ nowNs: _, ...state }) => state,
    "no deadline": ({ deadlineMinNs: _, ...state }) => state,
    "a deadline that is none": (state) => ({ ...state, deadlineMinNs: 0 }),
    "a factor that is none": (state) => ({ ...state, deadlineFactor: "10" }),
    "a factor below one": (state) => ({ ...state, deadlineFactor: 0.5 }),
    "an expected duration that is none": (state) => change(state, { expectedNs: -1 }),
    "a negative time": (state) => ({ ...state, nowNs: -1 }),
    "transfers that are no array": (state) => ({ ...state, transfers: {} }),
    "a transfer that is none": (state) => ({ ...state, transfers: [null] }),
    "a transfer twice": (state) => ({ ...state, transfers: [...state.transfers, ...state.transfers.slice(2, 3)] }),
    "a transfer live and gone": (state) => ({ ...state, gone: state.gone.map((it) => ({ ...it, transfer: 2 })) }),
    "a gone one that did not end": (state) => ({ ...state, gone: [{ transfer: 9, history: [] }] }),
    "too many gone": (state) => ({
      ...state,
      gone: Array.from({ length: 65 }, (_, at) => ({ ...state.gone[0], transfer: 100 + at })),
    }),
    "a state its history does not lead to": (state) => change(state, { state: "sending" }),
    "an illegal history": (state) => change(state, { history: [{ move: "done", atNs: 0 }] }),
    "an unknown move": (state) => change(state, { history: [{ move: "__proto__", atNs: 0 }] }),
    "a history from the future": (state) => change(state, { history: [{ move: "raise", atNs: 99 }], sinceNs: 99 }),
    "an age that its history denies": (state) => change(state, { sinceNs: 1 }),
    "bytes that are no number": (state) => change(state, { bytes: "8" }),
    "more than the ports carry": (state) =>
      change(state, { source: 2, destination: 2, ...state.transfers[0], transfer: 7 }),
  };

  it.each(Object.entries(broken))("refuses %s", (_, make) => {
    let error: unknown;
    try {
      Arbiter.load(topology, make(saved()));
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(ArbitrationError);
    expect(error).toMatchObject({ code: "INVALID_STATE" });
  });

  it("refuses a transfer whose way this topology lacks", () => {
    const smaller = topologyOf([1, 1], [], () => []);
    expect(() => Arbiter.load(smaller, saved())).toThrow(expect.objectContaining({ code: "NO_ROUTE" }));
  });

  /** Changes the pending transfer 2. */
  function change(state: ArbiterState, changes: object): unknown {
    const transfers = state.transfers.map((it) => (it.transfer === 2 ? { ...it, ...changes } : it));
    return { ...state, transfers };
  }
});
