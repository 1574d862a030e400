/** From a declared problem to nodes: what the master issued before, in the order of issue numbers. */
import { nextStamp } from "./arrays.ts";
import { failBytes, SimulatorError } from "./errors.ts";
import type { Mark } from "./mark.ts";
import {
  BYTES,
  COPY,
  DONE,
  DURATION,
  HELD,
  INPUTS,
  MISSING,
  MISSING_ALL,
  MORE,
  PLACE,
  PRESENT_AT_BEGIN,
  RANK_SHIFT,
  RANKS,
  SUCCESSORS,
  TARGET,
  UNDERWAY,
  WORKSPACE,
} from "./nodes.ts";
import { addNeed, append, localCopy } from "./plan-lists.ts";
import { allocateInitial, resolveBuffers } from "./plan-memory.ts";
import { planTransfer } from "./plan-transfers.ts";
import type { Planned } from "./planned.ts";
import { PRESENT } from "./problem.ts";

/** Plans what is declared up to a mark, anew. @param firstTarget Operators from this handle on count for the score. */
export function planAll(planned: Planned, declared: Mark, firstTarget: number): void {
  planned.forgetChanges();
  planned.plans = nextStamp(planned.plans, planned.runningIn);
  const { problem } = planned;
  const { operators, tensors, copies, transfers } = declared;
  planned.operators = operators;
  planned.tensors = tensors;
  planned.copies = copies;
  planned.reserve();
  planned.nodes.count = planned.nodes.edgeCount = planned.baseNodes = planned.changedHolds = 0;
  planned.transfers = planned.baseTransfers = planned.buffers = planned.ready = planned.underway = planned.raised = 0;
  planned.initialBytes.set(planned.fixedBytes);
  planned.newestPlanned.fill(-1, 0, tensors);
  planned.copyNode.fill(-1, 0, copies);
  planned.manyRanks = false;
  for (let operator = 0; operator < operators; operator++) {
    if ((problem.operatorRank[operator] as number) >= RANKS) planned.manyRanks = true;
  }
  sortByIssueNumber(planned, 0);
  const last = operators - 1;
  planned.lastIssueNumber = last < 0 ? -1 : (problem.operatorIssueNumber[planned.order[last] as number] as number);
  addOperators(planned, 0, firstTarget);
  addPresent(planned, 0);
  for (let transfer = 0; transfer < transfers; transfer++)
    addDeclared(planned, problem.transferCopy[transfer] as number);
  for (let place = 0; place < operators; place++) planInputs(planned, planned.order[place] as number);
  resolveBuffers(planned, 0);
  allocateInitial(planned, 0);
  planned.intents.clear();
  enter(planned, 0, 0);
  planned.intents.clear();
  sortReady(planned);
  planned.targets = operators - firstTarget;
  planned.overfull = overfull(planned);
}

/** First accelerator that holds more at begin than it has, −1 = none. Throws BYTES_OVERFLOW when some sum is no longer exact. */
export function overfull({ accelerators, initialBytes, capacityBytes }: Planned): number {
  for (let a = 0; a < accelerators; a++) {
    const usedBytes = initialBytes[a] as number;
    if (usedBytes > Number.MAX_SAFE_INTEGER) failBytes(a, usedBytes);
  }
  for (let a = 0; a < accelerators; a++) if ((initialBytes[a] as number) > (capacityBytes[a] as number)) return a;
  return -1;
}

/** Operators usually come in the order of their issue numbers; others are sorted. */
export function sortByIssueNumber(planned: Planned, from: number): void {
  const { order } = planned;
  const { operators } = planned;
  const { operatorIssueNumber: issueNumber } = planned.problem;
  let sorted = true;
  for (let operator = from; operator < operators; operator++) {
    order[operator] = operator;
    if (operator > from && (issueNumber[operator] as number) < (issueNumber[operator - 1] as number)) sorted = false;
  }
  // Handles break the tie of equal issue numbers, which a correct master never gives.
  if (!sorted)
    order.subarray(from, operators).sort((a, b) => (issueNumber[a] as number) - (issueNumber[b] as number) || a - b);
}

/** Nodes of operators, in order and one after the other, then of their further outputs. */
export function addOperators(planned: Planned, from: number, firstTarget: number): void {
  const { problem, nodes, order } = planned;
  for (let place = from; place < planned.operators; place++) {
    const operator = order[place] as number;
    const rank = problem.operatorRank[operator] as number;
    const remainingNs = problem.operatorRemainingNs[operator] as number;
    const node = planned.addNode(
      (problem.operatorAccelerator[operator] as number) |
        (planned.manyRanks ? 0 : rank << RANK_SHIFT) |
        (operator >= firstTarget ? TARGET : 0) |
        (remainingNs > 0 ? UNDERWAY : 0),
      operator,
      -1,
    );
    planned.operatorNode[operator] = node;
    planned.rank[node] = rank;
    nodes.f64[(node << 3) + DURATION] =
      remainingNs > 0 ? remainingNs : (problem.operatorDurationNs[operator] as number);
    nodes.f64[(node << 3) + WORKSPACE] = problem.operatorWorkspaceBytes[operator] as number;
  }
  for (let place = from; place < planned.operators; place++) addOutputs(planned, order[place] as number);
}

function addOutputs(planned: Planned, operator: number): void {
  const { problem, nodes } = planned;
  const first = planned.operatorNode[operator] as number;
  let node = first;
  for (let copy = problem.operatorFirstOutput[operator] as number; copy !== -1; ) {
    if (copy !== problem.operatorFirstOutput[operator]) {
      const next = planned.addNode((problem.operatorAccelerator[operator] as number) | COPY, -1, -1);
      nodes.i32[(node << 4) + MORE] = next;
      planned.producer[next] = first;
      node = next;
    }
    ownCopy(planned, node, copy);
    copy = problem.copyNextOutput[copy] as number;
  }
}

/** The declared copy becomes the node's own. */
function ownCopy(planned: Planned, node: number, copy: number): void {
  const { problem, nodes } = planned;
  planned.copyNode[copy] = node;
  planned.tensorOf[node] = problem.copyTensor[copy] as number;
  nodes.f64[(node << 3) + BYTES] = problem.copyBytes[copy] as number;
  if (problem.copyHeld[copy] === 1) (nodes.i32[(node << 4) + PLACE] as number) |= HELD;
}

export function addPresent(planned: Planned, from: number): void {
  const { problem } = planned;
  for (let copy = from; copy < planned.copies; copy++) {
    if (problem.copyKind[copy] !== PRESENT) continue;
    ownCopy(
      planned,
      planned.addNode((problem.copyAccelerator[copy] as number) | COPY | PRESENT_AT_BEGIN, -1, -1),
      copy,
    );
  }
}

/** Declared transfers come before those that operators ask for: whoever planned them did so before begin. */
function addDeclared(planned: Planned, copy: number): void {
  const { copyTensor, copyAccelerator, copyRank, copySource } = planned.problem;
  const tensor = copyTensor[copy] as number;
  const source = copySource[copy] as number;
  planTransfer(planned, tensor, copy, copyAccelerator[copy] as number, copyRank[copy] as number, source);
}

/** Registers an operator's uses and plans the transfers that nobody planned before it. */
export function planInputs(planned: Planned, operator: number): void {
  const { problem, nodes } = planned;
  const node = planned.operatorNode[operator] as number;
  const accelerator = problem.operatorAccelerator[operator] as number;
  const use = nextStamp(planned.uses, planned.lastUser);
  planned.uses = use;
  for (let input = problem.operatorFirstInput[operator] as number; input !== -1; ) {
    const tensor = problem.inputTensor[input] as number;
    let copy = localCopy(planned, tensor, accelerator);
    if (copy === -1) {
      const declared = planned.find(tensor, accelerator);
      const rank = problem.operatorRank[operator] as number;
      copy = planTransfer(planned, tensor, declared, accelerator, rank, problem.inputSource[input] as number);
    }
    if (planned.lastUser[copy] !== use) {
      planned.lastUser[copy] = use;
      append(planned, node, INPUTS, copy);
      addNeed(planned, copy);
      if (((nodes.i32[(copy << 4) + PLACE] as number) & PRESENT_AT_BEGIN) === 0) {
        append(planned, copy, SUCCESSORS, node);
        (nodes.i32[(node << 4) + MISSING_ALL] as number)++;
        (nodes.i32[(node << 4) + MISSING] as number)++;
      }
    }
    input = problem.inputNext[input] as number;
  }
}

/** What is under way, ready and an intent at begin, among operators and transfers from these on. */
export function enter(planned: Planned, fromOperator: number, fromTransfer: number): void {
  const { problem, nodes, order } = planned;
  for (let place = fromOperator; place < planned.operators; place++) {
    const operator = order[place] as number;
    const node = planned.operatorNode[operator] as number;
    if ((problem.operatorRemainingNs[operator] as number) > 0) enterRunning(planned, operator, node);
    else if (nodes.i32[(node << 4) + MISSING_ALL] === 0) {
      const sinceNs = problem.operatorReadySinceNs[operator] as number;
      planned.readyNode[planned.ready] = node;
      planned.readyNs[planned.ready++] = Number.isNaN(sinceNs) ? planned.beginNs : sinceNs;
    }
  }
  for (let transfer = fromTransfer; transfer < planned.transfers; transfer++)
    enterTransfer(planned, planned.transferNode[transfer] as number);
}

function enterRunning(planned: Planned, operator: number, node: number): void {
  const { nodes, problem } = planned;
  const accelerator = planned.accelerator(node);
  const missing = nodes.i32[(node << 4) + MISSING_ALL] as number;
  const isSecond = planned.runningIn[accelerator] === planned.plans;
  if (missing > 0 || isSecond) {
    const why = missing > 0 ? `misses ${missing} inputs` : "is the second that runs there";
    throw new SimulatorError("INVALID_RUNNING", `operator ${operator} on accelerator ${accelerator} ${why}`, {
      operator,
      accelerator,
      missing,
    });
  }
  planned.runningIn[accelerator] = planned.plans;
  planned.underwayNode[planned.underway++] = node;
  nodes.f64[(node << 3) + DONE] = planned.beginNs + (problem.operatorRemainingNs[operator] as number);
}

/** Those in flight hold their ports; those whose tensor is at its source are intents. */
function enterTransfer(planned: Planned, node: number): void {
  const { nodes, intents } = planned;
  const destination = planned.accelerator(node);
  const source = planned.accelerator(nodes.i32[(node << 4) + INPUTS] as number);
  if (((nodes.i32[(node << 4) + PLACE] as number) & UNDERWAY) === 0) {
    if (nodes.i32[(node << 4) + MISSING_ALL] !== 0) return;
    planned.raisedNode[planned.raised] = node;
    planned.raisedNs[planned.raised++] = raisedAtBeginNs(planned, node);
    return;
  }
  if (!intents.ports.fits(source, destination)) {
    const tensor = planned.tensorOf[node] as number;
    throw new SimulatorError(
      "PORTS_OVERCOMMITTED",
      `tensor ${tensor} in flight to accelerator ${destination} needs a port or a link that others in flight take`,
      { tensor, source, destination },
    );
  }
  intents.occupy(source, destination);
  planned.underwayNode[planned.underway++] = node;
  nodes.f64[(node << 3) + DONE] = planned.beginNs + (nodes.f64[(node << 3) + DURATION] as number);
}

/** When a transfer became an intent that is one at begin, or in flight then. */
export function raisedAtBeginNs(planned: Planned, node: number): number {
  const { problem } = planned;
  const copy = planned.find(planned.tensorOf[node] as number, planned.accelerator(node));
  const sinceNs = copy === -1 ? Number.NaN : (problem.copyRaisedNs[copy] as number);
  return Number.isNaN(sinceNs) ? planned.beginNs : sinceNs;
}

function sortReady(planned: Planned): void {
  const { ready, readyNode, readyNs } = planned;
  let sorted = true;
  for (let at = 1; at < ready; at++) if ((readyNs[at] as number) < (readyNs[at - 1] as number)) sorted = false;
  if (sorted) return;
  const sinceNs = new Map<number, number>();
  for (let at = 0; at < ready; at++) sinceNs.set(readyNode[at] as number, readyNs[at] as number);
  const sorting = [...sinceNs.entries()].sort(([a, aNs], [b, bNs]) => aNs - bNs || a - b);
  for (const [at, [node, ns]] of sorting.entries()) {
    readyNode[at] = node;
    readyNs[at] = ns;
  }
}
