export { type Dag, type DagAccelerator, type DagOperator, type DagTimeline, simulateDag } from "./dag.ts";
export { SimulatorError, type SimulatorErrorCode } from "./errors.ts";
export { Simulator } from "./simulator.ts";
export type {
  AcceleratorState,
  HbmSample,
  OutOfMemory,
  RunLimit,
  SimOperator,
  SimTensor,
  SimulatedTransfer,
  SimulationResult,
  SimulatorOptions,
  Waiter,
} from "./types.ts";
