import { deadlineOf } from "./deadlines.ts";
import { holdsPorts } from "./moves.ts";
import type { ArbitrationOptions, TransferView, WaitingFor, WaitingReport } from "./types.ts";

/**
 * Who waits for whom, one line each: the intents in order, then the transfers that hold ports, then the quarantined ones. What holds
 * a port waits for nobody here but its executor, so every chain of waiting ends in the second part: the arbiter cannot deadlock.
 */
export function waitingInWords(
  reports: readonly WaitingReport[],
  transfers: readonly TransferView[],
  options: Required<ArbitrationOptions>,
  nowNs: number,
): string {
  const holders = transfers.filter(({ state }) => holdsPorts(state));
  const quarantined = transfers.filter(({ state }) => state === "quarantined");
  const counts = `${reports.length} waiting, ${holders.length} with ports, ${quarantined.length} quarantined at ${time(nowNs)}.`;
  const lines = [
    ...reports.map(intentLine),
    ...holders.map((view) => holderLine(view, options)),
    ...quarantined.map(quarantineLine),
  ];
  return [counts, ...lines].join("\n");
}

function intentLine({
  transfer,
  source,
  destination,
  rank,
  effectiveRank,
  waitedNs,
  reserves,
  waitsFor,
}: WaitingReport) {
  const aged = effectiveRank === rank ? "" : `, by age ${effectiveRank}`;
  const keeps = reserves ? ", and keeps its ports from those after it" : "";
  const reasons = waitsFor.length === 0 ? "the next selection" : waitsFor.map(reason).join(" and ");
  return `Transfer ${transfer} (${source} → ${destination}, rank ${rank}${aged}) has waited ${time(waitedNs)}${keeps}; it waits for ${reasons}.`;
}

function reason({ port, index, reason, transfers }: WaitingFor): string {
  const name = port === "link" ? `link ${index}` : `${port} of accelerator ${index}`;
  const numbers = `transfer${transfers.length === 1 ? "" : "s"} ${transfers.join(", ")}`;
  return reason === "busy" ? `${name} (taken by ${numbers})` : `${name} (kept for ${numbers})`;
}

const DOES = {
  receiving: "has its receive buffer allocated",
  sending: "moves its data",
  cancelling: "is cancelled and moves its data still",
};

function holderLine(view: TransferView, options: Required<ArbitrationOptions>): string {
  const { transfer, source, destination, state, history, expectedNs } = view;
  const does = holdsPorts(state) ? DOES[state] : state;
  const since = history.findLast(({ move }) => move === "recvReady" || move === "select");
  const deadlineNs = deadlineOf(history, expectedNs, options);
  const end = Number.isFinite(deadlineNs)
    ? `is quarantined at ${time(deadlineNs)} if it has not ended`
    : "has no deadline";
  return `Transfer ${transfer} (${source} → ${destination}) ${does} since ${time(since?.atNs ?? 0)} and ${end}.`;
}

function quarantineLine({ transfer, source, destination, bytes, history }: TransferView): string {
  const since = history.findLast(({ move }) => move === "expire");
  return `Transfer ${transfer} (${source} → ${destination}) is quarantined since ${time(since?.atNs ?? 0)}: its end has not come, and its ${bytes} bytes at both ends are not free.`;
}

/** Nanoseconds in the largest unit of which there is one at least, exactly. */
function time(ns: number): string {
  if (ns >= 1e9) return `${ns / 1e9} s`;
  if (ns >= 1e6) return `${ns / 1e6} ms`;
  return ns >= 1e3 ? `${ns / 1e3} µs` : `${ns} ns`;
}
