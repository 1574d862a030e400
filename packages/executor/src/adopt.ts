/** What executors have at this moment, read from the graph of the master that issued it. */
import type { GlobalMappingGraph, GraphSnapshot, OperatorNode, TransferNode } from "@slicescheduler/gmg";
import type { LedgerState } from "@slicescheduler/memory";
import type { Template } from "@slicescheduler/templates";
import type { TransferState } from "./states.ts";
import type { ExecutorInstruction, IssueInstruction } from "./types.ts";

/** An operator that an executor has. */
export interface PresentOperator {
  readonly instruction: IssueInstruction;
  /** Inputs whose copies are still those that it was issued to read; a lost one took its use with it. */
  readonly uses: readonly number[];
  /** Since when no input is missing; −1 before. */
  readonly readyNs: number;
  /** −1 before it runs. */
  readonly startedNs: number;
}

/** A transfer that has not ended. */
export interface PresentTransfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
  readonly bytes: number;
  readonly state: Extract<TransferState, "planned" | "intent" | "sending">;
  /** −1 before its send begins. */
  readonly sendNs: number;
}

/** The whole of an executor's state, for one that goes on in place of another. */
export interface PresentWork {
  readonly templates: readonly Template[];
  /** Per accelerator. */
  readonly absent: readonly boolean[];
  readonly ledger: LedgerState;
  /** By rising issue number. */
  readonly operators: readonly PresentOperator[];
  /** By rising transfer number. */
  readonly transfers: readonly PresentTransfer[];
  /** Numbers given last; −1 for none. */
  readonly newestIssue: number;
  readonly newestTransfer: number;
  /** Instructions that were given and not answered: they are given again to the executor that goes on. */
  readonly unanswered: readonly ExecutorInstruction[];
}

/**
 * What the executors of a graph's cluster have, as far as the graph knows. Between two events of a virtual executor whose messages take no
 * time that is exact; of real executors it is what was reported: what is on its way counts as not yet done, and is asked for again.
 * Linear in what is issued and in the copies in memory.
 * @param snapshot Of the same graph, in the same state.
 * @param isHeldBack Whether an operator was issued and not allowed to run yet. Default: none.
 */
export function presentWork(
  graph: GlobalMappingGraph,
  snapshot: Pick<GraphSnapshot, "templates" | "counters">,
  isHeldBack: (operator: OperatorNode) => boolean = () => false,
): PresentWork {
  const operators = Array.from(graph.issuedOperators());
  const transfers = Array.from(graph.transfers());
  return {
    templates: snapshot.templates.map(({ name }) => graph.template(name)),
    absent: graph.cluster.accelerators.map(({ index }) => graph.availability(index) === "down"),
    ledger: graph.ledger.save(),
    operators: operators.map((operator) => presentOperator(operator, !isHeldBack(operator))),
    transfers: transfers.map(presentTransfer),
    newestIssue: snapshot.counters.nextIssue - 1,
    newestTransfer: snapshot.counters.nextTransfer - 1,
    unanswered: [...operators.flatMap(askedBack), ...transfers.flatMap(askedToMove)],
  };
}

function presentOperator(operator: OperatorNode, activated: boolean): PresentOperator {
  const { accelerator, inputs, reads, readyNs, startedNs } = operator;
  const own = inputs.filter((tensor, i) => tensor.copies.find((copy) => copy.accelerator === accelerator) === reads[i]);
  return { instruction: issueOf(operator, activated), uses: own.map(({ id }) => id), readyNs, startedNs };
}

/** As it was issued, but for transfers that have ended since. */
function issueOf(operator: OperatorNode, activated: boolean): IssueInstruction {
  const { instance, index, accelerator, issueNumber, inputs, outputs } = operator;
  return {
    type: "issue",
    issueNumber,
    accelerator,
    instance: instance.id,
    template: instance.template.name,
    operator: index,
    symbols: instance.binding.symbols,
    rank: operator.rank,
    activated,
    inputs: inputs.map(({ id, transfers }) => {
      const incoming = transfers.find(({ destination }) => destination === accelerator);
      return { tensor: id, transfer: incoming?.number ?? null, source: incoming?.source ?? -1 };
    }),
    outputs: outputs.map(({ id, bytes, aliases }) => ({ tensor: id, bytes, aliases: aliases?.id ?? null })),
    workspaceBytes: instance.binding.workspaceBytes(index),
  };
}

function presentTransfer({ number, tensor, source, destination, state, sendingNs }: TransferNode): PresentTransfer {
  return {
    transfer: number,
    tensor: tensor.id,
    source,
    destination,
    bytes: tensor.bytes,
    // A quarantined one is an intent that nobody activates: it never ends.
    state: state === "planned" || state === "sending" ? state : "intent",
    sendNs: state === "quarantined" ? -1 : sendingNs,
  };
}

/** It was recalled, or its instance has ended without it. */
function askedBack({ issueNumber, state, recalled, startedNs }: OperatorNode): ExecutorInstruction[] {
  return startedNs < 0 && (recalled || state !== "issued") ? [{ type: "withdraw", issueNumber }] : [];
}

function askedToMove({ number, tensor, source, destination, state, sendingNs }: TransferNode): ExecutorInstruction[] {
  // One that is quarantined before its data moved was given up.
  const isGivenUp = state === "cancelling" || (state === "quarantined" && sendingNs < 0);
  if (isGivenUp) return [{ type: "cancelTransfer", transfer: number }];
  if (state !== "selected") return [];
  return [{ type: "activateRecv", transfer: number, tensor: tensor.id, source, destination, bytes: tensor.bytes }];
}
