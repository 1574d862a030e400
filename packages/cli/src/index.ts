export { type Io, processIo } from "./io.ts";
export type { ReplayReport, WorkloadSummary } from "./json.ts";
export { main } from "./main.ts";
export type { Replay } from "./replay-command.ts";
export { type HostFigures, type Marks, renderReport } from "./table.ts";
