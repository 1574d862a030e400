/** A process of its own that ends in some way with work under way; the way is its argument, or its worker's data. */
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { SliceScheduler } from "slicescheduler";
import { type LibtorchExecutor, type LibtorchExecutorOptions, libtorchExecutor, type Program } from "../src/index.ts";

const SIZE = 300;
const matrix = { shape: [SIZE, SIZE], dtype: "float32" } as const;
const cluster = {
  accelerators: ["left", "right"].map((name) => ({ name, kind: "cpu", hbmBytes: 1 << 24 })),
  defaultLink: { latencyNs: 10_000, bytesPerSecond: 1e9 },
};

/** Some ten milliseconds of work. */
const multiply: Program = {
  calls: [
    { op: "aten::ones", args: [[SIZE, SIZE]], results: ["m0"] },
    ...Array.from({ length: 8 }, (_, at) => ({
      op: "aten::mm",
      args: [{ value: `m${at}` }, { value: "m0" }],
      results: [`m${at + 1}`],
    })),
  ],
  outputs: [{ value: "m8" }],
};

/** Instances on two accelerators, each with a transfer. */
function begin(
  instances: number,
  options: LibtorchExecutorOptions = {},
): { executor: LibtorchExecutor; scheduler: SliceScheduler; done: Promise<unknown>[] } {
  const executor = libtorchExecutor(options);
  executor.define("work", { make: multiply, read: { calls: [], outputs: [{ input: 0 }] } });
  const scheduler = new SliceScheduler({ cluster, executor });
  const work = scheduler.register({
    name: "work",
    symbols: [],
    operators: [
      { name: "make", outputs: { out: matrix }, workspaceBytes: 4 * 4 * SIZE * SIZE },
      { name: "read", inputs: ["make.out"], outputs: { out: matrix } },
    ],
    outputs: {},
    partitions: [{ name: "both", accelerators: ["left", "right"], layout: [0, 1] }],
  });
  const done = Array.from({ length: instances }, () => scheduler.submit(work, { symbols: {} }).done);
  return { executor, scheduler, done };
}

const WAYS: Readonly<Record<string, () => Promise<void>>> = {
  /** Nothing is under way: the open executor keeps nobody. */
  idle: async () => void begin(0),
  /** The process lives until the work is done, and ends by itself. */
  drain: async () => {
    const { executor, done } = begin(6);
    void Promise.all(done).then(() => console.log(`done ${done.length}, live ${executor.liveTensors()}`));
  },
  close: async () => {
    const { executor, scheduler, done } = begin(6);
    for (const each of done) each.catch(() => {});
    await done[0];
    scheduler.close();
    console.log(`live ${executor.liveTensors()}`);
  },
  exit: async () => {
    await begin(6).done[0];
    process.exit(7);
  },
  throw: async () => {
    await begin(6).done[0];
    throw new Error("out of the middle");
  },
  /** What a listener throws is reported where nobody catches, and nothing is lost by it. */
  listener: async () => {
    let thrown = 0;
    process.on("uncaughtException", () => thrown++);
    const onObserved = () => {
      throw new Error("it does not want to hear");
    };
    await Promise.all(begin(6, { onObserved }).done);
    // The last is thrown after its event was delivered.
    await new Promise((resolve) => setImmediate(resolve));
    console.log(`thrown ${thrown}`);
  },
  terminate: async () => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: "work" });
    await new Promise((resolve) => worker.once("message", resolve));
    console.log(`terminated ${await worker.terminate()}`);
    // What is left of it disturbs nobody.
    const { executor, done } = begin(2);
    await Promise.all(done);
    console.log(`live ${executor.liveTensors()}`);
  },
  work: async () => {
    await begin(6).done[0];
    parentPort?.postMessage("working");
  },
};

const way: unknown = isMainThread ? process.argv[2] : workerData;
await WAYS[String(way)]?.();
