import { EVENT_KIND } from "@slicescheduler/executor";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DEADLINE_MIN_NS, EMPTY, overdueWorld } from "./overdue.fixture.ts";

/** What happens to each transfer, by its number, again from the first for those beyond the last. */
const FATES = ["goes", "goes", "endsLate", "endsTwice", "recvReadyLost", "recvLost"] as const;

const plays = fc.record({
  fates: fc.array(fc.constantFrom(...FATES), { minLength: 1, maxLength: 12 }),
  submitted: fc.array(
    fc.record({
      atNs: fc.nat(1500),
      partitions: fc.constantFrom(["01"], ["02"], ["01", "02"]),
      cancelAfterNs: fc.option(fc.nat(2000), { freq: 4 }),
    }),
    { minLength: 1, maxLength: 10 },
  ),
  loss: fc.option(fc.record({ name: fc.constantFrom("a0", "a1", "a2"), atNs: fc.nat(4000) })),
  memorySafety: fc.constantFrom("guaranteed" as const, "predicted" as const),
});

test("whatever becomes of transfers, all work settles in bounded time by itself, and each buffer is free once when its end is heard", () => {
  let quarantined = 0;
  fc.assert(
    fc.property(plays, ({ fates, submitted, loss, memorySafety }) => {
      const fateOf = (transfer: number) => fates[transfer % fates.length];
      const hasFate = (fate: string, of: { readonly type: string; readonly transfer?: number }, type: string) =>
        of.type === type && fateOf(of.transfer ?? -1) === fate;
      const { time, executor, scheduler, told, pass, atRest } = overdueWorld(
        {
          movesNs: (transfer) => (fateOf(transfer) === "endsLate" ? 1e6 : 110),
          keepsBack: (event) => hasFate("recvReadyLost", event, "recvReady"),
          drops: (instruction) => hasFate("recvLost", instruction, "activateRecv"),
          doubles: (event) => hasFate("endsTwice", event, "transferDone"),
        },
        { memorySafety },
      );
      const at = (atNs: number, act: () => void) => time.at(atNs, { kind: EVENT_KIND.application, number: 0 }, act);
      let settled = 0;
      for (const name of ["instanceDone", "instanceFailed", "instanceCancelled"] as const)
        scheduler.on(name, ({ atNs }) => {
          expect(atNs).toBeLessThan(boundNs);
          settled += 1;
        });
      for (const { atNs, partitions, cancelAfterNs } of submitted)
        at(atNs, () => {
          // While an accelerator of it is away, nothing more is taken for a partition.
          const isAway =
            loss !== null && partitions.every((name) => (name === "01" ? loss.name !== "a2" : loss.name !== "a1"));
          if (isAway && atNs >= loss.atNs && atNs <= loss.atNs + 300) {
            settled += 1;
            return;
          }
          const handle = scheduler.submit(pass, { symbols: {}, partitions });
          handle.done.catch(() => {});
          if (cancelAfterNs !== null) at(time.nowNs() + cancelAfterNs, () => handle.cancel());
        });
      if (loss !== null) {
        at(loss.atNs, () => executor.loseAccelerator(loss.name));
        at(loss.atNs + 300, () => executor.returnAccelerator(loss.name));
      }
      // Every transfer keeps its ports for twice the deadline at most, and is made again at most once, for the loss.
      const boundNs = 5000 + 2 * submitted.length * (2 * DEADLINE_MIN_NS + 200);
      while (time.step()) scheduler.validate();
      expect(settled).toBe(submitted.length);
      expect(atRest()).toEqual(EMPTY);
      const numbersOf = (what: string) => told.filter((line) => line.includes(what)).map((line) => line.split(" ")[2]);
      expect(numbersOf("transferReleased").sort()).toEqual(numbersOf("transferQuarantined").sort());
      expect(new Set(numbersOf("transferReleased")).size).toBe(numbersOf("transferReleased").length);
      quarantined += numbersOf("transferReleased").length;
    }),
    { numRuns: 150 },
  );
  expect(quarantined).toBeGreaterThan(50);
});
