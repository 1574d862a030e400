import type { MasterEvent } from "slicescheduler";
import { describe, expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { rooflineDurations } from "../colocation/roofline.ts";
import type { WorkloadRequest } from "../recipes/types.ts";
import { openReplay, type ReplayOptions, replay } from "./driver.ts";
import { fittingInstanceAccelerators } from "./instance-size.ts";

const request = (tenant: number, arrivalNs: number, inputTokens: number, outputTokens: number): WorkloadRequest => ({
  tenant,
  arrivalNs,
  inputTokens,
  outputTokens,
});
const online = {
  windowNs: 3e9,
  tenants: [[request(0, 0, 300, 4), request(0, 2e8, 700, 2)], [request(1, 1e9, 900, 3)]],
};
const offline = [request(0, 0, 1000, 3)];
const options: ReplayOptions = { cluster: colocationCluster(), policy: "slicescheduler", online, offline, seed: 7 };

describe("openReplay", () => {
  test("step by step it does what a replay at once does", () => {
    const opened = openReplay(options);
    let steps = 0;
    while (opened.advance(opened.nowNs() + 50e6)) steps++;
    expect(steps).toBeGreaterThan(10);
    expect(opened.outcome()).toEqual(replay(options));
    opened.close();
  });

  test("hooks: the options and the master before anything, every event in order, every token of every request", () => {
    const calls: string[] = [];
    const events: { event: MasterEvent; nowNs: number }[] = [];
    const tokens = new Map<number, number>();
    const outcome = replay({
      ...options,
      onOptions: ({ cluster, executor }) =>
        calls.push(`options ${cluster.accelerators.length} ${executor.manifest.name}`),
      onScheduler: (scheduler) => calls.push(`master ${scheduler.stats().instances} ${events.length}`),
      onEvent: (event, nowNs) => void events.push({ event, nowNs }),
      onToken: (id) => void tokens.set(id, (tokens.get(id) ?? 0) + 1),
    });
    expect(calls).toEqual(["options 8 virtual", "master 0 0"]);
    expect(events.map(({ nowNs }) => nowNs)).toEqual(events.map(({ nowNs }) => nowNs).sort((a, b) => a - b));
    const labels = events.flatMap(({ event }) => (event.type === "requestOpened" ? [event.label] : []));
    expect(labels.sort()).toEqual(["offline", "online instance 0", "online instance 0", "online instance 1"]);
    expect([...tokens.values()].reduce((a, b) => a + b, 0)).toBe(12);
    expect(outcome.records.map((record) => record.tokens).sort()).toEqual([...tokens.values()].sort());
    // Whoever looks on changes nothing.
    expect(outcome).toEqual(replay(options));
  });

  test("names of tenants are in the labels, and change nothing else", () => {
    const labels: string[] = [];
    const outcome = replay({
      ...options,
      tenantNames: { online: ["chat"], offline: ["batch"] },
      onEvent: (event) => void (event.type === "requestOpened" && labels.push(event.label)),
    });
    expect(labels.sort()).toEqual(["offline batch", "online chat", "online chat", "online instance 1"]);
    expect(outcome).toEqual(replay(options));
  });

  test("other durations: ten times the rates, a tenth of the time, up to transfers and noise", () => {
    const fast = {
      ...options.cluster,
      accelerators: options.cluster.accelerators.map((accelerator) => ({
        ...accelerator,
        flopsPerSecond: 71.6e13,
        hbmBytesPerSecond: 8e12,
      })),
    };
    const ttft = (cluster: typeof fast | ReplayOptions["cluster"]): number => {
      const { records } = replay({ ...options, cluster, offline: [], durations: rooflineDurations({ cluster }) });
      return Math.max(...records.map((record) => (record.firstTokenNs ?? 0) - record.request.arrivalNs));
    };
    const ratio = ttft(options.cluster) / ttft(fast);
    expect(ratio).toBeGreaterThan(8);
    expect(ratio).toBeLessThan(11);
  });
});

describe("fittingInstanceAccelerators", () => {
  const offered = { online, offline };
  const fits = (hbmBytes: number, policies = ["static-online", "slicescheduler"]): number =>
    fittingInstanceAccelerators(colocationCluster({ hbmBytes }), policies, offered);

  test("one accelerator where the whole model fits, else two, else four", () => {
    expect(fits(64e9)).toBe(1);
    expect(fits(16e9)).toBe(2);
    expect(fits(6e9)).toBe(4);
    // SliceScheduler's groups of two sizes lay more weights on an accelerator than a pinned instance has.
    expect(fits(9e9, ["static-online"])).toBe(2);
    expect(fits(9e9)).toBe(4);
  });

  test("where nothing fits it says what the largest would need, and what to do", () => {
    expect(() => fits(4e9)).toThrowError(
      /llama3-8b does not fit accelerator a0: 4\.54 GB of weights .* exceed 4\.00 GB of HBM, with 4 accelerator\(s\) per instance; take/,
    );
  });
});
