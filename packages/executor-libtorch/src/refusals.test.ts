import { ExecutorError, type ExecutorEvent } from "@slicescheduler/executor";
import type { TemplateSpec } from "@slicescheduler/templates";
import { expect, test } from "vitest";
import { type HostTensor, LibtorchError, libtorchExecutor, type Program } from "./index.ts";
import { describeNative } from "./native/describe-native.fixture.ts";

const cluster = { accelerators: [{ name: "cpu", kind: "cpu", hbmBytes: 1 << 20 }] };
const template: TemplateSpec = {
  name: "t",
  symbols: [],
  operators: [{ name: "run", outputs: { out: { shape: [1], dtype: "float32" } } }],
  outputs: {},
  partitions: [{ name: "cpu", accelerators: ["cpu"], layout: [0] }],
};
const filled = (value: number): Program => ({
  calls: [{ op: "aten::full", args: [[1], value], kwargs: { dtype: { dtype: "float32" } }, results: ["out"] }],
  outputs: [{ value: "out" }],
});
const four = { dtype: "float32", shape: [4], data: new Float32Array(4) } as const;

/** The code of an error of this package, or of the executor's interface. */
function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof LibtorchError || error instanceof ExecutorError) return error.code;
    return `not typed: ${error}`;
  }
  return "nothing was thrown";
}

function opened() {
  const events: ExecutorEvent[] = [];
  const executor = libtorchExecutor();
  executor.open({ cluster, deliver: (event) => events.push(event) });
  /** Issues the operator, and reads what it made once it is done. */
  const run = async (issueNumber: number) => {
    const outputs = [{ tensor: issueNumber, bytes: 4, aliases: null }];
    const numbers = { issueNumber, accelerator: 0, instance: issueNumber, operator: 0, rank: 0, workspaceBytes: 0 };
    executor.execute([{ type: "issue", template: "t", symbols: {}, activated: true, inputs: [], outputs, ...numbers }]);
    const isEnd = (event: ExecutorEvent) =>
      (event.type === "operatorDone" || event.type === "operatorFailed") && event.issueNumber === issueNumber;
    await expect.poll(() => events.some(isEnd), { timeout: 30_000 }).toBe(true);
    return executor.read(issueNumber, 0)?.data[0];
  };
  return { executor, run };
}

describeNative("what the executor is given wrongly", () => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a number", 4],
    ["no shape", { dtype: "float32", data: four.data }],
    ["no data", { dtype: "float32", shape: [4] }],
    ["a plain list", { ...four, data: [0, 0, 0, 0] }],
    ["too few data", { ...four, data: new Float32Array(3) }],
    ["shared memory", { ...four, data: new Float32Array(new SharedArrayBuffer(16)) }],
    ["a buffer", { ...four, data: new ArrayBuffer(16) }],
    ["sizes over 2^53 beside a zero", { ...four, shape: [2 ** 53 - 1, 2 ** 53 - 1, 0], data: new Float32Array(0) }],
    ["too many dimensions", { ...four, shape: [...new Array(70_000).fill(1), 4] }],
    ["no type", { shape: [4], data: four.data }],
  ])("host data that are %s", (_, tensor) => {
    const { executor } = opened();
    expect(codeOf(() => executor.feed(0, "x", tensor as HostTensor))).toBe("FEED_MISMATCH");
    executor.close();
  });

  test("a shape is told short", () => {
    const { executor } = opened();
    const shape = [...new Array(70_000).fill(1), 4];
    expect(() => executor.feed(0, "x", { ...four, shape })).toThrow(/^.{1,100}$/);
    executor.close();
  });

  test.each<[string, unknown, RegExp]>([
    ["a misspelt listener", { onFetch: () => {} }, /"onFetch".*did you mean "onFetched"/],
    ["a misspelt number", { lookAhead: 3 }, /did you mean "lookahead"/],
    ["a listener that is none", { onFetched: 3 }, /onFetched is a number/],
    ["no listener", { onObserved: null }, /onObserved is null/],
    ["a permission in words", { allowTorchScript: "false" }, /allowTorchScript is a string/],
    ["too far a look", { lookahead: 2 ** 31 }, /lookahead is 2147483648/],
  ])("options with %s", (_, options, message) => {
    expect(codeOf(() => libtorchExecutor(options as object))).toBe("INVALID_OPTION");
    expect(() => libtorchExecutor(options as object)).toThrow(message);
  });

  test.each([-5, 1.5, Number.NaN, Infinity, 2 ** 60, "1" as unknown as number])("instance %s", (instance) => {
    const { executor } = opened();
    expect(codeOf(() => executor.feed(instance, "x", four))).toBe("FEED_MISMATCH");
    expect(codeOf(() => executor.unfeed(instance))).toBe("FEED_MISMATCH");
    executor.close();
  });

  test("programs, weights and accelerators that are none", () => {
    const { executor } = opened();
    expect(codeOf(() => executor.define("t", null as never))).toBe("PROGRAM_INVALID");
    expect(codeOf(() => executor.define("t", { run: null as never }))).toBe("PROGRAM_INVALID");
    expect(codeOf(() => executor.define("t", { run: "aten::add" as never }))).toBe("PROGRAM_INVALID");
    expect(codeOf(() => executor.defineWeights("w", null as never))).toBe("WEIGHTS_INVALID");
    for (const accelerator of [-1, 1, 0.5, Number.NaN]) {
      expect(codeOf(() => executor.read(0, accelerator))).toBe("UNKNOWN_ACCELERATOR");
      expect(codeOf(() => executor.loseAccelerator(accelerator))).toBe("UNKNOWN_ACCELERATOR");
      expect(codeOf(() => executor.returnAccelerator(accelerator))).toBe("UNKNOWN_ACCELERATOR");
    }
    executor.validate();
    executor.close();
  });

  test("weights over the capacity are refused by the interface's code, defined or not", () => {
    const { executor } = opened();
    executor.defineWeights("known", { seed: 1, tensors: { w: { shape: [2], dtype: "float32" } } });
    for (const name of ["known", "unknown"])
      expect(codeOf(() => executor.execute([{ type: "loadWeights", accelerator: 0, name, bytes: 2 << 20 }]))).toBe(
        "OVER_CAPACITY",
      );
    expect(executor.memory()[0]?.usedBytes).toBe(0);
    executor.validate();
    executor.close();
  });

  test("calls before it is open and after it is closed", () => {
    const executor = libtorchExecutor();
    const calls: readonly (() => unknown)[] = [
      () => executor.feed(0, "x", four),
      () => executor.read(0, 0),
      () => executor.memory(),
      () => executor.validate(),
      () => executor.execute([]),
      () => executor.loseAccelerator(0),
      () => executor.returnAccelerator("cpu"),
      () => executor.rehearse("fail", 0),
    ];
    expect(new Set(calls.map(codeOf))).toEqual(new Set(["NOT_OPEN"]));
    executor.open({ cluster, deliver: () => {} });
    executor.feed(0, "x", four);
    executor.close();
    expect(new Set(calls.map(codeOf))).toEqual(new Set(["CLOSED"]));
    // What cleans up may come late.
    executor.unfeed(0);
    executor.close();
    expect(executor.liveTensors()).toBe(0);
  });

  test("a device for an accelerator that is none", () => {
    const executor = libtorchExecutor({ devices: { cpu: "cpu", gpu: "cpu" } });
    expect(codeOf(() => executor.open({ cluster, deliver: () => {} }))).toBe("INVALID_OPTION");
    executor.close();
  });

  test("a program that is defined anew counts once its template is registered again", async () => {
    const { executor, run } = opened();
    executor.define("t", { run: filled(1) });
    executor.execute([{ type: "registerTemplate", template }]);
    expect(await run(1)).toBe(1);
    executor.define("t", { run: filled(2) });
    expect(await run(2)).toBe(1);
    executor.execute([{ type: "registerTemplate", template }]);
    expect(await run(3)).toBe(2);
    // One that does not compile leaves the one before.
    executor.define("t", { run: { calls: [{ op: "aten::fulll" }], outputs: [0] } });
    expect(codeOf(() => executor.execute([{ type: "registerTemplate", template }]))).toBe("UNKNOWN_OPERATOR");
    expect(await run(4)).toBe(2);
    executor.close();
  });
});
