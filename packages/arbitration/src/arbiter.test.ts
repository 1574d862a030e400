import { describe, expect, it } from "vitest";
import { topologyOf } from "../test/twin.ts";
import { Arbiter, type Intent } from "./index.ts";

/** Four accelerators with one port each way; link 0 is shared by every way between the halves {0, 1} and {2, 3}. */
const topology = topologyOf([1, 1, 1, 1], [1], (source, destination) =>
  source < 2 === destination < 2 ? [] : source === 3 ? undefined : [0],
);

/** The same without the link. */
const plain = topologyOf([1, 1, 1, 1], [], () => []);

function intent(transfer: number, source: number, destination: number, rank = 0): Intent {
  return { transfer, source, destination, rank, bytes: 1000 + transfer };
}

function numbers(selections: readonly { readonly transfer: number }[]): number[] {
  return selections.map(({ transfer }) => transfer);
}

function failing(code: string, ...words: string[]) {
  return expect.objectContaining({
    name: "ArbitrationError",
    code,
    message: expect.stringMatching(new RegExp(words.join(".*"), "s")),
  });
}

describe("Arbiter", () => {
  it("takes a transfer from intent to its end", () => {
    const arbiter = new Arbiter(topology);
    arbiter.intent(intent(7, 0, 1), 10);
    expect(arbiter.state(7)).toBe("intent");
    expect(arbiter.select(12)).toEqual([{ transfer: 7, source: 0, destination: 1, bytes: 1007 }]);
    expect(arbiter.state(7)).toBe("receiving");
    arbiter.recvReady(7, 15);
    expect(arbiter.state(7)).toBe("sending");
    expect(arbiter.transfers()).toEqual([
      {
        ...intent(7, 0, 1),
        expectedNs: 0,
        state: "sending",
        sinceNs: 10,
        history: [
          { move: "raise", atNs: 10 },
          { move: "select", atNs: 12 },
          { move: "recvReady", atNs: 15 },
        ],
      },
    ]);
    arbiter.done(7, 20);
    expect(arbiter.state(7)).toBe("gone");
    expect(arbiter.transfers()).toEqual([]);
    arbiter.validate();
  });

  it("selects urgent first, then by transfer number, and only what does not conflict", () => {
    const arbiter = new Arbiter(topology);
    arbiter.intent(intent(5, 0, 1, 1), 0);
    arbiter.intent(intent(9, 0, 1, 0), 0);
    arbiter.intent(intent(6, 1, 0, 3), 0);
    arbiter.intent(intent(8, 0, 2, 0), 0);
    expect(numbers(arbiter.select(0))).toEqual([8, 6]);
    expect(arbiter.select(0)).toEqual([]);
    arbiter.failed(8, 5);
    expect(numbers(arbiter.select(5))).toEqual([9]);
  });

  it("shares a link between ways that have no port in common", () => {
    const arbiter = new Arbiter(topology);
    arbiter.intent(intent(1, 0, 2), 0);
    arbiter.intent(intent(2, 1, 3), 0);
    expect(numbers(arbiter.select(0))).toEqual([1]);
    expect(arbiter.pending(3)).toEqual([
      {
        transfer: 2,
        source: 1,
        destination: 3,
        rank: 0,
        effectiveRank: 0,
        waitedNs: 3,
        reserves: false,
        waitsFor: [{ port: "link", index: 0, reason: "busy", transfers: [1] }],
      },
    ]);
  });

  it("lets age outweigh rank after agingNs per class", () => {
    const arbiter = new Arbiter(topology, { agingNs: 100, reserveNs: 1e6 });
    arbiter.intent(intent(1, 0, 1), 0);
    arbiter.select(0);
    arbiter.intent(intent(2, 0, 2, 2), 0);
    arbiter.intent(intent(3, 0, 3, 1), 150);
    arbiter.failed(1, 199);
    expect(numbers(arbiter.select(199))).toEqual([2]);

    const early = new Arbiter(topology, { agingNs: 100, reserveNs: 1e6 });
    early.intent(intent(2, 0, 2, 3), 0);
    early.intent(intent(3, 0, 3, 1), 150);
    expect(numbers(early.select(199))).toEqual([3]);
  });

  it("keeps the ports of one that waited reserveNs from those after it", () => {
    const arbiter = new Arbiter(plain, { agingNs: 1e9, reserveNs: 100 });
    arbiter.intent(intent(1, 2, 0), 0);
    arbiter.select(0);
    arbiter.intent(intent(2, 1, 0, 5), 0);
    arbiter.intent(intent(3, 1, 2, 6), 99);
    expect(arbiter.select(99)).toEqual([expect.objectContaining({ transfer: 3 })]);
    arbiter.failed(3, 99);
    arbiter.intent(intent(4, 1, 2, 6), 100);
    arbiter.intent(intent(5, 0, 1, 7), 100);
    expect(numbers(arbiter.select(100))).toEqual([5]);
    expect(arbiter.pending(100)).toEqual([
      expect.objectContaining({
        transfer: 2,
        reserves: true,
        waitsFor: [{ port: "ingress", index: 0, reason: "busy", transfers: [1] }],
      }),
      expect.objectContaining({
        transfer: 4,
        reserves: false,
        waitsFor: [{ port: "egress", index: 1, reason: "reserved", transfers: [2] }],
      }),
    ]);
    arbiter.failed(1, 110);
    expect(numbers(arbiter.select(110))).toEqual([2]);
  });

  it("reports the first in order of those that reserve a port", () => {
    const arbiter = new Arbiter(plain, { reserveNs: 0 });
    for (const [transfer, source, destination] of [
      [1, 0, 1],
      [2, 2, 1],
      [3, 2, 1],
      [4, 2, 3],
    ] as const) {
      arbiter.intent(intent(transfer, source, destination), 0);
    }
    expect(numbers(arbiter.select(0))).toEqual([1]);
    expect(arbiter.pending(0)[2]?.waitsFor).toEqual([{ port: "egress", index: 2, reason: "reserved", transfers: [2] }]);
  });

  it("admits who was kept out by a reservation once the older one is cancelled, with no port freed", () => {
    const arbiter = new Arbiter(plain, { agingNs: 1e9, reserveNs: 0 });
    arbiter.intent(intent(1, 2, 0), 0);
    arbiter.select(0);
    arbiter.intent(intent(2, 1, 0), 1);
    arbiter.intent(intent(3, 1, 2), 1);
    expect(arbiter.select(1)).toEqual([]);
    expect(arbiter.cancel(2, 2)).toBe("gone");
    expect(numbers(arbiter.select(2))).toEqual([3]);
  });
});

describe("cancel", () => {
  const prepared = (steps: number) => {
    const arbiter = new Arbiter(topology);
    arbiter.intent(intent(1, 0, 1), 0);
    arbiter.intent(intent(2, 0, 1), 0);
    if (steps > 0) arbiter.select(1);
    if (steps > 1) arbiter.recvReady(1, 2);
    if (steps > 2) arbiter.done(1, 3);
    return arbiter;
  };

  it("before selection: gone, and never selected", () => {
    const arbiter = prepared(0);
    expect(arbiter.cancel(1, 5)).toBe("gone");
    arbiter.validate();
    expect(numbers(arbiter.select(5))).toEqual([2]);
  });

  it("while the buffer is allocated: gone, ports free at once", () => {
    const arbiter = prepared(1);
    expect(arbiter.cancel(1, 5)).toBe("gone");
    arbiter.validate();
    expect(numbers(arbiter.select(5))).toEqual([2]);
    expect(() => arbiter.recvReady(1, 6)).toThrow(failing("UNKNOWN_TRANSFER", "transfer 1", "cancel at 5 ns"));
  });

  it("while data moves: ports stay taken until the end, and are freed once", () => {
    for (const end of ["done", "failed"] as const) {
      const arbiter = prepared(2);
      expect(arbiter.cancel(1, 5)).toBe("cancelling");
      expect(arbiter.cancel(1, 6)).toBe("cancelling");
      expect(arbiter.select(6)).toEqual([]);
      expect(arbiter.pending(6)[0]?.waitsFor[0]).toMatchObject({ reason: "busy", transfers: [1] });
      arbiter[end](1, 9);
      arbiter.validate();
      expect(numbers(arbiter.select(9))).toEqual([2]);
      expect(() => arbiter[end](1, 9)).toThrow(failing("UNKNOWN_TRANSFER"));
      arbiter.validate();
    }
  });

  it("after the end, or of what never was: nothing happens", () => {
    const arbiter = prepared(3);
    expect(arbiter.cancel(1, 5)).toBe("gone");
    expect(arbiter.cancel(99, 5)).toBe("gone");
    arbiter.validate();
    expect(numbers(arbiter.select(5))).toEqual([2]);
  });
});

describe("errors", () => {
  it("refuses illegal moves with the history, and changes nothing", () => {
    const arbiter = new Arbiter(topology);
    arbiter.intent(intent(1, 0, 1), 3);
    expect(() => arbiter.done(1, 4)).toThrow(failing("ILLEGAL_MOVE", '"done"', '"intent"', "raise at 3 ns"));
    expect(() => arbiter.recvReady(1, 4)).toThrow(failing("ILLEGAL_MOVE"));
    expect(numbers(arbiter.select(4))).toEqual([1]);
    expect(() => arbiter.done(1, 5)).toThrow(failing("ILLEGAL_MOVE", "receiving", "select at 4 ns"));
    arbiter.recvReady(1, 5);
    expect(() => arbiter.recvReady(1, 6)).toThrow(failing("ILLEGAL_MOVE", "recvReady at 5 ns"));
    arbiter.cancel(1, 7);
    expect(() => arbiter.recvReady(1, 7)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ state: "cancelling", transfer: 1 }) }),
    );
    expect(arbiter.state(1)).toBe("cancelling");
    arbiter.validate();
  });

  it("refuses what it does not know, what is there already and what has no way", () => {
    const arbiter = new Arbiter(topology);
    for (const move of ["recvReady", "done", "failed"] as const) {
      expect(() => arbiter[move](4, 0)).toThrow(failing("UNKNOWN_TRANSFER", "transfer 4", "Nothing is remembered"));
    }
    arbiter.intent(intent(1, 0, 1), 0);
    expect(() => arbiter.intent(intent(1, 1, 0), 0)).toThrow(failing("DUPLICATE_TRANSFER", "0 → 1"));
    for (const [source, destination] of [
      [3, 0],
      [0, 0],
      [0, 4],
      [-1, 0],
    ] as const) {
      expect(() => arbiter.intent(intent(2, source, destination), 0)).toThrow(failing("NO_ROUTE"));
    }
    expect(arbiter.state(2)).toBe("gone");
    arbiter.failed(1, 1);
    arbiter.intent(intent(1, 1, 0), 1);
    expect(arbiter.state(1)).toBe("intent");
    expect(Arbiter.load(topology, arbiter.save()).transfers()).toEqual(arbiter.transfers());
    arbiter.validate();
  });

  it("refuses numbers that are none, all at once", () => {
    const arbiter = new Arbiter(topology);
    const bad: Intent = { transfer: -1, source: 0, destination: 1, bytes: 1.5, rank: Number.NaN, expectedNs: -1 };
    expect(() => arbiter.intent(bad, 0)).toThrow(failing("INVALID_INTENT", "transfer", "bytes", "rank", "expectedNs"));
    expect(() => new Arbiter(topology, { agingNs: 0, reserveNs: -1, deadlineFactor: 0.9, deadlineMinNs: 1.5 })).toThrow(
      failing("INVALID_OPTIONS", "agingNs", "reserveNs", "deadlineFactor", "deadlineMinNs"),
    );
    expect(() => new Arbiter(topology, { agingNs: Number.POSITIVE_INFINITY })).toThrow(failing("INVALID_OPTIONS"));
  });

  it("refuses a time that steps back or is none", () => {
    const arbiter = new Arbiter(topology);
    arbiter.intent(intent(1, 0, 1), 10);
    for (const nowNs of [9, 10.5, Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(() => arbiter.select(nowNs)).toThrow(failing("INVALID_TIME", "10"));
      expect(() => arbiter.intent(intent(2, 1, 0), nowNs)).toThrow(failing("INVALID_TIME"));
      expect(() => arbiter.failed(1, nowNs)).toThrow(failing("INVALID_TIME"));
      expect(() => arbiter.cancel(1, nowNs)).toThrow(failing("INVALID_TIME"));
      expect(() => arbiter.cancel(3, nowNs)).toThrow(failing("INVALID_TIME"));
      expect(() => arbiter.pending(nowNs)).toThrow(failing("INVALID_TIME"));
      expect(() => arbiter.describe(nowNs)).toThrow(failing("INVALID_TIME"));
      expect(() => arbiter.expire(nowNs)).toThrow(failing("INVALID_TIME"));
      expect(() => arbiter.acceleratorLost(0, nowNs)).toThrow(failing("INVALID_TIME"));
    }
    expect(arbiter.state(2)).toBe("gone");
    expect(numbers(arbiter.select(10))).toEqual([1]);
  });

  it("forgets the histories of those long gone", () => {
    const arbiter = new Arbiter(topology);
    for (let transfer = 0; transfer < 70; transfer++) {
      arbiter.intent(intent(transfer, 0, 1), transfer);
      arbiter.cancel(transfer, transfer);
    }
    expect(() => arbiter.done(0, 70)).toThrow("Nothing is remembered");
    expect(() => arbiter.done(69, 70)).toThrow("cancel at 69 ns");
    expect(arbiter.save().gone).toHaveLength(64);
  });
});
