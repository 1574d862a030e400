import { describe, expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { ReplayCheckError } from "../errors.ts";
import type { WorkloadRequest } from "../recipes/types.ts";
import { type OpenReplay, openReplay, type ReplayOptions } from "./driver.ts";

const cluster = colocationCluster();
const request = (arrivalNs: number, inputTokens: number, outputTokens: number): WorkloadRequest => ({
  tenant: 0,
  arrivalNs,
  inputTokens,
  outputTokens,
});
const arrivals = Array.from({ length: 20 }, (_, index) => index * 0.5e9);
const options = (policy: string): ReplayOptions => ({
  cluster,
  policy,
  online: { windowNs: 12e9, tenants: [arrivals.map((atNs) => request(atNs, 300, 4))] },
  offline: policy === "static-online" ? [] : arrivals.map((atNs) => request(atNs, 800, 3)),
  seed: 7,
});

/** Runs it to its end; what is wrong with it, each as a sentence. */
function failuresOf(opened: OpenReplay): string[] {
  opened.advance(Number.POSITIVE_INFINITY);
  try {
    opened.outcome();
    return [];
  } catch (error) {
    if (!(error instanceof ReplayCheckError)) throw error;
    return error.failures.map(({ detail }) => detail);
  } finally {
    opened.close();
  }
}

describe("a replay that is interfered with", () => {
  test.each([["slicescheduler"], ["static-online"], ["full-share"]])(
    "%s, all accelerators drained for three seconds: who has nowhere to go fails, the others are served",
    (policy) => {
      const opened = openReplay(options(policy));
      const { scheduler } = opened;
      opened.advance(1.1e9);
      for (const { name } of cluster.accelerators) scheduler.drainAccelerator(name);
      opened.advance(4.2e9);
      expect(scheduler.stats().issuedOperators).toBe(0);
      for (const { name } of cluster.accelerators) scheduler.resumeAccelerator(name);
      const failures = failuresOf(opened);
      expect(failures.filter((detail) => !/ request \d+ ended as failed after /.test(detail))).toEqual([]);
      // A request of each class arrives every half second. Of a lane that takes one at a time no more than one per second fails.
      expect(failures.length).toBeGreaterThan(1);
      expect(failures.length).toBeLessThan(17);
    },
  );

  test("a cancelled instance ends its request as failed, and the lane takes the next one", () => {
    const opened = openReplay({ ...options("static-online"), offline: [] });
    opened.advance(1e6);
    opened.scheduler.cancelInstance(0);
    // Operators that never ended are told as well.
    expect(failuresOf(opened).filter((detail) => detail.includes("request"))).toEqual([
      "online request 0 ended as failed after 0 of 4 tokens",
    ]);
  });
});
