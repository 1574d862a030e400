import { ArbitrationError } from "./errors.ts";
import { replay } from "./moves.ts";
import { checkedOptions, DEFAULT_DEADLINE_FACTOR, DEFAULT_DEADLINE_MIN_NS, isNs } from "./options.ts";
import type { ArbiterState, ArbitrationOptions, MoveRecord, TransferMove, TransferView } from "./types.ts";

const FORMAT = "slicescheduler/arbiter";
const VERSION = 2;
/** So many transfers that ended are remembered for error messages. */
export const REMEMBERED_GONE = 64;

export function saveArbiter(
  options: Required<ArbitrationOptions>,
  nowNs: number,
  transfers: readonly TransferView[],
  gone: ReadonlyMap<number, readonly MoveRecord[]>,
): ArbiterState {
  return {
    format: FORMAT,
    version: VERSION,
    ...options,
    nowNs,
    transfers,
    gone: Array.from(gone, ([transfer, history]) => ({ transfer, history: history.map((record) => ({ ...record })) })),
  };
}

type Unread = Readonly<Record<string, unknown>>;

/** Reads a foreign value field by field; what it returns shares nothing with the value. */
export function loadArbiter(value: unknown): { arbiter: ArbiterState; options: Required<ArbitrationOptions> } {
  const state = record(value, "the value");
  if (state["format"] !== FORMAT) fail(`format must be "${FORMAT}", found ${shown(state["format"])}`);
  const { version } = state;
  if (version !== 1 && version !== VERSION) {
    throw new ArbitrationError(
      "UNSUPPORTED_VERSION",
      `The saved arbiter has version ${shown(version)}, this package reads 1 … ${VERSION}.`,
      { found: version, supported: VERSION },
    );
  }
  const nowNs = whole(state, "nowNs", "the value");
  const options = readOptions(state, version);
  const seen = new Set<number>();
  const transfers = list(state, "transfers").map((entry, at) =>
    readTransfer(entry, `transfers[${at}]`, nowNs, version),
  );
  for (const { transfer } of transfers) {
    if (seen.has(transfer)) fail(`transfer ${transfer} is there twice`);
    seen.add(transfer);
  }
  const gone = list(state, "gone").map((entry, at) => readGone(entry, `gone[${at}]`, nowNs));
  if (gone.length > REMEMBERED_GONE) fail(`gone has ${gone.length} entries, at most ${REMEMBERED_GONE} are kept`);
  for (const { transfer } of gone) {
    if (seen.has(transfer)) fail(`transfer ${transfer} is there twice`);
    seen.add(transfer);
  }
  return { arbiter: { format: FORMAT, version: VERSION, ...options, nowNs, transfers, gone }, options };
}

/** Version 1 knows no deadlines: they get the defaults. */
function readOptions(state: Unread, version: 1 | 2): Required<ArbitrationOptions> {
  const waiting = { agingNs: whole(state, "agingNs", "the value"), reserveNs: whole(state, "reserveNs", "the value") };
  const { deadlineFactor } = version === 1 ? { deadlineFactor: DEFAULT_DEADLINE_FACTOR } : state;
  const deadlineMinNs = version === 1 ? DEFAULT_DEADLINE_MIN_NS : whole(state, "deadlineMinNs", "the value");
  if (typeof deadlineFactor !== "number")
    return fail(`deadlineFactor must be a number, found ${shown(deadlineFactor)}`);
  try {
    return checkedOptions({ ...waiting, deadlineFactor, deadlineMinNs });
  } catch (error) {
    if (error instanceof ArbitrationError) return fail(error.message);
    throw error;
  }
}

function readTransfer(value: unknown, where: string, nowNs: number, version: 1 | 2): TransferView {
  const entry = record(value, where);
  const history = readHistory(entry, where, nowNs);
  const state = replay(history);
  if (state === undefined || state === "gone" || entry["state"] !== state) {
    return fail(`${where} says state ${shown(entry["state"])}, its history leads to ${state ?? "an illegal move"}`);
  }
  const sinceNs = whole(entry, "sinceNs", where);
  if (sinceNs !== history[0]?.atNs) fail(`${where} says sinceNs ${sinceNs}, its history starts at ${history[0]?.atNs}`);
  return {
    transfer: whole(entry, "transfer", where),
    source: whole(entry, "source", where),
    destination: whole(entry, "destination", where),
    bytes: whole(entry, "bytes", where),
    rank: whole(entry, "rank", where),
    expectedNs: version === 1 ? 0 : whole(entry, "expectedNs", where),
    sinceNs,
    state,
    history,
  };
}

function readGone(value: unknown, where: string, nowNs: number): ArbiterState["gone"][number] {
  const entry = record(value, where);
  const history = readHistory(entry, where, nowNs);
  if (history.length === 0 || replay(history) !== "gone") fail(`the history of ${where} does not end`);
  return { transfer: whole(entry, "transfer", where), history };
}

const MOVES: readonly TransferMove[] = ["raise", "select", "recvReady", "done", "failed", "cancel", "expire"];

function readHistory(entry: Unread, where: string, nowNs: number): readonly MoveRecord[] {
  let lastNs = 0;
  return list(entry, "history").map((value, at) => {
    const read = record(value, `${where}.history[${at}]`);
    const move = MOVES.find((known) => known === read["move"]);
    if (move === undefined) return fail(`${where}.history[${at}] has the unknown move ${shown(read["move"])}`);
    const atNs = whole(read, "atNs", `${where}.history[${at}]`);
    if (atNs < lastNs || atNs > nowNs) fail(`${where}.history[${at}] is at ${atNs} ns, outside ${lastNs} … ${nowNs}`);
    lastNs = atNs;
    return { move, atNs };
  });
}

function record(value: unknown, where: string): Unread {
  if (typeof value !== "object" || value === null) return fail(`${where} must be an object`);
  return value as Unread;
}

function list(from: Unread, field: string): readonly unknown[] {
  const value = from[field];
  // Loops over a list do not all see a hole in it.
  return Array.isArray(value) && !value.includes(undefined) ? value : fail(`${field} must be an array without holes`);
}

function whole(from: Unread, field: string, where: string): number {
  const value = from[field];
  return isNs(value) ? value : fail(`${field} of ${where} must be a whole number ≥ 0, found ${shown(value)}`);
}

function fail(fault: string): never {
  throw new ArbitrationError("INVALID_STATE", `This is not a saved arbiter: ${fault}. Give what save() returned.`, {
    fault,
  });
}

/** Any value on one short line; an object may refuse to be put into words. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 60));
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
