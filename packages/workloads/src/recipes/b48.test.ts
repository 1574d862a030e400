import { describe, expect, test } from "vitest";
import { fmix32 } from "../random.ts";
import type { TraceRow } from "../traces/types.ts";
import { recipeB, recipeB48 } from "./b48.ts";
import { offlineRequests } from "./offline.ts";
import { shortened } from "./types.ts";

/** One arrival a second over an hour, lengths that tell their row. */
const arrivals: TraceRow[] = Array.from({ length: 3600 }, (_, i) => ({
  arrivalNs: i * 1e9,
  inputTokens: 1,
  outputTokens: 1,
}));
const lengths: TraceRow[] = Array.from({ length: 40 }, (_, i) => ({
  arrivalNs: 0,
  inputTokens: i + 1,
  outputTokens: i % 2 === 0 ? 48 : 49,
}));

describe("recipe B48", () => {
  test("each tenant keeps its share of its half hour, by the hash of the row", () => {
    const { tenants, windowNs } = recipeB48(arrivals, lengths, 0.2);
    expect(windowNs).toBe(1800e9);
    tenants.forEach((requests, tenant) => {
      const offset = 550 * tenant;
      const expected = arrivals.flatMap((_, i) => {
        const u = fmix32(i + 1) / 2 ** 32;
        return i >= offset && i < offset + 1800 && u >= tenant * 0.2 && u < (tenant + 1) * 0.2
          ? [(i - offset) * 1e9]
          : [];
      });
      expect(requests.map((request) => request.arrivalNs)).toEqual(expected);
      expect(Math.abs(requests.length - 360)).toBeLessThan(60);
    });
  });

  test("lengths come from the short rows, each tenant a quarter further on, around the end", () => {
    const { tenants } = recipeB48(arrivals, lengths, 0.2);
    tenants.forEach((requests, tenant) => {
      requests.forEach((request, k) => {
        // 20 short rows, the odd input lengths; a quarter is 5.
        expect(request).toMatchObject({ inputTokens: 2 * ((5 * tenant + k) % 20) + 1, outputTokens: 48 });
      });
    });
    expect(recipeB(arrivals, lengths, 0.2).tenants[1]?.[0]?.inputTokens).toBe(11);
  });

  test.each([0, -0.1, 0.26, Number.NaN])("refuses a share of %s", (share) => {
    expect(() => recipeB48(arrivals, lengths, share)).toThrowError(expect.objectContaining({ code: "INVALID_OPTION" }));
  });

  test("refuses lengths that are all long, and arrivals of which nothing is kept", () => {
    const long = lengths.filter((row) => row.outputTokens > 48);
    const empty = expect.objectContaining({ code: "WORKLOAD_EMPTY" });
    expect(() => recipeB48(arrivals, long, 0.2)).toThrowError(empty);
    expect(() => recipeB48(arrivals.slice(0, 1), lengths, 0.0001)).toThrowError(empty);
  });
});

describe("shortened", () => {
  test("keeps what arrives before the new end", () => {
    const whole = recipeB48(arrivals, lengths, 0.2);
    const part = shortened(whole, 60e9);
    expect(part.windowNs).toBe(60e9);
    expect(part.tenants.flat().every((request) => request.arrivalNs < 60e9)).toBe(true);
    expect(part.tenants.flat().length).toBeGreaterThan(0);
    expect(shortened(whole, 1e15)).toEqual(whole);
  });
});

describe("offlineRequests", () => {
  test("one a second from 0 on, as many as the window has seconds", () => {
    const load = { requestsPerSecond: 1, inputTokens: 2048, outputTokens: 15 };
    const requests = offlineRequests(load, 1800e9);
    expect(requests).toHaveLength(1800);
    expect(requests.at(-1)?.arrivalNs).toBe(1799e9);
    expect(offlineRequests({ ...load, requestsPerSecond: 4 }, 1e9).map((r) => r.arrivalNs)).toEqual([
      0, 25e7, 5e8, 75e7,
    ]);
  });
});
