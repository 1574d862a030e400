export { decodeRunRecord } from "./encoding/decode.ts";
export { encodeRunRecord } from "./encoding/encode.ts";
export {
  EventLogError,
  type EventLogPlace,
  RunRecordInvalidError,
  TimelineError,
  type TimelineErrorCode,
} from "./errors.ts";
export { type TextGanttOptions, textGantt } from "./gantt/text-gantt.ts";
export {
  type InspectEventLogOptions,
  type InspectOptions,
  type InspectSnapshotOptions,
  inspectEventLog,
  inspectMaster,
  inspectSnapshot,
} from "./inspect/inspect.ts";
export type {
  HbmOwner,
  InspectedAccelerator,
  InspectedInstance,
  InspectedInstanceOperator,
  InspectedOperator,
  InspectedRequest,
  InspectedTransfer,
  Inspection,
  MissingInput,
  QueuedOperator,
  WaitingOperator,
} from "./inspect/inspection.ts";
export { decisionText, type InspectionTextOptions, inspectionText, instanceText } from "./inspect/inspection-text.ts";
export type { DecisionCheck, EventLog, EventLogEntry, EventLogHeader } from "./log/header.ts";
export { type EventLogLimits, EventLogReader, readEventLog } from "./log/reader.ts";
export { type EventLogReplayOptions, type ReplayedLog, recordEventLog, replayEventLog } from "./log/replay.ts";
export { type DecidingScheduler, type EventLogOptions, EventLogWriter } from "./log/writer.ts";
export type { HbmAccount } from "./record/hbm-book.ts";
export { type RecordedScheduler, type RecorderLimits, type RecorderOptions, RunRecorder } from "./record/recorder.ts";
export {
  type DroppedRows,
  type HbmSteps,
  OPERATOR_OUTCOMES,
  type OperatorColumns,
  type OperatorOutcome,
  REQUEST_OUTCOMES,
  type RecordedAccelerator,
  type RecordedDecisions,
  type RecordedNotice,
  type RecordedNoticeKind,
  type RequestColumns,
  type RequestOutcomeName,
  type RunRecord,
  TRANSFER_OUTCOMES,
  type TransferColumns,
  type TransferOutcome,
} from "./run-record.ts";
export { type ChromeTraceOptions, chromeTrace } from "./trace/chrome-trace.ts";
export { chromeTraceFaults } from "./trace/trace-faults.ts";
