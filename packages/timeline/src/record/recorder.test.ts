import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { SliceScheduler } from "slicescheduler";
import { describe, expect, it } from "vitest";
import { cluster, pass } from "../../test/world.ts";
import { REQUEST_OUTCOMES } from "../run-record.ts";
import { RunRecorder } from "./recorder.ts";
import { ThinnedList } from "./thinned-list.ts";

function run(listens: boolean, recorder = new RunRecorder({ cluster, label: "one" })) {
  const time = new SimulatedTime();
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 100 });
  const scheduler = new SliceScheduler({ cluster, executor, ...(listens ? { onEvent: recorder.onEvent } : {}) });
  recorder.attach(scheduler);
  const handle = scheduler.register(pass);
  const { id } = scheduler.submit(handle, { symbols: { size: 500 }, priority: "offline", label: "the one" });
  return { time, scheduler, recorder, instance: id };
}

describe("RunRecorder", () => {
  it("tells of a run that it was given whole", () => {
    const { time, recorder } = run(true);
    time.run();
    recorder.token(0, 205);
    recorder.token(0, 230);
    const record = recorder.finish();
    expect(record.label).toBe("one");
    expect(record.endNs).toBe(230);
    expect(record.accelerators[0]).toEqual({ name: "a0", kind: "demo", capacityBytes: 4000, baselineBytes: 100 });
    expect([...record.operators.startNs]).toEqual([0, 100]);
    expect([...record.operators.endNs]).toEqual([100, 200]);
    expect([...record.operators.rank]).toEqual([1, 1]);
    expect(record.operators.name).toEqual(Uint32Array.of(0, 1));
    expect(record.operatorNames).toEqual(["pass/make", "pass/read"]);
    const { requests } = record;
    expect(requests.labels).toEqual(["the one"]);
    expect([requests.submittedNs[0], requests.startedNs[0], requests.firstDoneNs[0], requests.endNs[0]]).toEqual([
      0, 0, 200, 200,
    ]);
    expect([requests.firstTokenNs[0], requests.lastTokenNs[0], requests.tokens[0]]).toEqual([205, 230, 2]);
    expect(REQUEST_OUTCOMES[requests.outcome[0] as number]).toBe("done");
    expect(record.decisions).toMatchObject({ seen: 1, stride: 1, rejectingSeen: 0 });
  });

  it("does without events: it then knows of no class and no tenant", () => {
    const { time, recorder } = run(false);
    time.run();
    const { operators, requests, hbm } = recorder.finish();
    expect([...operators.endNs]).toEqual([100, 200]);
    expect([...operators.rank, ...operators.tenant]).toEqual([-1, -1, -1, -1]);
    expect(requests.submittedNs[0]).toBeNaN();
    expect(requests.endNs[0]).toBe(200);
    // Baseline and weights. What was submitted started within the call, and was told of when the first operator was done.
    expect(hbm.map(({ usedBytes }) => [...usedBytes])).toEqual([[150], [150], [650, 660, 150]]);
  });

  it("tells what is so far while it goes on, and hears nothing more once it is finished", () => {
    const { time, recorder, scheduler } = run(true);
    time.step();
    expect([...recorder.record().operators.endNs]).toEqual([100, Number.NaN]);
    recorder.finish();
    expect(scheduler.listenerCount("operatorDone")).toBe(0);
  });

  it("refuses a second scheduler, an unknown cluster and limits of nothing", () => {
    const { recorder, scheduler } = run(true);
    expect(() => recorder.attach(scheduler)).toThrow(expect.objectContaining({ code: "ALREADY_ATTACHED" }));
    expect(() => new RunRecorder({ cluster: { accelerators: [] } })).toThrow(
      expect.objectContaining({ code: "CLUSTER_INVALID" }),
    );
    expect(() => new RunRecorder({ cluster, operatorsMax: 0 })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: "operatorsMax: 0 is not a whole number from 1" }),
    );
  });
});

describe("ThinnedList", () => {
  it("keeps every so many-th of all, however many come", () => {
    for (const itemsMax of [1, 2, 7, 100]) {
      const list = new ThinnedList<number>(itemsMax);
      for (let item = 0; item < 1000; item++) {
        list.add(item);
        const expected = Array.from({ length: item + 1 }, (_, it) => it).filter((it) => it % list.stride === 0);
        expect(list.kept).toEqual(expected);
        expect(list.kept.length).toBeLessThanOrEqual(itemsMax);
      }
      expect(list.seen).toBe(1000);
    }
  });
});
