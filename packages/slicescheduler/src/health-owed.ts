/** What accelerators have to report before anything else can go on, by the books of the master. */
import type { GlobalMappingGraph, OperatorNode, TransferNode } from "@slicescheduler/gmg";
import type { Scheduler } from "@slicescheduler/scheduler";

/** One report that is to come without anything more being said or done elsewhere. */
export interface Owed {
  readonly accelerator: number;
  /** The same as long as it is the same report. */
  readonly key: string;
  /** Predicted duration of what runs; 0 for what takes no time of its own. */
  readonly expectedNs: number;
  readonly words: string;
  /** It is about a quarantined transfer: nobody but its memory waits for it any more. */
  readonly isQuarantine: boolean;
}

/**
 * Everything owed now: the end of what runs, the start of what is ready where nothing runs, the answer to what was asked back, the
 * intent of a transfer whose data are there, the end of one that was quarantined. Linear in what is issued and under way.
 */
export function owedReports(
  graph: GlobalMappingGraph,
  scheduler: Scheduler,
  { quarantines }: { readonly quarantines: boolean },
): Owed[] {
  const owed: Owed[] = [];
  const running = new Set<number>();
  for (const operator of graph.issuedOperators()) if (operator.startedNs >= 0) running.add(operator.accelerator);
  const first = new Set<number>();
  for (const operator of graph.issuedOperators()) {
    const report = owedBy(operator, scheduler, running, first);
    if (report !== null) owed.push(report);
  }
  for (const transfer of graph.transfers()) {
    if (quarantines || transfer.state !== "quarantined") owed.push(...owedOf(transfer, graph));
  }
  return owed;
}

function owedBy(
  operator: OperatorNode,
  scheduler: Scheduler,
  running: ReadonlySet<number>,
  first: Set<number>,
): Owed | null {
  const { accelerator, issueNumber, startedNs, state, recalled, missingInputs } = operator;
  if (startedNs >= 0) {
    const expectedNs = scheduler.predictor.operatorNs(operator, accelerator);
    return { ...by(accelerator, "end", "issue", issueNumber), expectedNs };
  }
  if (recalled || state !== "issued") return by(accelerator, "return", "issue", issueNumber);
  if (missingInputs > 0 || running.has(accelerator) || first.has(accelerator) || scheduler.isHeldBack(operator))
    return null;
  first.add(accelerator);
  return by(accelerator, "start", "issue", issueNumber);
}

function owedOf(transfer: TransferNode, graph: GlobalMappingGraph): Owed[] {
  const { number, state, tensor, source, destination, waiting } = transfer;
  if (state === "cancelling") return [by(destination, "end", "transfer", number)];
  // Whichever end it is that keeps silent.
  if (state === "quarantined")
    return [source, destination].map((end) => ({ ...by(end, "end", "transfer", number), isQuarantine: true }));
  if (state !== "planned") return [];
  if (graph.ledger.has(tensor.id, source) && graph.ledger.isPresent(tensor.id, source))
    return [by(source, "intent", "transfer", number)];
  const isWanted = waiting.some((operator) => operator.state === "issued" && !operator.recalled);
  const { producer } = tensor;
  const willCome = producer.state === "issued" || producer.state === "done";
  return isWanted && willCome ? [] : [by(destination, "end", "transfer", number)];
}

function by(accelerator: number, what: string, of: "issue" | "transfer", number: number): Owed {
  const words = `the ${what} of ${of} ${number}`;
  return { accelerator, key: `${accelerator}: ${words}`, expectedNs: 0, words, isQuarantine: false };
}
