import { expect, it } from "vitest";
import { topologyOf } from "../test/twin.ts";
import { Arbiter } from "./index.ts";

const topology = topologyOf([1, 1, 1, 1], [1], (source, destination) => (source < 2 === destination < 2 ? [] : [0]));

it("says in words who waits for whom, down to who waits for nobody", () => {
  const arbiter = new Arbiter(topology, { agingNs: 1e6, reserveNs: 2e6, deadlineMinNs: 5e6, deadlineFactor: 2 });
  const ways = [
    [1, 0, 2],
    [2, 1, 3],
    [3, 1, 0],
    [4, 2, 3],
  ] as const;
  for (const [transfer, source, destination] of ways) {
    arbiter.intent({ transfer, source, destination, bytes: 4096, rank: transfer % 2, expectedNs: 4e6 }, 1000);
  }
  arbiter.select(1000);
  arbiter.recvReady(2, 2000);
  expect(arbiter.describe(2500)).toMatchInlineSnapshot(`
    "3 waiting, 1 with ports, 0 quarantined at 2.5 µs.
    Transfer 4 (2 → 3, rank 0) has waited 1.5 µs; it waits for ingress of accelerator 3 (taken by transfer 2).
    Transfer 1 (0 → 2, rank 1) has waited 1.5 µs; it waits for link 0 (taken by transfer 2).
    Transfer 3 (1 → 0, rank 1) has waited 1.5 µs; it waits for egress of accelerator 1 (taken by transfer 2).
    Transfer 2 (1 → 3) moves its data since 2 µs and is quarantined at 8.002 ms if it has not ended."
  `);

  arbiter.cancel(2, 3000);
  arbiter.failed(3, 3000);
  arbiter.intent({ transfer: 5, source: 1, destination: 2, bytes: 1, rank: 1 }, 3000);
  expect(arbiter.describe(3.5e6)).toMatchInlineSnapshot(`
    "3 waiting, 1 with ports, 0 quarantined at 3.5 ms.
    Transfer 4 (2 → 3, rank 0, by age -3) has waited 3.499 ms, and keeps its ports from those after it; it waits for ingress of accelerator 3 (taken by transfer 2).
    Transfer 1 (0 → 2, rank 1, by age -2) has waited 3.499 ms, and keeps its ports from those after it; it waits for link 0 (taken by transfer 2).
    Transfer 5 (1 → 2, rank 1, by age -2) has waited 3.497 ms, and keeps its ports from those after it; it waits for egress of accelerator 1 (taken by transfer 2) and ingress of accelerator 2 (kept for transfer 1) and link 0 (taken by transfer 2).
    Transfer 2 (1 → 3) is cancelled and moves its data still since 2 µs and is quarantined at 8.002 ms if it has not ended."
  `);
  arbiter.expire(arbiter.nextDeadlineNs);
  expect(arbiter.describe(9e6)).toMatchInlineSnapshot(`
    "3 waiting, 0 with ports, 1 quarantined at 9 ms.
    Transfer 4 (2 → 3, rank 0, by age -8) has waited 8.999 ms, and keeps its ports from those after it; it waits for the next selection.
    Transfer 1 (0 → 2, rank 1, by age -7) has waited 8.999 ms, and keeps its ports from those after it; it waits for the next selection.
    Transfer 5 (1 → 2, rank 1, by age -7) has waited 8.997 ms, and keeps its ports from those after it; it waits for ingress of accelerator 2 (kept for transfer 1) and link 0 (kept for transfer 1).
    Transfer 2 (1 → 3) is quarantined since 8.002 ms: its end has not come, and its 4096 bytes at both ends are not free."
  `);
});

it("says so when nothing is there", () => {
  expect(new Arbiter(topology).describe(0)).toBe("0 waiting, 0 with ports, 0 quarantined at 0 ns.");
});

it("says when there is no deadline", () => {
  const arbiter = new Arbiter(topology, { deadlineMinNs: Number.MAX_SAFE_INTEGER });
  arbiter.intent({ transfer: 1, source: 0, destination: 1, bytes: 1, rank: 0 }, 1);
  expect(arbiter.describe(2)).toContain("it waits for the next selection.");
  arbiter.select(2);
  expect(arbiter.describe(3)).toContain("and has no deadline.");
});
