/** What an arbiter has saved of itself in the midst of its work. */
import { Arbiter, ArbitrationError, type Topology } from "@slicescheduler/arbitration";
import fc from "fast-check";
import { expect, test } from "vitest";
import { damaged, loaded } from "./hostile.ts";

const numRuns = Number(process.env["FUZZ"] ?? 1000);

const topology: Topology = {
  accelerators: 3,
  portCapacity: [1, 2, 1],
  linkCapacity: [1],
  route: (source, destination) => (source === 0 && destination === 2 ? undefined : source === 1 ? [0] : []),
};

/** One transfer in each state, and some that are gone. */
function busyArbiter(): Arbiter {
  const arbiter = new Arbiter(topology, { deadlineMinNs: 50 });
  const raise = (transfer: number, source: number, destination: number, rank: number, nowNs: number) =>
    arbiter.intent({ transfer, source, destination, bytes: 10, rank, expectedNs: 5 }, nowNs);
  raise(0, 0, 1, 0, 1);
  raise(1, 1, 0, 0, 1);
  arbiter.select(2);
  arbiter.recvReady(0, 3);
  arbiter.expire(100);
  raise(2, 2, 1, 1, 101);
  raise(3, 0, 1, 1, 101);
  raise(4, 1, 2, 2, 101);
  arbiter.select(102);
  arbiter.recvReady(2, 103);
  arbiter.cancel(2, 104);
  raise(5, 0, 1, 3, 105);
  raise(6, 0, 1, 3, 105);
  arbiter.cancel(6, 106);
  return arbiter;
}

test("a damaged arbiter is refused with the place, or is a sound arbiter that saves the same and goes on", () => {
  const saved = JSON.parse(JSON.stringify(busyArbiter().save()));
  expect(Arbiter.load(topology, saved).save()).toEqual(saved);
  const states = new Set(saved.transfers.map(({ state }: { state: string }) => state));
  expect(states.size).toBeGreaterThanOrEqual(3);
  let refused = 0;
  fc.assert(
    fc.property(damaged(saved), (value) => {
      const arbiter = loaded(
        () => Arbiter.load(topology, value),
        (error) => error instanceof ArbitrationError,
      );
      if (arbiter === undefined) {
        refused++;
        return;
      }
      arbiter.validate();
      const again = arbiter.save();
      expect(Arbiter.load(topology, again).save()).toEqual(again);
      const nowNs = again.nowNs + 1;
      if (!Number.isSafeInteger(nowNs + 1000)) return;
      for (const { transfer } of arbiter.select(nowNs)) arbiter.recvReady(transfer, nowNs);
      arbiter.validate();
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 2);
});
