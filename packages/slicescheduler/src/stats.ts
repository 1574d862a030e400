import type { Executor } from "@slicescheduler/executor";
import type { MasterCore } from "./core.ts";

export interface MasterStats {
  /** Decisions made. */
  readonly rounds: number;
  readonly simulatedOperators: number;
  /** Nanoseconds of this host spent in events that led to decisions; null when it was not measured. */
  readonly hostNsInRounds: number | null;
  /** In the graph now. */
  readonly requests: number;
  readonly instances: number;
  readonly issuedOperators: number;
  readonly operatorsDone: number;
  /** Reports that came twice, or about what had ended already: ignored. */
  readonly lateEvents: number;
  /** Reports that came before what they follow from, and waited for it. */
  readonly earlyEvents: number;
  /** Operators that wait while nothing runs or moves anywhere; 0, unless they wait for memory that the application retains. */
  readonly standstills: number;
  readonly accelerators: readonly {
    readonly name: string;
    /** By the executor's own account where it keeps one, else by the graph's. */
    readonly usedHbmBytes: number;
    readonly peakHbmBytes: number;
    /** From and to it: their ends are overdue, and a drain waits for them. */
    readonly quarantinedTransfers: number;
  }[];
}

export function masterStats(core: MasterCore, executor: Executor, hostNsInRounds: number | null): MasterStats {
  const { graph, scheduler } = core;
  const { requests, instances, issuedOperators } = graph.counts();
  const observed = executor.stats?.().accelerators;
  const quarantined = Array.from(graph.transfers()).filter(({ state }) => state === "quarantined");
  return {
    ...scheduler.statistics,
    hostNsInRounds,
    requests,
    instances,
    issuedOperators,
    ...core.counts,
    standstills: standstills(core),
    accelerators: graph.cluster.accelerators.map(({ name, index }) => ({
      name,
      usedHbmBytes: observed?.[index]?.usedHbmBytes ?? graph.ledger.usedBytes(index),
      peakHbmBytes: observed?.[index]?.peakHbmBytes ?? graph.ledger.peakBytes(index),
      quarantinedTransfers: quarantined.filter(({ source, destination }) => source === index || destination === index)
        .length,
    })),
  };
}

function standstills({ graph }: MasterCore): number {
  let waiting = graph.unscheduledFrontier.size;
  for (const operator of graph.issuedOperators()) {
    if (operator.startedNs >= 0) return 0;
    waiting += 1;
  }
  for (const transfer of graph.transfers()) if (transfer.state === "sending") return 0;
  return waiting;
}
