import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { ServeGenLengths, ServeGenWindow } from "../traces/servegen.ts";
import { recipeC } from "./recipe-c.ts";

const hour = 3600e9;

/** Days of one rate by night and another from noon on. */
function windows(days: number, night: number, day: number): ServeGenWindow[] {
  return Array.from({ length: days * 144 }, (_, i) => ({
    startSeconds: i * 600,
    requestsPerSecond: i % 144 < 72 ? night : day,
    interArrivalCv: 1,
    distribution: "Gamma",
    shape: 1,
    scaleSeconds: 1,
  }));
}
const only = (tokens: number): { tokens: number; probability: number }[] => [{ tokens, probability: 1 }];
const lengths: ServeGenLengths[] = [
  {
    startSeconds: 0,
    inputTokens: only(100),
    outputTokens: [
      { tokens: 5, probability: 0.25 },
      { tokens: 9, probability: 0.75 },
    ],
  },
  { startSeconds: 43_200, inputTokens: only(200), outputTokens: only(7) },
];

describe("recipe C", () => {
  test.prop([fc.nat(), fc.integer({ min: 1, max: 3 })])(
    "arrivals ascend within the window, each tenant its own",
    (seed, tenants) => {
      const workload = recipeC({ windows: windows(3, 1, 2), lengths, share: 0.01, seed, tenants });
      expect(workload.windowNs).toBe(24 * hour);
      expect(workload.tenants).toHaveLength(tenants);
      workload.tenants.forEach((requests, tenant) => {
        requests.forEach((request, i) => {
          expect(request.tenant).toBe(tenant);
          expect(Number.isInteger(request.arrivalNs)).toBe(true);
          expect(request.arrivalNs).toBeGreaterThanOrEqual(requests[i - 1]?.arrivalNs ?? 0);
          expect(request.arrivalNs).toBeLessThan(workload.windowNs);
        });
      });
    },
  );

  test("rates follow the windows × the share; gaps are exponential; lengths follow the part of the day", () => {
    const { tenants } = recipeC({ windows: windows(1, 2, 8), lengths, share: 0.1, seed: 3, tenants: 1 });
    const requests = tenants[0] ?? [];
    const night = requests.filter((request) => request.arrivalNs < 12 * hour);
    const day = requests.slice(night.length);
    // Poisson: 8,640 and 34,560 expected, five standard deviations allowed.
    expect(Math.abs(night.length - 8640)).toBeLessThan(5 * Math.sqrt(8640));
    expect(Math.abs(day.length - 34_560)).toBeLessThan(5 * Math.sqrt(34_560));
    const gaps = day.slice(1).map((request, i) => request.arrivalNs - (day[i]?.arrivalNs ?? 0));
    const mean = gaps.reduce((a, b) => a + b, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
    const short = night.filter((request) => request.outputTokens === 5).length / night.length;
    expect(short).toBeCloseTo(0.25, 1);
    expect(new Set(night.map((request) => request.inputTokens))).toEqual(new Set([100]));
    expect(new Set(day.map((request) => `${request.inputTokens} ${request.outputTokens}`))).toEqual(new Set(["200 7"]));
  });

  test("a part of the day begins at its hour", () => {
    const { windowNs, tenants } = recipeC({
      windows: windows(1, 0, 5),
      lengths,
      share: 0.1,
      seed: 1,
      tenants: 1,
      fromHour: 11,
      hours: 2,
    });
    expect(windowNs).toBe(2 * hour);
    expect(tenants[0]?.[0]?.arrivalNs).toBeGreaterThanOrEqual(hour);
  });

  test("equal seeds, equal workloads; other seeds, others", () => {
    const make = (seed: number): unknown =>
      recipeC({ windows: windows(1, 1, 1), lengths, share: 0.01, seed, tenants: 1 });
    expect(make(4)).toEqual(make(4));
    expect(make(4)).not.toEqual(make(5));
  });

  test.each([
    [{ share: 0 }, /share/],
    [{ firstDay: 1 }, /firstDay.*1 days suffice/],
    [{ fromHour: 20, hours: 5 }, /within one day/],
    [{ tenants: 0 }, /tenants/],
  ])("refuses %j", (change, reason) => {
    const options = { windows: windows(1, 1, 1), lengths, seed: 1, tenants: 1, ...change };
    expect(() => recipeC(options)).toThrowError(reason);
  });

  test("nothing to keep is told", () => {
    expect(() => recipeC({ windows: windows(1, 0, 0), lengths, seed: 1, tenants: 1 })).toThrowError(
      expect.objectContaining({ code: "WORKLOAD_EMPTY" }),
    );
  });
});
