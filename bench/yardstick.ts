/** The yardstick's C++ simulators on the same workload, where a compiler and ../shared/yardstick are present. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { SimTensor, Simulator } from "@slicescheduler/simulator";
import { type W1, w1TransferNs } from "./w1.ts";

export interface YardstickRun {
  /** In the median, and in the fastest repetition, which a busy machine disturbs least. */
  readonly opsPerMs: number;
  readonly bestOpsPerMs: number;
  /** Milliseconds of processor time per repetition, all files together; NaN where bash is not there to tell. */
  readonly cpuMs: number;
  /** Hashes of the times at which nodes ended, and of peaks. */
  readonly finishHash: string;
  readonly peakHash: string;
}

export class Yardstick {
  readonly #folder: string;
  #files = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Compiled, or null where that is not possible. */
  static build(): Yardstick | null {
    const sources = resolve("..", "shared", "yardstick");
    if (!existsSync(join(sources, "limit.cpp"))) return null;
    const folder = mkdtempSync(join(tmpdir(), "yardstick-"));
    const isBuilt = ["limit", "straightforward"].every((name) =>
      ["clang++", "g++"].some((compiler) => {
        const source = join(sources, `${name}.cpp`);
        return (
          spawnSync(compiler, ["-O3", "-march=native", "-w", source, "-o", join(folder, name)], { stdio: "ignore" })
            .status === 0
        );
      }),
    );
    if (isBuilt) return new Yardstick(folder);
    rmSync(folder, { recursive: true });
    return null;
  }

  write(workload: W1): string {
    const path = join(this.#folder, `${this.#files++}.w1`);
    writeFileSync(path, new Uint8Array(w1File(workload)));
    return path;
  }

  /** Medians; all files in turn in one process. @param isApart Components one after the other, instead of one event loop for all. */
  limit(paths: readonly string[], repetitions: number, isApart = false): YardstickRun {
    return this.#measure(repetitions, (count) =>
      this.#run("limit", [String(count), ...paths], isApart ? { COMP: "1" } : {}),
    );
  }

  straightforward(path: string, repetitions: number): YardstickRun {
    return this.#measure(repetitions, (count) => this.#run("straightforward", [path, String(count)]));
  }

  /** Processor time is that of all repetitions less that of one, which the file is read for as well. */
  #measure(repetitions: number, run: (repetitions: number) => YardstickRun): YardstickRun {
    const all = run(repetitions);
    return { ...all, cpuMs: (all.cpuMs - run(1).cpuMs) / (repetitions - 1) };
  }

  #run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): YardstickRun {
    const options = { encoding: "utf8", env: { ...process.env, ...env } } as const;
    const path = join(this.#folder, program);
    const timed = spawnSync("bash", ["-c", 'TIMEFORMAT="cpu %3U %3S"; time "$@"', "bash", path, ...args], options);
    const { stdout } = timed.status === 0 ? timed : spawnSync(path, args, options);
    const [, user = Number.NaN, system = Number.NaN] = /cpu ([\d.]+) ([\d.]+)/.exec(timed.stderr ?? "") ?? [];
    const [, finishHash = "", peakHash = "", medianMs, minMs, opsPerMs = ""] =
      /finHash=(\w+) peakHash=(\w+) .*ms med ([\d.]+) min ([\d.]+) .*ops\/ms (\d+)/.exec(stdout) ?? [];
    const bestOpsPerMs = Math.round((Number(opsPerMs) * Number(medianMs)) / Number(minMs));
    const cpuMs = 1000 * (Number(user) + Number(system));
    return { opsPerMs: Number(opsPerMs), bestOpsPerMs, cpuMs, finishHash, peakHash };
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** An operator or a transfer of W1, in the order of the yardstick's file. */
interface Node {
  /** Operator, or the one whose output the transfer moves. */
  readonly operator: number;
  readonly isTransfer: boolean;
  readonly predecessors: readonly number[];
}

function nodesOf({ operators }: W1): readonly Node[] {
  const nodes: Node[] = [];
  const nodeOf: number[] = [];
  const transferOf: number[] = [];
  for (const [index, { accelerator, input, cache }] of operators.entries()) {
    const predecessors: number[] = [];
    if (input >= 0) predecessors.push(transferOf[input] ?? (nodeOf[input] as number));
    if (cache >= 0) predecessors.push(nodeOf[cache] as number);
    nodeOf.push(nodes.length);
    nodes.push({ operator: index, isTransfer: false, predecessors });
    const next = operators[index + 1];
    if (next?.input !== index || next.accelerator === accelerator) continue;
    transferOf[index] = nodes.length;
    nodes.push({ operator: index, isTransfer: true, predecessors: [nodeOf[index] as number] });
  }
  return nodes;
}

/** The layout in the head of w1.mjs, with one model of durations, x ns: every duration is a whole number, as here. */
function w1File(workload: W1): ArrayBuffer {
  const { accelerators, requests, operators } = workload;
  const nodes = nodesOf(workload);
  const successors: number[][] = nodes.map(() => []);
  for (const [index, { predecessors }] of nodes.entries())
    for (const predecessor of predecessors) successors[predecessor]?.push(index);
  const edges = successors.reduce((sum, { length }) => sum + length, 0);
  const pointers = (lists: readonly (readonly number[])[]) => {
    let sum = 0;
    return [0, ...lists.map(({ length }) => (sum += length))];
  };
  const at = ({ operator }: Node, step: number) => operators[operator + step] as W1["operators"][number];
  const ints = [
    ...[0x31563157, accelerators, 2 * accelerators, nodes.length, edges, 1, requests, 4, 16, 0, 0, 0, 0, 0, 0, 0],
  ];
  const append = (values: readonly number[]) => {
    for (const value of values) ints.push(value);
  };
  append(nodes.map((it) => at(it, 0).accelerator + (it.isTransfer ? accelerators : 0)));
  append(nodes.map(() => 0));
  append(nodes.map((it) => at(it, it.isTransfer ? 1 : 0).accelerator));
  append(pointers(successors));
  append(successors.flat());
  append(pointers(nodes.map(({ predecessors }) => predecessors)));
  append(nodes.flatMap(({ predecessors }) => predecessors));
  if (ints.length % 2 === 1) ints.push(0);
  const floats = [
    ...nodes.map((it) => (it.isTransfer ? w1TransferNs(at(it, 0).outputBytes) : at(it, 0).durationNs)),
    ...nodes.map((it) => at(it, 0).outputBytes + (it.isTransfer ? 0 : at(it, 0).cacheBytes)),
    ...[0, 1],
  ];
  const file = new ArrayBuffer(4 * ints.length + 8 * floats.length);
  new Int32Array(file, 0, ints.length).set(ints);
  new Float64Array(file, 4 * ints.length).set(floats);
  return file;
}

/** The yardstick's hashes of what a simulator did with a workload. */
export function hashesOf(simulator: Simulator, workload: W1, outputs: readonly SimTensor[]) {
  const moved = new Map(simulator.transfers().map(({ tensor, doneNs }) => [tensor, doneNs]));
  const finish = nodesOf(workload).map(({ operator, isTransfer }) =>
    isTransfer ? (moved.get(outputs[operator] as SimTensor) ?? Number.NaN) : simulator.doneNs(operator as never),
  );
  const peaks = Array.from({ length: workload.accelerators }, (_, a) => simulator.peakBytes(a));
  return { finishHash: fnv(finish), peakHash: fnv(peaks) };
}

function fnv(values: readonly number[]): string {
  const words = new Uint32Array(Float64Array.from(values).buffer);
  let hash = 1469598103934665603n;
  for (const word of words) hash = BigInt.asUintN(64, (hash ^ BigInt(word)) * 1099511628211n);
  return hash.toString(16).padStart(16, "0");
}
