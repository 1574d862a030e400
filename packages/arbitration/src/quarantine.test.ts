import { describe, expect, it } from "vitest";
import { topologyOf } from "../test/twin.ts";
import { Arbiter } from "./index.ts";

const topology = topologyOf([1, 1, 1], [], () => []);
const options = { deadlineFactor: 4, deadlineMinNs: 100 };

/** Transfer 0 → 1 at the given step since 10 ns, and another one that waits for its ports. */
function stuck(step: "receiving" | "sending" | "cancelling", expectedNs = 0): Arbiter {
  const arbiter = new Arbiter(topology, options);
  for (const transfer of [1, 2]) {
    arbiter.intent({ transfer, source: 0, destination: 1, bytes: 8, rank: 0, expectedNs }, 0);
  }
  arbiter.select(step === "receiving" ? 10 : 5);
  if (step !== "receiving") arbiter.recvReady(1, 10);
  if (step === "cancelling") arbiter.cancel(1, 60);
  return arbiter;
}

const STEPS = ["receiving", "sending", "cancelling"] as const;

describe("a transfer whose end does not come", () => {
  it.each(STEPS)("is quarantined at its deadline while it is %s, and whoever waits for its ports goes", (from) => {
    const arbiter = stuck(from);
    expect(arbiter.nextDeadlineNs).toBe(110);
    expect(arbiter.expire(109)).toEqual([]);
    expect(arbiter.select(109)).toEqual([]);
    expect(arbiter.expire(110)).toEqual([{ transfer: 1, source: 0, destination: 1, bytes: 8, from, deadlineNs: 110 }]);
    arbiter.validate();
    expect(arbiter.state(1)).toBe("quarantined");
    expect(arbiter.select(110)).toEqual([{ transfer: 2, source: 0, destination: 1, bytes: 8 }]);
    // It has no deadline any more, the other one has.
    expect(arbiter.nextDeadlineNs).toBe(210);
  });

  it.each(["done", "failed"] as const)("ends once when it is %s late, and frees nothing that others have", (end) => {
    for (const from of STEPS) {
      const arbiter = stuck(from);
      arbiter.expire(110);
      arbiter.select(110);
      arbiter.recvReady(2, 111);
      expect(arbiter[end](1, 120)).toBe("quarantined");
      arbiter.validate();
      expect(arbiter.state(1)).toBe("gone");
      arbiter.intent({ transfer: 3, source: 0, destination: 1, bytes: 8, rank: 0 }, 120);
      expect(arbiter.select(120)).toEqual([]);
      const before = arbiter.save();
      expect(() => arbiter[end](1, 130)).toThrow(
        expect.objectContaining({
          code: "UNKNOWN_TRANSFER",
          message: expect.stringMatching(/transfer 1, which is not live.*expire at 110 ns.*at 120 ns/),
        }),
      );
      expect(arbiter.save()).toEqual(before);
      expect(arbiter.done(2, 131)).toBe("sending");
      expect(arbiter.select(131)).toHaveLength(1);
    }
  });

  it("keeps its number, however often it is cancelled, until it has ended", () => {
    const arbiter = stuck("sending");
    arbiter.expire(500);
    expect(arbiter.cancel(1, 501)).toBe("quarantined");
    expect(arbiter.cancel(1, 502)).toBe("quarantined");
    expect(() => arbiter.intent({ transfer: 1, source: 2, destination: 1, bytes: 8, rank: 0 }, 503)).toThrow(
      expect.objectContaining({ code: "DUPLICATE_TRANSFER", message: expect.stringContaining('"quarantined"') }),
    );
    arbiter.failed(1, 504);
    arbiter.intent({ transfer: 1, source: 2, destination: 1, bytes: 8, rank: 0 }, 505);
    expect(arbiter.state(1)).toBe("intent");
  });

  it("says at a late recvReady that nothing may be sent", () => {
    const arbiter = stuck("receiving");
    arbiter.expire(110);
    arbiter.select(110);
    expect(arbiter.recvReady(1, 115)).toBe("quarantined");
    expect(arbiter.recvReady(2, 115)).toBe("sending");
    arbiter.validate();
  });

  it("ends with either of its accelerators, and not with another", () => {
    for (const accelerator of [0, 1]) {
      const arbiter = stuck("sending");
      arbiter.intent({ transfer: 3, source: 2, destination: accelerator, bytes: 8, rank: 0 }, 100);
      arbiter.intent({ transfer: 4, source: 2, destination: 1 - accelerator, bytes: 8, rank: 0 }, 100);
      arbiter.expire(110);
      expect(arbiter.acceleratorLost(2, 110)).toEqual([3, 4]);
      expect(arbiter.state(1)).toBe("quarantined");
      expect(arbiter.acceleratorLost(accelerator, 111)).toEqual([1, 2]);
      expect(arbiter.transfers()).toEqual([]);
      arbiter.validate();
      expect(arbiter.acceleratorLost(accelerator, 112)).toEqual([]);
    }
  });
});

describe("the deadline", () => {
  it("is a multiple of what is expected, from when the data began to move", () => {
    expect(stuck("sending", 30).nextDeadlineNs).toBe(10 + 4 * 30);
    expect(stuck("sending", 20).nextDeadlineNs).toBe(10 + 100);
    // Before that nothing is predicted.
    expect(stuck("receiving", 30).nextDeadlineNs).toBe(10 + 100);
  });

  it("follows what recvReady knows better", () => {
    const arbiter = new Arbiter(topology, { deadlineFactor: 1.5, deadlineMinNs: 10 });
    arbiter.intent({ transfer: 0, source: 0, destination: 1, bytes: 8, rank: 0, expectedNs: 1000 }, 0);
    arbiter.select(0);
    for (const bad of [-1, 0.5, Number.NaN]) {
      expect(() => arbiter.recvReady(0, 7, bad)).toThrow(expect.objectContaining({ code: "INVALID_INTENT" }));
    }
    expect(arbiter.recvReady(0, 7, 21)).toBe("sending");
    expect(arbiter.nextDeadlineNs).toBe(7 + 32);
  });

  it("is never when that is asked for, or past what a time can be", () => {
    for (const never of [{ deadlineMinNs: Number.MAX_SAFE_INTEGER }, { deadlineFactor: Number.MAX_VALUE }]) {
      const arbiter = new Arbiter(topology, { deadlineMinNs: 10, ...never });
      arbiter.intent({ transfer: 0, source: 0, destination: 1, bytes: 8, rank: 0, expectedNs: 9 }, 5);
      arbiter.select(5);
      arbiter.recvReady(0, 6);
      expect(arbiter.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY);
      expect(arbiter.expire(1e12)).toEqual([]);
      arbiter.validate();
    }
  });
});

describe("rerank", () => {
  it("moves a pending intent in the order and keeps its age; later there is nothing to move", () => {
    const arbiter = new Arbiter(topology, { agingNs: 100 });
    for (const [transfer, rank] of [
      [1, 2],
      [2, 3],
      [3, 2],
    ] as const) {
      arbiter.intent({ transfer, source: 0, destination: 1, bytes: 1, rank }, 0);
    }
    expect(arbiter.rerank(2, 1)).toBe(true);
    expect(arbiter.pending(150).map(({ transfer, effectiveRank }) => [transfer, effectiveRank])).toEqual([
      [2, 0],
      [1, 1],
      [3, 1],
    ]);
    expect(arbiter.select(150).map(({ transfer }) => transfer)).toEqual([2]);
    expect(arbiter.rerank(2, 0)).toBe(false);
    expect(() => arbiter.rerank(9, 0)).toThrow(expect.objectContaining({ code: "UNKNOWN_TRANSFER" }));
    expect(() => arbiter.rerank(1, -1)).toThrow(expect.objectContaining({ code: "INVALID_INTENT" }));
    expect(() => arbiter.rerank(1, 0.5)).toThrow(expect.objectContaining({ code: "INVALID_INTENT" }));
    arbiter.validate();
  });

  it("lets go whom the intent kept out, with no port freed", () => {
    const arbiter = new Arbiter(topology, { reserveNs: 0 });
    arbiter.intent({ transfer: 1, source: 2, destination: 1, bytes: 1, rank: 0 }, 0);
    arbiter.select(0);
    arbiter.intent({ transfer: 2, source: 0, destination: 1, bytes: 1, rank: 0 }, 0);
    arbiter.intent({ transfer: 3, source: 0, destination: 2, bytes: 1, rank: 1 }, 0);
    expect(arbiter.select(0)).toEqual([]);
    arbiter.rerank(2, 2);
    expect(arbiter.select(0).map(({ transfer }) => transfer)).toEqual([3]);
  });
});
