import fc from "fast-check";
import { expect, test } from "vitest";
import { IntentQueue } from "./index.ts";

const topology = {
  accelerators: 4,
  portCapacity: [1, 2, 1, 1],
  linkCapacity: [1],
  route: (source: number, destination: number) => (source + destination === 3 ? [0] : []),
};

test("an intent that is raised alone goes at once exactly when adding and selecting it would let it go", () => {
  const ways = fc.tuple(fc.nat(3), fc.nat(2)).map(([source, step]) => [source, (source + 1 + step) % 4] as const);
  let [went, stayed] = [0, 0];
  fc.assert(
    fc.property(fc.array(ways, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 20 }), (raised, ends) => {
      const quick = new IntentQueue(topology);
      const queued = new IntentQueue(topology);
      const going: (readonly [number, number])[] = [];
      for (const [transfer, way] of raised.entries()) {
        queued.add(transfer, ...way, 0, transfer);
        const admitted = queued.select(transfer) === 1;
        // Nothing pends in the quick one: what does not fit is not added.
        expect(quick.selectAlone(...way)).toBe(admitted);
        if (admitted) going.push(way);
        else queued.remove(slotOf(queued));
        went += admitted ? 1 : 0;
        stayed += admitted ? 0 : 1;
        const end = going.splice((ends[transfer] ?? 0) % (2 * going.length + 1), 1)[0];
        if (end === undefined) continue;
        quick.release(...end);
        queued.release(...end);
      }
    }),
  );
  expect(Math.min(went, stayed)).toBeGreaterThan(20);
});

test("it does not pass by one that is pending", () => {
  const queue = new IntentQueue(topology);
  queue.add(0, 0, 1, 0, 0);
  expect(queue.selectAlone(2, 3)).toBe(false);
  expect(queue.select(0)).toBe(1);
  expect(queue.selectAlone(2, 3)).toBe(true);
});

/** The only pending intent is in the first slot: slots are given out anew once they are free. */
function slotOf(queue: IntentQueue): number {
  expect(queue.size).toBe(1);
  return 0;
}
