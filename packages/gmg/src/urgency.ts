/**
 * How urgent an operator is: as its instance, or as what it was promoted to, and at least as urgent as whatever needs its results
 * and has not ended. Urgency is a priority class and, within it, a deadline: the earliest of those that give it that class.
 *
 * Work that ends as it should changes nobody's urgency, since all that it read has ended before. It rises as readers come, and falls
 * as they are cancelled or fail; both cost nothing where no operator is less urgent than its reader, and else are linear in the
 * operators that rise or may fall (falling sorts them).
 */
import { type GraphState, illegalMove } from "./graph-state.ts";
import type { OperatorNode, TransferNode } from "./nodes.ts";

const NONE: readonly never[] = [];

interface Urgency {
  readonly rank: number;
  readonly deadlineNs: number;
}

/** It needs its inputs and will have results: neither done nor given up. */
function isLive({ state }: OperatorNode): boolean {
  return state === "unscheduled" || state === "issued";
}

function isMoreUrgent(a: Urgency, b: Urgency): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.deadlineNs < b.deadlineNs);
}

/** Whether it is as urgent as it is for the sake of others. */
function inherits({ rank, ownRank, deadlineNs, instance }: OperatorNode): boolean {
  return rank !== ownRank || deadlineNs !== instance.deadlineNs;
}

/** Of one that has not ended, counted from scratch: from its readers, whose urgency is right. */
export function urgencyOf(operator: OperatorNode): Urgency {
  let urgency: Urgency = { rank: operator.ownRank, deadlineNs: operator.instance.deadlineNs };
  for (const { consumers } of operator.outputs) {
    for (const consumer of consumers) if (isLive(consumer) && isMoreUrgent(consumer, urgency)) urgency = consumer;
  }
  return urgency;
}

/** What the operator reads, and is not done, becomes at least as urgent as it is, and so does what that reads. */
export function raiseProducers(state: GraphState, operator: OperatorNode): void {
  for (const { producer } of operator.inputs) if (lags(producer, operator)) raise(state, producer, operator);
}

function lags(producer: OperatorNode, reader: OperatorNode): boolean {
  return isLive(producer) && isMoreUrgent(reader, producer);
}

function raise(state: GraphState, first: OperatorNode, reader: OperatorNode): void {
  const { rank, deadlineNs } = reader;
  const lagging = [first];
  for (let operator = lagging.pop(); operator !== undefined; operator = lagging.pop()) {
    if (!isMoreUrgent(reader, operator)) continue;
    setUrgency(state, operator, rank, deadlineNs);
    for (const { producer } of operator.inputs) if (lags(producer, reader)) lagging.push(producer);
  }
}

/** Adds those that may owe their urgency to an operator that is about to end without reading, or to what reads it: itself too. */
export function noteDebtors(debtors: Set<OperatorNode>, operator: OperatorNode): void {
  if (inherits(operator)) debtors.add(operator);
  for (const debtor of debtorsOf(operator)) debtors.add(debtor);
}

/** Those that it reads from and that may owe it their urgency. */
export function debtorsOf(operator: OperatorNode): readonly OperatorNode[] {
  let found: OperatorNode[] | null = null;
  for (const { producer } of operator.inputs) {
    if (!inherits(producer)) continue;
    found ??= [];
    found.push(producer);
  }
  return found ?? NONE;
}

/** For good, until its instance ends. A rank that is no class is a TypeError. Throws ILLEGAL_MOVE. */
export function promoteOperator(state: GraphState, operator: OperatorNode, rank: number): boolean {
  if (!(Number.isSafeInteger(rank) && rank >= 0)) throw new TypeError(`a class is a whole number from 0, not ${rank}`);
  if (!isLive(operator)) illegalMove(operator, `promoted to class ${rank}`);
  if (rank >= operator.ownRank) return false;
  operator.ownRank = rank;
  countAgain(state, operator);
  raiseProducers(state, operator);
  return true;
}

/** After readers of these ended without reading: each is as urgent as what still needs it. */
export function fallBack(state: GraphState, debtors: Iterable<OperatorNode>): void {
  const affected = new Set(debtors);
  for (const operator of affected) for (const debtor of debtorsOf(operator)) affected.add(debtor);
  // A reader is of a later instance than what it reads, or comes later in its template, and then its tensors have higher numbers.
  const readersFirst = [...affected].sort((a, b) => b.instance.id - a.instance.id || lastTensor(b) - lastTensor(a));
  for (const operator of readersFirst) countAgain(state, operator);
}

function lastTensor({ outputs }: OperatorNode): number {
  return outputs.at(-1)?.id ?? -1;
}

/** Gives it the urgency that its readers, whose own is right, leave it. */
export function countAgain(state: GraphState, operator: OperatorNode): void {
  const { rank, deadlineNs } = urgencyOf(operator);
  setUrgency(state, operator, rank, deadlineNs);
}

/** It has ended, and whatever it inherited with it; nothing counts or lists it any more. */
export function forgetUrgency(operator: OperatorNode): void {
  operator.rank = operator.ownRank;
  operator.deadlineNs = operator.instance.deadlineNs;
}

/** A transfer that is not selected yet is as urgent as the most urgent operator that waits for it. */
export function followWaiting(state: GraphState, transfer: TransferNode): void {
  if (!isToBeSelected(transfer) || transfer.waiting.length === 0) return;
  const rank = transfer.waiting.reduce((least, waiting) => Math.min(least, waiting.rank), Number.POSITIVE_INFINITY);
  if (rank === transfer.rank) return;
  transfer.rank = rank;
  if (transfer.state === "intended") state.effects.transferReranks.push({ transfer: transfer.number, rank });
}

/** Its rank still decides something. */
export function isToBeSelected({ state }: TransferNode): boolean {
  return state === "planned" || state === "intended" || state === "starved";
}

function setUrgency(state: GraphState, operator: OperatorNode, rank: number, deadlineNs: number): void {
  const before = operator.rank;
  if (rank === before && deadlineNs === operator.deadlineNs) return;
  const isInFrontier = state.frontier.remove(operator);
  operator.rank = rank;
  operator.deadlineNs = deadlineNs;
  if (isInFrontier) state.frontier.add(operator);
  if (rank === before || state.issued.get(operator.issueNumber) !== operator) return;
  state.issuedByClass.move(operator, before);
  if (operator.startedNs >= 0) return;
  for (const tensor of operator.inputs) {
    for (const transfer of tensor.transfers) if (transfer.waiting.includes(operator)) followWaiting(state, transfer);
  }
  // One that was asked back is issued anew with what it has then.
  if (operator.state === "issued" && !operator.recalled)
    state.effects.reranks.push({ issueNumber: operator.issueNumber, rank });
}
