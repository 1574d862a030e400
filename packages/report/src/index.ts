export { ReportError, type ReportErrorCode } from "./errors.ts";
export type { Fact, ReportInput, ReportPolicy, ReportSlo } from "./input.ts";
export { htmlReport } from "./report.ts";
