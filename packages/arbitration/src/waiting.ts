import { effectiveRank } from "./intent-order.ts";
import type { IntentQueue } from "./intent-queue.ts";
import { holdsPorts } from "./moves.ts";
import type { TransferView, WaitingFor, WaitingReport } from "./types.ts";

/** Says for each intent, in order, which of its ports are busy or reserved, and by whom. */
export function waitingReport(
  queue: IntentQueue,
  transfers: readonly TransferView[],
  nowNs: number,
): readonly WaitingReport[] {
  const { ports, agingNs, reserveNs } = queue;
  const holders = new Map<number, number[]>();
  for (const view of transfers) {
    if (!holdsPorts(view.state)) continue;
    for (const port of portsOf(queue, view)) holders.set(port, [...(holders.get(port) ?? []), view.transfer]);
  }
  const waiting = transfers
    .filter((view) => view.state === "intent")
    .map((view) => ({ view, effective: effectiveRank(view.rank, nowNs - view.sinceNs, agingNs) }))
    .sort((a, b) => a.effective - b.effective || a.view.transfer - b.view.transfer);
  const reservers = new Map<number, number>();
  return waiting.map(({ view, effective }) => {
    const waitsFor: WaitingFor[] = [];
    for (const port of portsOf(queue, view)) {
      const { kind, index } = ports.name(port);
      const reserver = reservers.get(port);
      if (ports.left(port) === 0) {
        waitsFor.push({ port: kind, index, reason: "busy", transfers: holders.get(port) ?? [] });
      } else if (reserver !== undefined) {
        waitsFor.push({ port: kind, index, reason: "reserved", transfers: [reserver] });
      }
    }
    const reserves = nowNs - view.sinceNs >= reserveNs;
    if (reserves) {
      for (const port of portsOf(queue, view)) if (!reservers.has(port)) reservers.set(port, view.transfer);
    }
    const { transfer, source, destination, rank } = view;
    const waitedNs = nowNs - view.sinceNs;
    return { transfer, source, destination, rank, effectiveRank: effective, waitedNs, reserves, waitsFor };
  });
}

function portsOf({ ports }: IntentQueue, { source, destination }: TransferView): readonly number[] {
  return Array.from({ length: ports.portCount(source, destination) }, (_, at) => ports.portAt(source, destination, at));
}
