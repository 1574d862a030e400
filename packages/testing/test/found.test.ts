/** Worlds in which `master.property.test.ts` once found a fault that its usual number of worlds may miss. */
import type { OperatorSpec, TemplateSpec } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { type RunOptions, runWorkload, type WorkloadInstance } from "../src/index.ts";

function operator(name: string, inputs: string[] = []): OperatorSpec {
  return { name, inputs, outputs: { hidden: { shape: ["tokens"], dtype: "uint8" } } };
}

/** One request with limits; everything is submitted at once. */
function world(
  operators: OperatorSpec[],
  layout: number[],
  instances: { readonly tokens: number; readonly cancelAtNs?: number; readonly request?: number }[],
  durations: RunOptions["durations"],
): RunOptions {
  const template: TemplateSpec = {
    name: "t",
    symbols: ["tokens"],
    operators,
    outputs: { hidden: `${operators.at(-1)?.name}.hidden` },
    partitions: [{ name: "p", accelerators: ["a", "b"], layout }],
  };
  const accelerators = ["a", "b"].map((name) => ({ name, kind: "k", hbmBytes: 450 }));
  const limits = [{ template: "t", symbols: { tokens: Math.max(...instances.map(({ tokens }) => tokens)) } }];
  const request = { atNs: 0, priority: "online", deadlineNs: null, limits, concurrentInstances: instances.length };
  return {
    cluster: { accelerators, defaultLink: { latencyNs: 0, bytesPerSecond: 1e9 } },
    templates: [template],
    workload: {
      requests: Array.from({ length: 1 + Math.max(...instances.map((one) => one.request ?? 0)) }, () => request),
      instances: instances.map(
        ({ tokens, cancelAtNs = null, request = 0 }): WorkloadInstance => ({
          atNs: 0,
          request,
          template: "t",
          symbols: { tokens },
          inputs: {},
          priority: "online",
          retain: [],
          partitions: null,
          cancelAtNs,
        }),
      ),
    },
    ...(durations === undefined ? {} : { durations }),
    seed: 0,
  };
}

test("an instance that waits for the memory of a cancelled one goes on when that one's last transfer has ended", async () => {
  const chain = [
    operator("o0"),
    operator("o1", ["o0.hidden"]),
    operator("o2", ["o1.hidden"]),
    operator("o3", ["o2.hidden"]),
  ];
  const instances = [{ tokens: 1, cancelAtNs: 14 }, { tokens: 3 }, { tokens: 2, cancelAtNs: 21 }];
  const { outcomes } = await runWorkload(world(chain, [0, 0, 0, 1], instances, { tableNs: [1, 2, 1], perSymbolNs: 1 }));
  expect(outcomes).toContain("done");
});

test("an instance that waits for the memory of a failed one goes on when that one's transfer has ended", async () => {
  const operators = [operator("o0"), operator("o1", ["o0.hidden"]), operator("o2")];
  const instances = [{ tokens: 1 }, { tokens: 1 }, { tokens: 1, request: 1, cancelAtNs: 0 }];
  const options = world(operators, [0, 1, 0], instances, { tableNs: [1], perSymbolNs: 0 });
  const { outcomes } = await runWorkload({ ...options, faults: { operator: { every: 3, afterShare: 0 } } });
  expect(outcomes.slice(0, 2)).toContain("failed");
});
