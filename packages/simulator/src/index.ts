export { type Dag, type DagAccelerator, type DagOperator, type DagTimeline, simulateDag } from "./dag.ts";
export { type FormatErrorCode, SimulatorError, type SimulatorErrorCode } from "./errors.ts";
export { type DotOptions, readDot } from "./formats/dot.ts";
export { FormatError, type FormatPosition } from "./formats/errors.ts";
export type { Layout, LayoutOptions, Link } from "./formats/layout.ts";
export { readOperatorsJson, readOperatorsJsonl } from "./formats/operators-json.ts";
export { readStg, type StgOptions } from "./formats/stg.ts";
export { readW1 } from "./formats/w1-binary.ts";
export { readW1Json } from "./formats/w1-json.ts";
export { Simulator } from "./simulator.ts";
export type {
  AcceleratorState,
  CriticalStep,
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
