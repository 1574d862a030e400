/** Tells what a file is by how it begins, so that a command can say what it was given and which command takes it. */

/** Bytes of a file's beginning that tell. */
export const headBytes = 4096;

export type FileKind =
  | "savedReplay"
  | "runRecord"
  | "eventLog"
  | "snapshot"
  | "result"
  | "profile"
  | "chromeTrace"
  | "trace"
  | "html"
  | "gzip";

const kinds: readonly (readonly [FileKind, RegExp])[] = [
  ["savedReplay", /^SLRP/],
  ["runRecord", /^SSRR/],
  ["html", /^\s*<(?:!doctype html|html)\b/i],
  ["eventLog", /^\s*\{[^\n]{0,200}"format"\s*:\s*"slicescheduler\.events"/],
  ["snapshot", /^\s*\{\s*"format"\s*:\s*"slicescheduler\.graph"/],
  ["result", /^\s*\{\s*"workload"\s*:\s*\{\s*"recipe"/],
  ["profile", /^\s*\{\s*"version"[^{]{0,3000}"arrivals"\s*:\s*\{\s*"windowSeconds"/],
  ["chromeTrace", /^\s*\{[^[]{0,3000}"traceEvents"\s*:\s*\[/],
  ["trace", /^(?:\{\s*")?arrivalNs\b/],
];

/** Null for what is none of these. @param head the first `headBytes`, or fewer where there are no more. */
export function kindOfFile(head: Uint8Array): FileKind | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  const text = Buffer.from(head.subarray(0, headBytes))
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "");
  return kinds.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** What it is, and what to do with it; for messages after the name of the file and a verb. */
export const kindWords: Readonly<Record<FileKind, string>> = {
  savedReplay: "a saved replay, for `compare`, `report` and `inspect`",
  runRecord: "a run record, for `compare`, `report` and `inspect`",
  eventLog: "an event log, for `inspect`",
  snapshot: "a snapshot of a graph, for `inspect`",
  result: "a result of `replay --json`, for `compare`",
  profile: "a profile of a trace, for `replay --profile`",
  chromeTrace: "a timeline of the Chrome trace format, for ui.perfetto.dev",
  trace: "a trace of requests, for `replay --trace`",
  html: "an HTML page, for a browser",
  gzip: "packed by gzip; unpack it",
};
