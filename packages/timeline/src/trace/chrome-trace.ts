import { checkWhole, TimelineError } from "../errors.ts";
import { Lanes } from "../lanes.ts";
import { OPERATOR_OUTCOMES, REQUEST_OUTCOMES, type RunRecord, TRANSFER_OUTCOMES } from "../run-record.ts";
import { idOf, type Json, pidOf, TraceLines, type TrackKind, tidOf } from "./trace-lines.ts";

export interface ChromeTraceOptions {
  /** What overlaps the time from `fromNs` to `toNs` is written, whole. Default: everything. */
  readonly fromNs?: number;
  readonly toNs?: number;
  /** Requests as tracks of their own. Default true. */
  readonly requests?: boolean;
  /** Roughly so many characters in each piece, a whole number from 1. Default 65,536. */
  readonly pieceCharacters?: number;
}

interface Window {
  readonly fromNs: number;
  readonly toNs: number;
}

/**
 * The record as a trace file in the JSON form that Perfetto and Chrome open, in pieces to be written one after another. Each accelerator is a process: its
 * operators on one track, transfers on tracks of copies out and in, joined by a flow, and its HBM as a counter. Notices are instants, requests are
 * asynchronous slices. Times are microseconds with three decimals, exact to the nanosecond. Throws INVALID_OPTION.
 */
export function* chromeTrace(record: RunRecord, options: ChromeTraceOptions = {}): IterableIterator<string> {
  const { fromNs = Number.NEGATIVE_INFINITY, toNs = Number.POSITIVE_INFINITY, requests = true } = options;
  const { pieceCharacters = 65_536 } = options;
  checkWhole("pieceCharacters", pieceCharacters, 1);
  if (!(fromNs <= toNs)) throw new TimelineError("INVALID_OPTION", `fromNs: ${fromNs} is not up to toNs, ${toNs}`);
  const window = { fromNs, toNs };
  let piece = `{"displayTimeUnit":"ns","otherData":${JSON.stringify({ label: record.label })},"traceEvents":[`;
  let isFirst = true;
  for (const event of events(record, window, requests)) {
    piece += isFirst ? `\n${event}` : `,\n${event}`;
    isFirst = false;
    if (piece.length < pieceCharacters) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}\n]}\n`;
}

function* events(record: RunRecord, window: Window, withRequests: boolean): Iterable<string> {
  const lines = new TraceLines();
  yield* processes(record, lines);
  const lanes: TrackCounts = { operators: [], out: [], in: [] };
  yield* operators(record, window, lines, lanes);
  yield* transfers(record, window, lines, lanes);
  yield* tracks(record, lines, lanes);
  yield* hbm(record, window, lines);
  yield* notices(record, window, lines);
  if (withRequests) yield* requests(record, window, lines);
}

/** How many tracks of each kind an accelerator needed. */
type TrackCounts = Record<TrackKind, Lanes[]>;

const TRACK_NAMES: Readonly<Record<TrackKind, string>> = { operators: "operators", out: "copies out", in: "copies in" };

function* processes({ accelerators }: RunRecord, lines: TraceLines): Iterable<string> {
  for (const [index, { name, kind, capacityBytes }] of accelerators.entries()) {
    const pid = pidOf(index);
    yield lines.metadata("process_name", pid, null, { name: `${name} (${kind})` });
    yield lines.metadata("process_sort_index", pid, null, { sort_index: index });
    yield lines.metadata("process_labels", pid, null, { labels: `HBM ${capacityBytes} bytes` });
  }
  const pid = pidOf(accelerators.length);
  yield lines.metadata("process_name", pid, null, { name: "scheduler" });
  yield lines.metadata("process_sort_index", pid, null, { sort_index: accelerators.length });
  yield lines.metadata("thread_name", pid, tidOf(accelerators.length, "operators", 0), { name: "notices" });
}

function* tracks({ accelerators }: RunRecord, lines: TraceLines, lanes: TrackCounts): Iterable<string> {
  for (const index of accelerators.keys()) {
    for (const kind of ["operators", "out", "in"] as const) {
      const count = Math.max(lanes[kind][index]?.count ?? 0, kind === "operators" ? 1 : 0);
      for (let lane = 0; lane < count; lane++) {
        const tid = tidOf(index, kind, lane);
        const name = lane === 0 ? TRACK_NAMES[kind] : `${TRACK_NAMES[kind]} ${lane + 1}`;
        yield lines.metadata("thread_name", pidOf(index), tid, { name });
        yield lines.metadata("thread_sort_index", pidOf(index), tid, { sort_index: tid });
      }
    }
  }
}

/** Operators of an accelerator follow one another; where what it reported came late and they seem to overlap, they get tracks beside. */
function* operators(record: RunRecord, window: Window, lines: TraceLines, lanes: TrackCounts): Iterable<string> {
  const { operators: rows, operatorNames, priorities, tenants } = record;
  for (let row = 0; row < rows.count; row++) {
    const index = rows.accelerator[row] as number;
    const startNs = rows.startNs[row] as number;
    const told = rows.endNs[row] as number;
    const endNs = Number.isNaN(told) ? record.endNs : told;
    if (endNs < window.fromNs || startNs > window.toNs) continue;
    const lane = laneOf(lanes.operators, index, startNs, endNs);
    const priority = priorities[rows.rank[row] as number];
    const tenant = tenants[rows.tenant[row] as number];
    const waitedNs = startNs - (rows.issuedNs[row] as number);
    const args: Json = {
      request: rows.request[row] as number,
      instance: rows.instance[row] as number,
      ...(priority === undefined ? {} : { class: priority }),
      ...(tenant === undefined || tenant === "" ? {} : { tenant }),
      issueNumber: rows.issueNumber[row] as number,
      ...((rows.round[row] as number) < 0 ? {} : { decision: rows.round[row] as number }),
      ...(Number.isNaN(waitedNs) ? {} : { waitedNs }),
      outcome: OPERATOR_OUTCOMES[rows.outcome[row] as number] ?? "",
    };
    const name = operatorNames[rows.name[row] as number] ?? "";
    const category = priority === undefined ? "operator" : `operator,${priority.replaceAll(",", " ")}`;
    yield* lines.slice(name, category, pidOf(index), tidOf(index, "operators", lane), startNs, endNs, args);
  }
}

function* transfers(record: RunRecord, window: Window, lines: TraceLines, lanes: TrackCounts): Iterable<string> {
  const { transfers: rows, accelerators } = record;
  const byStart = Array.from({ length: rows.count }, (_, row) => row)
    .filter((row) => TRANSFER_OUTCOMES[rows.outcome[row] as number] === "done")
    .sort((a, b) => (rows.startNs[a] as number) - (rows.startNs[b] as number) || a - b);
  for (const row of byStart) {
    const startNs = rows.startNs[row] as number;
    const endNs = rows.endNs[row] as number;
    if (endNs < window.fromNs || startNs > window.toNs) continue;
    const source = rows.source[row] as number;
    const destination = rows.destination[row] as number;
    const out = tidOf(source, "out", laneOf(lanes.out, source, startNs, endNs));
    const into = tidOf(destination, "in", laneOf(lanes.in, destination, startNs, endNs));
    const args: Json = {
      transfer: rows.transfer[row] as number,
      tensor: rows.tensor[row] as number,
      bytes: rows.bytes[row] as number,
    };
    const id = idOf(rows.transfer[row] as number);
    yield* lines.slice(`to ${accelerators[destination]?.name}`, "transfer", pidOf(source), out, startNs, endNs, args);
    yield* lines.slice(
      `from ${accelerators[source]?.name}`,
      "transfer",
      pidOf(destination),
      into,
      startNs,
      endNs,
      args,
    );
    // A flow binds to the slice around its time, which one without length has none of.
    if (endNs === startNs) continue;
    yield lines.flow("s", id, pidOf(source), out, startNs);
    yield lines.flow("f", id, pidOf(destination), into, startNs);
  }
}

function* hbm({ hbm: steps, endNs }: RunRecord, window: Window, lines: TraceLines): Iterable<string> {
  for (const [index, { count, atNs, usedBytes }] of steps.entries()) {
    for (let step = 0; step < count; step++) {
      const untilNs = step + 1 < count ? (atNs[step + 1] as number) : endNs;
      if (untilNs < window.fromNs || (atNs[step] as number) > window.toNs) continue;
      yield lines.counter("HBM used", pidOf(index), atNs[step] as number, { bytes: usedBytes[step] as number });
    }
  }
}

function* notices({ notices: told, accelerators }: RunRecord, window: Window, lines: TraceLines): Iterable<string> {
  for (const { kind, atNs, accelerator, instance, text } of told) {
    if (atNs < window.fromNs || atNs > window.toNs) continue;
    const index = accelerator < 0 ? accelerators.length : accelerator;
    const args: Json = { text, ...(instance < 0 ? {} : { instance }) };
    yield lines.instant(kind, accelerator < 0 ? "g" : "p", pidOf(index), tidOf(index, "operators", 0), atNs, args);
  }
}

/** From the submission, or what is known first, to the end. */
function* requests(record: RunRecord, window: Window, lines: TraceLines): Iterable<string> {
  const { requests: rows, accelerators, priorities, tenants } = record;
  const pid = pidOf(accelerators.length);
  for (let row = 0; row < rows.count; row++) {
    const startNs = firstKnown(rows.submittedNs[row], rows.startedNs[row], rows.endNs[row]);
    const outcome = REQUEST_OUTCOMES[rows.outcome[row] as number] ?? "";
    const endNs = outcome === "open" ? record.endNs : firstKnown(rows.endNs[row], record.endNs);
    if (Number.isNaN(startNs) || endNs < window.fromNs || startNs > window.toNs) continue;
    const priority = priorities[rows.rank[row] as number];
    const tenant = tenants[rows.tenant[row] as number];
    const args: Json = {
      request: rows.id[row] as number,
      ...(priority === undefined ? {} : { class: priority }),
      ...(tenant === undefined || tenant === "" ? {} : { tenant }),
      instancesDone: rows.instancesDone[row] as number,
      outcome,
    };
    const label = rows.labels[row] ?? "";
    const name = label === "" ? `request ${rows.id[row]}` : label;
    const id = idOf(rows.id[row] as number);
    yield lines.asynchronous("b", name, id, pid, startNs, args);
    const tokenNs = firstKnown(rows.firstTokenNs[row]);
    if (tokenNs >= startNs && tokenNs <= endNs) yield lines.asynchronous("n", "first token", id, pid, tokenNs, {});
    yield lines.asynchronous("e", name, id, pid, Math.max(startNs, endNs), {});
  }
}

function firstKnown(...times: readonly (number | undefined)[]): number {
  return times.find((ns) => ns !== undefined && !Number.isNaN(ns)) ?? Number.NaN;
}

function laneOf(lanes: Lanes[], accelerator: number, startNs: number, endNs: number): number {
  let own = lanes[accelerator];
  if (own === undefined) {
    own = new Lanes();
    lanes[accelerator] = own;
  }
  return own.take(startNs, endNs);
}
