import { libtorchAvailable } from "@slicescheduler/executor-libtorch";
import type { SliceSchedulerOptions } from "slicescheduler";
import { libtorchModel } from "./libtorch-model.ts";
import type { TextModel } from "./text-model.ts";
import { virtualModel } from "./virtual-model.ts";

export interface ModelOptions {
  readonly scheduling: NonNullable<SliceSchedulerOptions["scheduling"]>;
  readonly metrics?: NonNullable<SliceSchedulerOptions["metrics"]>;
}

/** On LibTorch where it is set up, else on virtual accelerators. */
export function bestModel(options: ModelOptions): TextModel {
  return libtorchAvailable() ? libtorchModel(options) : virtualModel(options);
}
