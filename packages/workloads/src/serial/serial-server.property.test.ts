import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { Workload } from "../recipes/types.ts";
import { idleIntervals, idleOverlap, idleSlices, serialUtilization, serveSerially } from "./serial-server.ts";

const windowMs = 400;
const windowNs = windowMs * 1e6;

/** Arrivals and durations in whole milliseconds, so that a twin can go through the window one millisecond at a time. */
const workload: fc.Arbitrary<Workload> = fc
  .array(
    fc.array(
      fc.record({
        at: fc.nat(windowMs - 1),
        input: fc.integer({ min: 1, max: 30 }),
        output: fc.integer({ min: 1, max: 4 }),
      }),
      {
        maxLength: 12,
      },
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((tenants) => ({
    windowNs,
    tenants: tenants.map((requests, tenant) =>
      requests
        .sort((a, b) => a.at - b.at)
        .map(({ at, input, output }) => ({ tenant, arrivalNs: at * 1e6, inputTokens: input, outputTokens: output })),
    ),
  }));

const options = { prefillNsPerToken: 1e6, decodePassNs: 5e6 } as const;

/** The slow twin: per tenant, whether its server works in each millisecond of the window. */
function busyMilliseconds(load: Workload): boolean[][] {
  return load.tenants.map((requests) => {
    const queue = [...requests];
    let leftMs = 0;
    return Array.from({ length: windowMs }, (_, ms) => {
      if (leftMs === 0 && queue[0] !== undefined && queue[0].arrivalNs <= ms * 1e6) {
        leftMs = queue[0].inputTokens + 5 * queue[0].outputTokens;
        queue.shift();
      }
      if (leftMs === 0) return false;
      leftMs--;
      return true;
    });
  });
}

describe("serial servers against a twin that goes through the window by milliseconds", () => {
  test.prop([workload])("utilisation, idle time and overlap", (load) => {
    const served = serveSerially(load, options);
    const twin = busyMilliseconds(load);
    const idle = twin.map((busy) => busy.filter((b) => !b).length);
    expect(serialUtilization(served, windowNs)).toEqual(idle.map((ms) => (windowMs - ms) / windowMs));
    const idleMs = served.busy.map((b) =>
      idleIntervals(b, windowNs).reduce((sum, i) => sum + (i.endNs - i.startNs) / 1e6, 0),
    );
    expect(idleMs).toEqual(idle);
    const common = Array.from({ length: windowMs }, (_, ms) => twin.every((busy) => busy[ms] === false));
    const total = idle.reduce((a, b) => a + b, 0);
    const expected = total === 0 ? 0 : common.filter(Boolean).length / (total / twin.length);
    expect(idleOverlap(served, windowNs)).toBeCloseTo(expected, 12);
  });

  test.prop([workload])("one request at a time, in order, none before it arrives", (load) => {
    const served = serveSerially(load, options);
    load.tenants.forEach((requests, tenant) => {
      let freeNs = 0;
      requests.forEach((request, i) => {
        const { startNs, endNs } = served.busy[tenant]?.[i] ?? { startNs: -1, endNs: -1 };
        expect(startNs).toBe(Math.max(freeNs, request.arrivalNs));
        expect(served.ttftNs[tenant]?.[i]).toBe(startNs + request.inputTokens * 1e6 - request.arrivalNs);
        expect(endNs - startNs).toBe((request.inputTokens + 5 * request.outputTokens) * 1e6);
        freeNs = endNs;
      });
    });
  });

  test.prop([workload])("without requests everything is one idle slice per tenant", (load) => {
    const empty = { ...load, tenants: load.tenants.map(() => []) };
    const served = serveSerially(empty);
    expect(idleSlices(served, windowNs)?.idleMs).toEqual({ p50: windowMs, p90: windowMs, p99: windowMs });
    expect(idleOverlap(served, windowNs)).toBe(1);
  });
});
