export { type Io, processIo } from "./io.ts";
export { main } from "./main.ts";
export type { Replay } from "./replay/command.ts";
export type { ReplayReport, WorkloadSummary } from "./replay/json.ts";
export { type HostFigures, type Marks, renderReport } from "./replay/table.ts";
