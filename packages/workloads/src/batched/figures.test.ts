import { describe, expect, test } from "vitest";
import { newRecord, recordToken } from "../replay/records.ts";
import type { BatchedOutcome } from "./driver.ts";
import { compareBatched } from "./figures.ts";

const windowNs = 10e9;

/** Requests that arrive at 0, each with two tokens: the first after `ttftMs`, the second after `tpotMs` more. */
function outcome(
  policy: string,
  ttftMs: readonly number[],
  tpotMs: number,
  busy: [number, number],
  offline = 0,
): BatchedOutcome {
  const records = ttftMs.map((ms, id) => {
    const record = newRecord(id, "online", { tenant: 0, arrivalNs: 0, inputTokens: 8, outputTokens: 2 });
    recordToken(record, ms * 1e6, windowNs);
    recordToken(record, (ms + tpotMs) * 1e6, windowNs);
    record.outcome = "completed";
    return record;
  });
  for (let k = 0; k < offline; k++) {
    const record = newRecord(records.length, "offline", { tenant: 0, arrivalNs: 0, inputTokens: 8, outputTokens: 1 });
    recordToken(record, 1e9, windowNs);
    record.outcome = "completed";
    records.push(record);
  }
  return {
    policy,
    windowNs,
    endNs: windowNs,
    records,
    offlineOffered: offline,
    accelerators: [],
    operatorsDone: 0,
    rounds: 0,
    simulatedOperators: 0,
    hostNsPerRound: null,
    leftInGraph: 0,
    standstills: 0,
    audit: [],
    busy: { online: [busy[0], busy[0]], offline: [busy[1], 0] },
    poolTokens: 16,
  };
}

const staticOnline = outcome("static-online", [100, 200, 300], 50, [0.4, 0]);
const alone = outcome("slicescheduler-online", [100, 100, 200], 40, [0.4, 0]);
const ours = outcome("slicescheduler", [110, 110, 210], 42, [0.4, 1], 9);

describe("compareBatched", () => {
  test("harvest is what offline work was given of what idled; interference is over online work alone", () => {
    const { slices } = compareBatched([[staticOnline, alone, ours]]);
    const near = (value: number): unknown => expect.closeTo(value, 12);
    expect(slices).toMatchObject({
      slicescheduler: {
        onlineShare: 0.4,
        offlineShare: 0.5,
        harvest: near(0.5 / 0.6),
        interference: { ttftP50: near(1.1), tpotP99: near(1.05) },
      },
      "static-online": { harvest: 0 },
    });
  });

  test("the strongest baseline is the one with the most requests, and variants of SliceScheduler are none", () => {
    const weak = outcome("subset-share", [100, 200, 300], 50, [0.4, 0.2], 1);
    const strong = outcome("dual-share", [100, 200, 300], 50, [0.4, 0.4], 3);
    const { ratios, strongestBaseline } = compareBatched([[staticOnline, weak, strong, alone, ours]]);
    expect(Object.keys(ratios)).toEqual(["static-online", "subset-share", "dual-share"]);
    expect(strongestBaseline?.policy).toBe("dual-share");
    expect(strongestBaseline?.ratios.requestsPerSecond).toBe(2);
    expect(compareBatched([[staticOnline, ours]]).strongestBaseline).toBeNull();
  });

  test("of several seeds the medians count", () => {
    const seeds = [0.2, 0.6, 0.9].map((share) => [staticOnline, outcome("slicescheduler", [100], 50, [0.4, share])]);
    const { slices } = compareBatched(seeds);
    expect(slices).toMatchObject({ slicescheduler: { offlineShare: expect.closeTo(0.3, 12), interference: null } });
  });

  test("without Static-Online there is no threshold", () => {
    expect(() => compareBatched([[ours]])).toThrow(/static-online was not replayed/);
  });
});
