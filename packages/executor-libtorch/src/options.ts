import type { Dtype } from "@slicescheduler/templates";
import { LibtorchError } from "./programs/errors.ts";
import { unknownField } from "./programs/fields.ts";
import type { HostData } from "./programs/host-tensor.ts";
import type { WeightsSource } from "./weights/types.ts";

/** A device of this machine: `"cpu"` is one CPU thread with memory of its own, as many of them as there are accelerators. */
export type DeviceName = "cpu" | `cuda:${number}`;

/** A tensor that a program handed out by `fetch`. */
export interface FetchedTensor {
  readonly instance: number;
  readonly template: string;
  readonly operator: string;
  readonly issueNumber: number;
  /** As the program names it. */
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data: HostData;
}

/** What was measured of an operator that is done. */
export interface ObservedOperator {
  readonly issueNumber: number;
  readonly instance: number;
  readonly template: string;
  readonly operator: string;
  readonly accelerator: number;
  /** By the accelerator's own thread, around the operator alone. */
  readonly durationNs: number;
  /** Of results with storage of their own. */
  readonly outputBytes: number;
  /** The most that its accelerator's memory grew while it ran. */
  readonly peakBytes: number;
  /** What the account set aside for it: results and workspace. */
  readonly declaredBytes: number;
}

export interface LibtorchExecutorOptions {
  /** Device of an accelerator, by the cluster's name for it. Default: `"cpu"` for each. */
  readonly devices?: Readonly<Record<string, DeviceName>>;
  /** Weights by the names that templates give them; more can be defined later. */
  readonly weights?: Readonly<Record<string, WeightsSource>>;
  /** TorchScript files may be loaded. **Such a file can hold code that runs with all rights of this process.** Default false. */
  readonly allowTorchScript?: boolean;
  /** Called with each tensor that a program fetched, before the end of its operator is reported. What it throws, it throws for itself (`uncaughtException`). */
  readonly onFetched?: (fetched: FetchedTensor) => void;
  /** Called for each operator that is done, before that is reported; the same holds for what it throws. The master does not hear of these bytes. */
  readonly onObserved?: (observed: ObservedOperator) => void;
  /**
   * JavaScript is woken when an accelerator has fewer operators than this that it can start by itself. A whole number from 1 to 2^31 − 1; the more, the fewer
   * wakes. Default 4.
   */
  readonly lookahead?: number;
  /** Events wait for others at most so long, in nanoseconds, from 1000 on. Default 1 ms. */
  readonly reportNs?: number;
}

const OPTIONS = [
  ...["devices", "weights", "allowTorchScript", "onFetched", "onObserved", "lookahead", "reportNs"],
] as const satisfies readonly (keyof LibtorchExecutorOptions)[];

/** The native side counts in 32 bits. */
const LOOKAHEAD_MAX = 2 ** 31 - 1;

/** Throws INVALID_OPTION. */
export function checkLibtorchOptions(options: LibtorchExecutorOptions): void {
  checkObject("options is", options);
  const unknown = unknownField(options, OPTIONS);
  if (unknown !== undefined) invalid(`options: ${unknown}`);
  const { devices = {}, weights = {}, allowTorchScript = false, lookahead = 4, reportNs = 1_000_000 } = options;
  checkObject("devices is", devices);
  checkObject("weights is", weights);
  for (const [accelerator, device] of Object.entries(devices))
    if (!/^(?:cpu|cuda:\d{1,3})$/.test(device))
      invalid(`devices.${accelerator} is ${JSON.stringify(device)}; it must be "cpu", or "cuda:0" and so on`);
  // What is true in JavaScript, such as "false", must not let code in.
  if (typeof allowTorchScript !== "boolean")
    invalid(`allowTorchScript is a ${typeof allowTorchScript}; it must be true or false`);
  for (const name of ["onFetched", "onObserved"] as const)
    if (options[name] !== undefined && typeof options[name] !== "function")
      invalid(`${name} is ${options[name] === null ? "null" : `a ${typeof options[name]}`}; it must be a function`);
  if (!Number.isSafeInteger(lookahead) || lookahead < 1 || lookahead > LOOKAHEAD_MAX)
    invalid(`lookahead is ${lookahead}; it must be a whole number from 1 to ${LOOKAHEAD_MAX}`);
  if (!Number.isSafeInteger(reportNs) || reportNs < 1_000)
    invalid(`reportNs is ${reportNs}; it must be a whole number of nanoseconds from 1000 on`);
}

function checkObject(what: string, given: unknown): void {
  if (typeof given !== "object" || given === null)
    invalid(`${what} ${given === null ? "null" : typeof given}; it must be an object`);
}

function invalid(found: string): never {
  throw new LibtorchError("INVALID_OPTION", found);
}
