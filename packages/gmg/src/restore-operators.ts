/** What operators have reached, and what follows from it: what they read, who waits, who is issued. */
import { wireOperator } from "./build.ts";
import { type GraphState, nameOf } from "./graph-state.ts";
import type { InstanceNode, OperatorNode } from "./nodes.ts";
import { enterFrontier } from "./recall.ts";
import { contradicts } from "./restore-read.ts";
import type { GraphSnapshot } from "./snapshot.ts";
import { isPending } from "./snapshot-layout.ts";
import { OPERATOR_LETTERS } from "./snapshot-letters.ts";
import { fromRuns } from "./snapshot-tables.ts";
import { urgencyOf } from "./urgency.ts";

const NONE: readonly never[] = [];

/** All operators of all instances, in their order. */
export function restoreOperators(
  state: GraphState,
  { operators: saved }: GraphSnapshot,
  instances: readonly InstanceNode[],
): OperatorNode[] {
  const operators = instances.flatMap((instance) => instance.operators);
  const held: OperatorNode[] = [];
  for (const instance of instances) instance.unfinishedOperators = 0;
  restoreHistory(saved, operators);
  for (const [i, operator] of operators.entries()) {
    const letter = saved.states[i] ?? "";
    if (!isLetter(letter)) contradicts("operators.states", `position ${i}: ${JSON.stringify(letter)} is no state`);
    const standing = OPERATOR_LETTERS[letter];
    operator.state = standing.state;
    operator.recalled = standing.recalled;
    if (standing.inExecutor) held.push(operator);
    if (standing.inExecutor || standing.state === "unscheduled") waitOn(operator);
    else forget(operator);
  }
  if (held.length !== saved.missingInputs.length) {
    contradicts("operators.missingInputs", `has ${saved.missingInputs.length} entries for ${held.length} operators`);
  }
  for (const [i, operator] of held.entries()) operator.missingInputs = saved.missingInputs[i] as number;
  for (const operator of held.sort((a, b) => a.issueNumber - b.issueNumber)) {
    if (operator.issueNumber < 0)
      contradicts("operators.issued", `does not have ${nameOf(operator)}, which an executor has`);
    state.issued.set(operator.issueNumber, operator);
  }
  restorePromotions(saved, operators);
  return operators;
}

function restorePromotions({ promoted }: GraphSnapshot["operators"], operators: readonly OperatorNode[]): void {
  for (const [i, [number, rank]] of promoted.entries()) {
    const path = `operators.promoted[${i}]`;
    const operator = operators[number] ?? contradicts(path, `there is no operator ${number}`);
    if (rank >= operator.instance.rank) {
      contradicts(path, `class ${rank} is not more urgent than ${operator.instance.rank}, that of its instance`);
    }
    operator.ownRank = rank;
    operator.rank = rank;
  }
}

/** What is listed by urgency, which follows from the readers of results: those are restored by now. */
export function restoreUrgency(state: GraphState, instances: readonly InstanceNode[]): void {
  // Readers first: they are of later instances, or come later in their template.
  for (const { template, operators } of [...instances].sort((a, b) => b.id - a.id)) {
    for (const index of template.order.toReversed()) {
      const operator = operators[index] as OperatorNode;
      if (!isPending(state, operator)) continue;
      const { rank, deadlineNs } = urgencyOf(operator);
      operator.rank = rank;
      operator.deadlineNs = deadlineNs;
      if (operator.state === "unscheduled") enterFrontier(state, operator);
    }
  }
  for (const operator of state.issued.values()) state.issuedByClass.add(operator);
}

function isLetter(letter: string): letter is keyof typeof OPERATOR_LETTERS {
  return Object.hasOwn(OPERATOR_LETTERS, letter);
}

function restoreHistory({ issued, history }: GraphSnapshot["operators"], operators: readonly OperatorNode[]): void {
  const numbers = fromRuns(issued, operators.length);
  if (numbers === null || numbers.length !== history.issueNumber.length) {
    contradicts("operators.issued", `must be ${history.issueNumber.length} of ${operators.length} operators, as runs`);
  }
  for (const [i, number] of numbers.entries()) {
    const operator = operators[number];
    if (operator === undefined) contradicts("operators.issued", `there is no operator ${number}`);
    operator.accelerator = history.accelerator[i] as number;
    operator.issueNumber = history.issueNumber[i] as number;
    operator.issuedNs = history.issuedNs[i] as number;
    operator.readyNs = history.readyNs[i] as number;
    operator.startedNs = history.startedNs[i] as number;
    operator.doneNs = history.doneNs[i] as number;
  }
}

function waitOn(operator: OperatorNode): void {
  const { instance, index } = operator;
  instance.unfinishedOperators += 1;
  for (const { slot } of instance.template.operators[index]?.inputs ?? []) {
    if (slot < 0 || instance.inputs[slot] != null || instance.binding.inputBytes(slot) === 0) continue;
    contradicts(
      "instances.inputs",
      `${nameOf(operator)} has not ended, and the tensor in slot ${slot} it reads is missing`,
    );
  }
  wireOperator(operator);
}

function forget(operator: OperatorNode): void {
  operator.inputs = NONE;
  for (const tensor of operator.outputs) tensor.aliases = null;
}
