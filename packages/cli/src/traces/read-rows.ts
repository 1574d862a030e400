/** The requests of a trace that a replay takes. */
import { openTrace, TraceError, type TraceReading, type TraceRequest } from "@slicescheduler/workloads";

/** More than a replay gets through in a day; they take some 300 MB. */
export const replayRowsMax = 2_000_000;

export interface ReadRowsOptions extends Pick<TraceReading, "onProgress"> {
  /** What arrives later is not even read. Default: the whole trace. */
  readonly windowNs?: number | undefined;
  /** Default `replayRowsMax`. */
  readonly rowsMax?: number;
}

/**
 * Reads a trace of any format from its beginning, and holds its rows in memory.
 * Errors: as `openTrace`; TRACE_TOO_LARGE, soon after the last row that is allowed, however much is packed behind it.
 */
export async function readRows(
  file: string,
  { windowNs = Number.POSITIVE_INFINITY, rowsMax = replayRowsMax, ...reading }: ReadRowsOptions = {},
): Promise<TraceRequest[]> {
  const rows: TraceRequest[] = [];
  for await (const row of openTrace(file, reading)) {
    if (row.arrivalNs >= windowNs) break;
    if (rows.length === rowsMax) {
      const advice = "take the beginning with --minutes, or replay a profile of it";
      throw new TraceError("TRACE_TOO_LARGE", file, null, `has more than ${rowsMax} requests to replay; ${advice}`);
    }
    rows.push(row);
  }
  return rows;
}
