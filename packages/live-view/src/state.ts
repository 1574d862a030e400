/** What the page shows, as text: everything is put into words here, so that the page only lays it out. */
import type { CandidateReport, Decision } from "@slicescheduler/scheduler";
import type { Overview, OverviewAccelerator, QueuedOperator } from "slicescheduler";
import { bytes, counted, duration, moment, waitsFor } from "./words.ts";

interface ViewRow {
  /** The same row in every state. */
  readonly key: string;
  readonly cells: readonly string[];
  /** A bar under the cell of that index. */
  readonly bar?: { readonly cell: number; readonly value: number; readonly max: number };
  /** The accelerator, or the instance, that can be acted on. */
  readonly accelerator?: { readonly name: string; readonly drained: boolean };
  readonly instance?: number;
}

export interface ViewTable {
  readonly rows: readonly ViewRow[];
  /** Entries that are not shown. */
  readonly more: number;
}

export interface ViewDecision {
  readonly key: string;
  readonly title: string;
  readonly candidates: readonly (readonly string[])[];
  /** Candidates that are not shown. */
  readonly more: number;
}

export interface ViewState {
  readonly clock: string;
  readonly figures: readonly (readonly [string, string])[];
  readonly accelerators: ViewTable;
  readonly frontier: ViewTable;
  readonly waiting: ViewTable;
  readonly transfers: ViewTable;
  readonly decisions: readonly ViewDecision[];
  readonly happenings: readonly { readonly key: string; readonly text: string }[];
}

/** Something rare that happened: a loss, a failure, a standstill. */
export interface Happening {
  readonly number: number;
  readonly atNs: number;
  readonly text: string;
}

/** Of a queue, so many operators are named. */
const QUEUE_SHOWN = 3;
const CANDIDATES_SHOWN = 12;

/** @param rows Entries of each list at most. */
export function viewStateOf(
  overview: Overview,
  decisions: readonly Decision[],
  happenings: readonly Happening[],
  rows: number,
): ViewState {
  const { atNs, accelerators, acceleratorCount, frontier, waiting, transfers, liveTransfers } = overview;
  const unscheduled = frontier.reduce((sum, { operators }) => sum + operators, 0);
  return {
    clock: moment(atNs),
    figures: [
      ["Requests", String(overview.requests)],
      ["Instances", String(overview.instances)],
      ["Operators issued", String(overview.issuedOperators)],
      ["Operators that could be issued", String(unscheduled)],
      ["Transfers", String(liveTransfers)],
      ["Decisions so far", String(overview.decisions)],
    ],
    accelerators: table(
      accelerators.map((accelerator) => acceleratorRow(accelerator, atNs)),
      acceleratorCount,
      rows,
    ),
    frontier: table(
      frontier.map(({ class: name, operators }) => ({ key: name, cells: [name, String(operators)] })),
      frontier.length,
      rows,
    ),
    waiting: table(
      waiting.map((operator) => ({
        key: `${operator.instance} ${operator.operator}`,
        instance: operator.instance,
        cells: [
          String(operator.instance),
          operator.label,
          operator.tenant,
          operator.operator,
          operator.class,
          duration(atNs - operator.sinceNs),
          waitsFor(operator.reason),
        ],
      })),
      unscheduled,
      rows,
    ),
    transfers: table(
      transfers.map(({ transfer, source, destination, bytes: size, state, sinceNs, waitingOperators }) => ({
        key: String(transfer),
        cells: [
          String(transfer),
          source,
          destination,
          bytes(size),
          state,
          sinceNs === null ? "" : duration(atNs - sinceNs),
          String(waitingOperators),
        ],
      })),
      liveTransfers,
      rows,
    ),
    decisions: decisions.slice(-rows).reverse().map(decisionOf),
    happenings: happenings
      .slice(-rows)
      .reverse()
      .map(({ number, atNs, text }) => ({ key: String(number), text: `${moment(atNs)}: ${text}` })),
  };
}

/** A state as JSON, cut to fewer entries until it fits. Longer texts, such as labels of the application, are cut as well. */
export function fittingState(stateOf: (rows: number) => ViewState, rows: number, bytesMax: number): string {
  for (let tried = rows; ; tried = Math.floor(tried / 2)) {
    const json = JSON.stringify(stateOf(Math.max(1, tried)), cut);
    if (tried <= 1 || Buffer.byteLength(json) <= bytesMax) return json;
  }
}

const TEXT_CHARACTERS_MAX = 300;

function cut(_: string, value: unknown): unknown {
  if (typeof value !== "string" || value.length <= TEXT_CHARACTERS_MAX) return value;
  return `${value.slice(0, TEXT_CHARACTERS_MAX)}…`;
}

function table(all: readonly ViewRow[], total: number, rows: number): ViewTable {
  const shown = all.slice(0, rows);
  return { rows: shown, more: Math.max(0, total - shown.length) };
}

function acceleratorRow(accelerator: OverviewAccelerator, nowNs: number): ViewRow {
  const { name, kind, state, capacityBytes, usedBytes, claimedBytes, fixedBytes } = accelerator;
  const { running, predictedNs, readyOperators, blockedOperators, queue } = accelerator;
  const next = queue.slice(0, QUEUE_SHOWN).map(named);
  const waiting = readyOperators + blockedOperators;
  if (waiting > next.length) next.push(`and ${waiting - next.length} more`);
  return {
    key: name,
    accelerator: { name, drained: state === "draining" || state === "drained" },
    bar: { cell: 3, value: usedBytes, max: capacityBytes },
    cells: [
      name,
      kind,
      state,
      `${bytes(usedBytes)} of ${bytes(capacityBytes)}; weights ${bytes(fixedBytes)}, granted ${bytes(claimedBytes)}`,
      running === null ? "nothing" : `${named(running)}, ${progress(nowNs - running.sinceNs, predictedNs)}`,
      `${readyOperators} ready, ${blockedOperators} blocked`,
      next.join("; "),
    ],
  };
}

function progress(elapsedNs: number, predictedNs: number | null): string {
  return predictedNs === null ? duration(elapsedNs) : `${duration(elapsedNs)} of about ${duration(predictedNs)}`;
}

function named({ operator, instance, label, tenant, class: of }: QueuedOperator): string {
  const whose = tenant === "" ? of : `${of}, ${tenant}`;
  return `${operator} of instance ${instance}${label === "" ? "" : ` "${label}"`} (${whose})`;
}

export function decisionOf({ round, atNs, instance, operators, partition, candidates }: Decision): ViewDecision {
  return {
    key: String(round),
    title: `${moment(atNs)}: instance ${instance}, ${counted(operators.length, "operator")} on ${partition}, of ${counted(candidates.length, "candidate")}`,
    candidates: candidates
      .slice(0, CANDIDATES_SHOWN)
      .map((candidate) => [
        candidate.partition,
        candidate.scoreNs === null ? "" : duration(candidate.scoreNs - atNs),
        bytes(candidate.movedBytes),
        candidate.partition === partition ? "chosen" : whyNot(candidate, atNs),
      ]),
    more: Math.max(0, candidates.length - CANDIDATES_SHOWN),
  };
}

function whyNot({ scoreNs, leastNs, shortage, outOfMemory }: CandidateReport, atNs: number): string {
  if (shortage !== null) {
    const { accelerator, neededBytes, availableBytes } = shortage;
    return `lacks memory: ${bytes(neededBytes)} on ${accelerator}, where ${bytes(availableBytes)} can be had`;
  }
  if (outOfMemory !== null) {
    const { accelerator, bytesOver, operator } = outOfMemory;
    const what = operator === null ? "a receive buffer" : operator;
    return `would run out of memory: ${what} is ${bytes(bytesOver)} too much for ${accelerator}`;
  }
  if (scoreNs !== null) return "ends later on average";
  return leastNs === null ? "given up once it could not win" : `cannot end before ${duration(leastNs - atNs)}`;
}
