export {
  type DirectLoop,
  type DirectLoopOptions,
  type DirectOptions,
  type DirectRun,
  type DirectStep,
  openDirect,
  runDirect,
} from "./direct.ts";
export { type DeviceMemory, type LibtorchExecutor, libtorchExecutor } from "./libtorch-executor.ts";
export { libtorchAvailable } from "./native/addon.ts";
export type { DeviceName, FetchedTensor, LibtorchExecutorOptions, ObservedOperator } from "./options.ts";
export { LibtorchError, type LibtorchErrorCode } from "./programs/errors.ts";
export type { HostData, HostTensor } from "./programs/host-tensor.ts";
export type { Argument, Call, Program, Results } from "./programs/types.ts";
export type { SeededTensor, WeightsSource } from "./weights/types.ts";
