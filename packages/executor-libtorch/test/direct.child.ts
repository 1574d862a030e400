/** A process that ends in some way while a direct loop runs, which by itself would take days; the way is its argument, or its worker's data. */
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { runDirect } from "../src/index.ts";

const SIZE = 200;
const steps = [
  {
    template: {
      name: "multiply",
      symbols: [],
      operators: [{ name: "run", outputs: { out: { shape: [SIZE, SIZE], dtype: "float32" } } }],
      outputs: {},
      partitions: [{ name: "a", accelerators: ["a"], layout: [0] }],
    },
    operator: "run",
    program: {
      calls: [
        { op: "aten::ones", args: [[SIZE, SIZE]], results: ["x"] },
        { op: "aten::mm", args: [{ value: "x" }, { value: "x" }], results: ["y"] },
      ],
      outputs: [{ value: "y" }],
    },
    symbols: {},
    inputs: [],
    outputs: [0],
  },
] as const;

function begin(): void {
  const cluster = { accelerators: [{ name: "a", kind: "cpu", hbmBytes: 1e9 }] };
  void runDirect({ cluster, steps, repeat: 10_000_000 });
}

const ways: Readonly<Record<string, () => void>> = {
  exit: () => {
    begin();
    setTimeout(() => process.exit(7), 100);
  },
  throw: () => {
    begin();
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 100);
  },
  work: () => {
    begin();
    setTimeout(() => parentPort?.postMessage("begun"), 100);
  },
  terminate: () => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: "work" });
    worker.once("message", () => void worker.terminate().then((code) => console.log(`terminated ${code}`)));
  },
};

ways[isMainThread ? (process.argv[2] ?? "") : String(workerData)]?.();
