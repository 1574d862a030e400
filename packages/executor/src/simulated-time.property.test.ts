import fc from "fast-check";
import { expect, test } from "vitest";
import { SimulatedTime, type SimulatedTimer } from "./index.ts";

const order = fc.record({ waitNs: fc.nat({ max: 6 }), kind: fc.nat({ max: 2 }), number: fc.nat({ max: 3 }) });

interface Waiting {
  readonly atNs: number;
  readonly kind: number;
  readonly number: number;
  readonly id: number;
}

function first(waiting: readonly Waiting[]): Waiting | undefined {
  return [...waiting].sort((a, b) => a.atNs - b.atNs || a.kind - b.kind || a.number - b.number || a.id - b.id)[0];
}

test("events run in the order of a list that is sorted before each of them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(order, fc.record({ cancel: fc.nat() }), fc.record({ runNs: fc.nat({ max: 8 }) })), {
        maxLength: 60,
      }),
      (commands) => {
        const time = new SimulatedTime();
        const timers: SimulatedTimer[] = [];
        const ran: number[] = [];
        const expected: number[] = [];
        let waiting: Waiting[] = [];
        for (const command of commands) {
          if ("waitNs" in command) {
            const { waitNs, kind, number } = command;
            const id = timers.length;
            const atNs = time.nowNs() + waitNs;
            waiting.push({ atNs, kind, number, id });
            timers.push(
              time.at(atNs, { kind, number }, () => {
                expect(time.nowNs()).toBe(atNs);
                ran.push(id);
              }),
            );
          } else if ("cancel" in command) {
            const id = command.cancel % Math.max(timers.length, 1);
            const timer = timers[id];
            if (timer === undefined) continue;
            expect(time.cancel(timer)).toBe(waiting.some((one) => one.id === id));
            waiting = waiting.filter((one) => one.id !== id);
          } else {
            const untilNs = time.nowNs() + command.runNs;
            const before = expected.length;
            for (let next = first(waiting); next !== undefined && next.atNs <= untilNs; next = first(waiting)) {
              const { id } = next;
              expected.push(id);
              waiting = waiting.filter((one) => one.id !== id);
            }
            expect(time.run(untilNs)).toBe(expected.length - before);
            expect(time.nowNs()).toBe(untilNs);
          }
          expect(time.pending).toBe(waiting.length);
          expect(ran).toEqual(expected);
        }
      },
    ),
    { numRuns: 100 },
  );
});

test("what a callback adds at the same instant runs in that instant, in order", () => {
  fc.assert(
    fc.property(fc.array(order, { minLength: 1, maxLength: 20 }), (orders) => {
      const time = new SimulatedTime();
      const ran: { kind: number; number: number }[] = [];
      time.at(5, { kind: 0, number: 0 }, () => {
        for (const { kind, number } of orders) time.at(5, { kind, number }, () => ran.push({ kind, number }));
      });
      time.run(5);
      expect(ran).toEqual(
        orders.map(({ kind, number }) => ({ kind, number })).sort((a, b) => a.kind - b.kind || a.number - b.number),
      );
    }),
  );
});
