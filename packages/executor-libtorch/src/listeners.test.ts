import { SliceScheduler } from "slicescheduler";
import { afterEach, expect, test, vi } from "vitest";
import { libtorchExecutor } from "./index.ts";
import { describeNative } from "./native/describe-native.fixture.ts";

/** What is thrown in turns of the event loop of its own, which would otherwise be uncaught. */
function thrownInTurns(): unknown[] {
  const thrown: unknown[] = [];
  const later = setImmediate;
  const guarded = (turn: () => void) =>
    later(() => {
      try {
        turn();
      } catch (error) {
        thrown.push(error);
      }
    });
  vi.spyOn(globalThis, "setImmediate").mockImplementation(guarded as typeof setImmediate);
  return thrown;
}

/** The event loop stands still meanwhile; accelerators go on. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

afterEach(() => {
  vi.restoreAllMocks();
});

describeNative("listeners that throw", () => {
  test("disturb no call that happens to come by, and are told of everything", async () => {
    const thrown = thrownInTurns();
    let told = 0;
    const fail = ({ issueNumber }: { readonly issueNumber: number }) => {
      told++;
      throw new Error(`listener of ${issueNumber}`);
    };
    const executor = libtorchExecutor({ onFetched: fail, onObserved: fail });
    const ones = { op: "aten::ones", args: [[4]], results: ["ones"] } as const;
    const fetch = (name: string) => ({ fetch: name, args: [{ value: "ones" }] as const });
    executor.define("twice", { run: { calls: [ones, fetch("a"), fetch("b")], outputs: [] } });
    const accelerators = [{ name: "cpu", kind: "cpu", hbmBytes: 1 << 20 }];
    const scheduler = new SliceScheduler({ cluster: { accelerators }, executor });
    const partitions = [{ name: "cpu", accelerators: ["cpu"], layout: [0] }];
    const operators = [{ name: "run", outputs: {}, workspaceBytes: 64 }];
    const twice = scheduler.register({ name: "twice", symbols: [], operators, outputs: {}, partitions });

    // Ends are read by whatever call comes next: submissions of others hear of them.
    const submitted: Promise<unknown>[] = [];
    let toldMeanwhile = 0;
    while (submitted.length < 20 || (toldMeanwhile === 0 && submitted.length < 1_000)) {
      const before = told;
      submitted.push(scheduler.submit(twice, { symbols: {} }).done);
      toldMeanwhile += told - before;
      standStill(2);
    }
    await Promise.all(submitted);
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(toldMeanwhile).toBeGreaterThan(0);
    expect(told).toBe(3 * submitted.length);
    expect(thrown).toHaveLength(told);
    for (const error of thrown) expect(String(error)).toMatch(/listener of \d+/);
    executor.validate();
    expect(executor.liveTensors()).toBe(0);
    scheduler.close();
  });
});
