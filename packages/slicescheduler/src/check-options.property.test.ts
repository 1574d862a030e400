import { virtualExecutor } from "@slicescheduler/executor";
import fc from "fast-check";
import { expect, test } from "vitest";
import { InvalidOptionsError } from "./errors.ts";
import { SliceScheduler } from "./slice-scheduler.ts";

const cluster = { accelerators: [{ name: "a0", kind: "demo", hbmBytes: 1e9 }] };
/** Nothing that any option takes. */
const NONSENSE = [null, true, "7", [], [1], Number.NaN, -1, Symbol("nonsense"), 7n, "guarded"];
const OPTIONS = [
  ...["priorities", "scheduling", "arbitration", "memorySafety", "health", "hostNowNs", "metrics", "onEvent"],
  ...["scheduling.policy", "scheduling.estimators", "scheduling.slices", "scheduling.slices.toleranceShare"],
  ...["scheduling.tenants", "scheduling.tenants.one", "scheduling.tenants.one.weight", "scheduling.turnMsMax"],
  ...["scheduling.timeliness", "scheduling.decisionsKept", "arbitration.agingNs", "arbitration.deadlineFactor"],
  ...["health.probeNs", "health.silentFactor", "metrics.sink", "onListenerError"],
];

function optionsWith(path: string, value: unknown): never {
  const options: Record<string, unknown> = { cluster, executor: virtualExecutor({ seed: 1 }) };
  let group = options;
  const names = path.split(".");
  for (const name of names.slice(0, -1)) {
    const inner: Record<string, unknown> = {};
    group[name] = inner;
    group = inner;
  }
  group[names.at(-1) ?? ""] = value;
  return options as never;
}

test("whatever an option is given that it does not take, INVALID_OPTIONS names it", () => {
  fc.assert(
    fc.property(fc.constantFrom(...OPTIONS), fc.constantFrom(...NONSENSE), (path, value) => {
      fc.pre(!(path === "priorities" && Array.isArray(value)));
      let thrown: unknown;
      try {
        new SliceScheduler(optionsWith(path, value)).close();
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(InvalidOptionsError);
      expect((thrown as InvalidOptionsError).faults.join()).toContain(path);
    }),
    { numRuns: 400 },
  );
});

test("options that are no object, and what has no default", () => {
  for (const options of [undefined, null, 7, []])
    expect(() => new SliceScheduler(options as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTIONS" }));
  expect(() => new SliceScheduler({} as never)).toThrow(
    /cluster: undefined is not an object, and there is no default\n.*executor/,
  );
});
