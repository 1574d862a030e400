import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LibtorchError } from "../programs/errors.ts";
import type {
  NativeHostTensor,
  NativeProgram,
  NativeRuntime,
  NativeTensor,
  NativeWeights,
} from "../programs/native-runtime.ts";

/** One accelerator, as the engine is made with it. */
interface NativeAccelerator {
  readonly name: string;
  readonly device: string;
  /** HBM − margin. */
  readonly capacityBytes: number;
  /** Rounded up to the granularity. Capacity − baseline is what its tensors may take on the device. */
  readonly baselineBytes: number;
  readonly granularityBytes: number;
  readonly present: boolean;
}

interface NativeEngineOptions {
  readonly accelerators: readonly NativeAccelerator[];
  readonly lookahead: number;
  readonly reportNs: number;
  /** Of `NativeAddon.nowNs`, where the engine's time begins. */
  readonly epochNs: number;
}

export interface NativeFetched extends NativeTensor {
  readonly issueNumber: number;
  readonly name: string;
}

/** Numbers of one entry of the log: kind, number, time, and five that depend on the kind. The same stand in native/engine.h. */
export const LOG_STRIDE = 8;

/** Queues, memory and threads of all accelerators; see native/engine.h. Between `lock` and `unlock` nothing happens by itself. */
export interface NativeEngine {
  /** Takes as many entries out of the log as fit, and returns how many. */
  drain(into: Float64Array): number;
  /** Returns how many entries the log has. */
  lock(): number;
  /** Lets the process end, or not, by whether something is under way. */
  unlock(): void;
  /** Carries out a batch as batch.ts writes it, starts what can, and unlocks. Locked. Returns how many entries the log has. */
  commit(batch: Float64Array, length: number, nowNs: number): number;
  /** Code and message of a fault that the log names; once. */
  takeFault(number: number): readonly [code: string, message: string];
  takeFetched(): readonly NativeFetched[] | undefined;
  addKernel(program: NativeProgram, weights: readonly number[]): number;
  /** Loads weights on an accelerator, in the calling thread; throws WEIGHTS_INVALID when they take more than was declared. Returns their bytes. */
  loadWeights(accelerator: number, name: number, source: NativeWeights, declaredBytes: number): number;
  feed(instance: number, feeds: Readonly<Record<string, NativeHostTensor>>): void;
  unfeed(instance: number): void;
  read(tensor: number, accelerator: number): NativeTensor | undefined;
  /** For tests: what is to happen to an issue or a transfer. */
  rehearse(what: "fail" | "hold" | "letGo" | "failTransfer", number: number): void;
  usedBytes(into: Float64Array): void;
  memory(accelerator: number): {
    readonly usedBytes: number;
    readonly peakBytes: number;
    readonly capBytes: number;
    readonly blocks: number;
  };
  liveTensors(): number;
  close(): void;
}

export interface NativeDirectStep {
  readonly program: NativeProgram;
  /** Slots, or tensors without elements. */
  readonly inputs: readonly (number | { readonly dtype: string; readonly shape: readonly number[] })[];
  readonly outputs: readonly number[];
  readonly symbols: readonly number[];
  /** Indices in the loop's weights. */
  readonly weights: readonly number[];
  readonly feeds: Readonly<Record<string, NativeHostTensor>>;
  readonly drop: readonly number[];
}

interface NativeDirectOptions {
  readonly device: string;
  readonly capBytes: number;
  readonly weights: readonly NativeWeights[];
  readonly steps: readonly NativeDirectStep[];
}

export interface NativeDirectLoop {
  /** One at a time; the first loads the weights. Rejects with the code CLOSED when the loop is closed meanwhile. */
  run(repeat: number): Promise<{
    readonly loopNs: readonly number[];
    readonly stepNs: readonly number[];
    readonly peakBytes: readonly number[];
    readonly fetched: readonly (NativeTensor & { readonly name: string })[];
  }>;
  close(): void;
}

/** What native/addon.cc exports. */
export interface NativeAddon extends NativeRuntime {
  readonly Engine: new (options: NativeEngineOptions, onRing: () => void) => NativeEngine;
  readonly DirectLoop: new (options: NativeDirectOptions) => NativeDirectLoop;
  /** Ends the runs of all direct loops of the process, and waits for that; nobody is told. */
  endDirectRuns(): void;
  /** Nanoseconds of the clock that the engine measures by, since the addon was loaded. */
  nowNs(): number;
}

const SETUP =
  "npm run setup:libtorch (in this repository), or npx slicescheduler-setup-libtorch where the package is installed";

type Found = { readonly addon: NativeAddon } | { readonly why: string; readonly cause?: unknown };

let found: Found | null = null;

/** The native addon, loaded once per thread. Throws LIBTORCH_MISSING, which names the command that builds it. */
export function loadAddon(): NativeAddon {
  found ??= find();
  if ("addon" in found) return found.addon;
  throw new LibtorchError("LIBTORCH_MISSING", `${found.why}; build it with: ${SETUP}`, { cause: found.cause });
}

/** Whether `libtorchExecutor` works here: the addon is built and finds its LibTorch. */
export function libtorchAvailable(): boolean {
  found ??= find();
  return "addon" in found;
}

function find(): Found {
  const path = addonPath();
  if (path === null) return { why: "the native addon of @slicescheduler/executor-libtorch is not built" };
  const { dlopen } = constants;
  const module = { exports: {} };
  // One BLAS thread per accelerator; it counts from the moment at which BLAS is loaded.
  process.env["OPENBLAS_NUM_THREADS"] ??= "1";
  try {
    // Node exports libraries of its own, to which LibTorch's symbols must not bind.
    process.dlopen(module, path, dlopen.RTLD_NOW | (dlopen.RTLD_DEEPBIND ?? 0));
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause);
    return { why: `the native addon does not load: ${words}`, cause };
  }
  return { addon: module.exports as NativeAddon };
}

/** Where `npm run setup:libtorch` puts it: in the package, whose folder is the one with the binding.gyp. */
function addonPath(): string | null {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let up = 0; up < 4; up++) {
    if (existsSync(join(folder, "binding.gyp"))) {
      const path = join(folder, "build", "Release", "slice.node");
      return existsSync(path) ? path : null;
    }
    folder = dirname(folder);
  }
  return null;
}
