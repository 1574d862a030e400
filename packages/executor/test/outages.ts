import fc from "fast-check";
import { expect } from "vitest";
import type { Logged } from "./mini-master.ts";
import { issuesOf, type Plan } from "./plan.ts";

export interface PlannedOutage {
  readonly accelerator: number;
  readonly lostNs: number;
  readonly backNs: number;
}

/** What becomes outages of a plan with `outagesOf`. */
export const drawnOutages = fc.array(
  fc.record({
    accelerator: fc.nat({ max: 1 << 20 }),
    afterNs: fc.nat({ max: 12 }),
    lastNs: fc.integer({ min: 1, max: 15 }),
  }),
  { minLength: 1, maxLength: 3 },
);
type DrawnOutage = typeof drawnOutages extends fc.Arbitrary<readonly (infer T)[]> ? T : never;

/** Each begins some time after the last one of its accelerator, or at the instant of its end. */
export function outagesOf(plan: Plan, drawn: readonly DrawnOutage[]): PlannedOutage[] {
  const thereNs = new Map<number, number>();
  return drawn.map(({ accelerator: pick, afterNs, lastNs }) => {
    const accelerator = pick % plan.accelerators;
    const lostNs = (thereNs.get(accelerator) ?? 0) + afterNs;
    thereNs.set(accelerator, lostNs + lastNs);
    return { accelerator, lostNs, backNs: lostNs + lastNs };
  });
}

/** Expects of a run in which everything is issued before the first loss that nothing is heard of what a loss took. */
export function expectSilence(plan: Plan, log: readonly Logged[]): void {
  const { issues, transfers } = issuesOf(plan);
  const issuesLeft = new Map(issues.map((issue) => [issue.issueNumber, issue.accelerator]));
  const transfersLeft = new Map(transfers.map((one) => [one.transfer, [one.source, one.destination]]));
  const vanished = new Set<string>();
  for (const { event } of log) {
    if (event.type === "acceleratorLost") {
      for (const [issueNumber, accelerator] of issuesLeft)
        if (accelerator === event.accelerator) vanished.add(`issue ${issueNumber}`);
      for (const [transfer, ends] of transfersLeft)
        if (ends.includes(event.accelerator)) vanished.add(`transfer ${transfer}`);
    } else if ("issueNumber" in event) {
      expect(vanished).not.toContain(`issue ${event.issueNumber}`);
      if (event.type !== "operatorStarted") issuesLeft.delete(event.issueNumber);
    } else if ("transfer" in event) {
      expect(vanished).not.toContain(`transfer ${event.transfer}`);
      if (event.type !== "recvReady" && event.type !== "recvFailed") transfersLeft.delete(event.transfer);
    } else if ("transfers" in event)
      for (const transfer of event.transfers) expect(vanished).not.toContain(`transfer ${transfer}`);
  }
}
