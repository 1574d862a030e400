/** What was added after `mark`, planned on top of the base, and taken away again. */
import { grown } from "./arrays.ts";
import type { Mark } from "./mark.ts";
import { ACCELERATOR, BYTES, HELD, PLACE, PRESENT_AT_BEGIN, RANKS } from "./nodes.ts";
import { addOperators, addPresent, enter, overfull, planInputs, sortByIssueNumber } from "./plan.ts";
import { localCopy } from "./plan-lists.ts";
import { allocateInitial, resolveBuffers } from "./plan-memory.ts";
import type { Planned } from "./planned.ts";
import { PRESENT, PRODUCED } from "./problem.ts";

/**
 * Plans what was added since the mark; false, with everything as before, where that would change what the base does by itself:
 * then all has to be planned anew. O(what was added, and accelerators).
 */
export function planOverlay(planned: Planned, mark: Mark): boolean {
  if (!isAddition(planned, mark)) return false;
  const { problem, nodes } = planned;
  planned.reserve();
  planned.operators = problem.operators;
  planned.tensors = problem.tensors;
  planned.copies = problem.copies;
  planned.baseOperators = mark.operators;
  planned.baseTensors = mark.tensors;
  planned.baseCopies = mark.copies;
  planned.baseNodes = nodes.count;
  planned.baseEdges = nodes.edgeCount;
  planned.baseTransfers = planned.transfers;
  planned.baseBuffers = planned.buffers;
  planned.baseReady = planned.ready;
  planned.baseRaised = planned.raised;
  planned.baseBytes.set(planned.initialBytes);
  planned.newestPlanned.fill(-1, mark.tensors, problem.tensors);
  planned.copyNode.fill(-1, mark.copies, problem.copies);
  try {
    if (!addAll(planned, mark)) {
      dropOverlay(planned);
      return false;
    }
  } catch (error) {
    dropOverlay(planned);
    throw error;
  }
  planned.targets = problem.operators - mark.operators;
  return true;
}

/** False where it turns out to be more than an addition. */
function addAll(planned: Planned, mark: Mark): boolean {
  sortByIssueNumber(planned, mark.operators);
  addOperators(planned, mark.operators, mark.operators);
  addPresent(planned, mark.copies);
  for (let place = mark.operators; place < planned.operators; place++) {
    const operator = planned.order[place] as number;
    if (!readsOnly(planned, mark, operator)) return false;
    planInputs(planned, operator);
  }
  if (!changeHolds(planned)) return false;
  resolveBuffers(planned, mark.copies);
  allocateInitial(planned, planned.baseNodes);
  enter(planned, mark.operators, planned.baseTransfers);
  planned.overfull = overfull(planned);
  return true;
}

/**
 * Holds of the base's copies as they are now. What is freed at begin by that is taken off the bytes there; false where it shares a
 * buffer, or where a copy that had gone would be there again.
 */
function changeHolds(planned: Planned): boolean {
  const { problem, nodes, initialBytes } = planned;
  for (let at = 0; at < problem.changedHolds; at++) {
    const copy = problem.changedCopy[at] as number;
    const node = planned.copyNode[copy] as number;
    if (node === -1 || problem.copyHeld[copy] === problem.changedHeld[at]) continue;
    const place = nodes.i32[(node << 4) + PLACE] as number;
    const wasNeeded = planned.isNeeded(node);
    planned.write(node, PLACE, place ^ HELD);
    planned.changedNode = grown(planned.changedNode, planned.changedHolds + 1);
    planned.changedNode[planned.changedHolds++] = node;
    if ((place & PRESENT_AT_BEGIN) === 0 || planned.isNeeded(node) === wasNeeded) continue;
    if (!wasNeeded || planned.isShared(node)) return false;
    (initialBytes[place & ACCELERATOR] as number) -= nodes.f64[(node << 3) + BYTES] as number;
  }
  return true;
}

/** The base alone again. Nothing happens when no overlay is there. */
export function dropOverlay(planned: Planned): void {
  if (planned.baseNodes === 0) return;
  planned.undo();
  planned.operators = planned.baseOperators;
  planned.tensors = planned.baseTensors;
  planned.copies = planned.baseCopies;
  planned.nodes.count = planned.baseNodes;
  planned.nodes.edgeCount = planned.baseEdges;
  planned.transfers = planned.baseTransfers;
  planned.buffers = planned.baseBuffers;
  planned.ready = planned.baseReady;
  planned.raised = planned.baseRaised;
  planned.initialBytes.set(planned.baseBytes);
  planned.targets = 0;
  planned.changedHolds = 0;
  planned.overfull = overfull(planned);
  planned.baseNodes = 0;
}

/** New operators behind all of the base that neither run yet nor became ready earlier, new tensors and holds; nothing else. */
function isAddition(planned: Planned, mark: Mark): boolean {
  const { problem } = planned;
  if (planned.manyRanks || planned.nodes.count === 0 || problem.transfers > mark.transfers) return false;
  for (let operator = mark.operators; operator < problem.operators; operator++) {
    if ((problem.operatorIssueNumber[operator] as number) <= planned.lastIssueNumber) return false;
    if ((problem.operatorRank[operator] as number) >= RANKS) return false;
    if ((problem.operatorRemainingNs[operator] as number) > 0) return false;
    if (!Number.isNaN(problem.operatorReadySinceNs[operator])) return false;
  }
  for (let copy = mark.copies; copy < problem.copies; copy++) {
    const kind = problem.copyKind[copy];
    if (kind === PRODUCED) continue;
    const tensor = problem.copyTensor[copy] as number;
    if (kind === PRESENT && (tensor < mark.tensors || problem.copyAliases[copy] !== -1)) return false;
    // What a transfer of the base brings was not declared there when that was planned.
    if (tensor < mark.tensors && localCopy(planned, tensor, problem.copyAccelerator[copy] as number) !== -1)
      return false;
  }
  return true;
}

/** What it reads of the base is allocated or will be, and no transfer of the base changes its number by that. */
function readsOnly(planned: Planned, mark: Mark, operator: number): boolean {
  const { problem } = planned;
  const accelerator = problem.operatorAccelerator[operator] as number;
  for (let input = problem.operatorFirstInput[operator] as number; input !== -1; ) {
    const tensor = problem.inputTensor[input] as number;
    if (tensor < mark.tensors) {
      const copy = localCopy(planned, tensor, accelerator);
      // Declared in the base, where no transfer brings it.
      if (copy === -1 && problem.find(tensor, accelerator, mark.copies) !== -1) return false;
      const read = copy === -1 ? sourceOf(planned, tensor, problem.inputSource[input] as number) : copy;
      if (read !== -1 && isPresentCopy(planned, read) && !planned.isNeeded(read)) return false;
    }
    input = problem.inputNext[input] as number;
  }
  return true;
}

function sourceOf(planned: Planned, tensor: number, wanted: number): number {
  const copy = wanted === -1 ? (planned.problem.tensorHome[tensor] as number) : planned.find(tensor, wanted);
  return copy === -1 ? -1 : (planned.copyNode[copy] as number);
}

function isPresentCopy({ baseNodes, nodes }: Planned, node: number): boolean {
  return node < baseNodes && ((nodes.i32[(node << 4) + PLACE] as number) & PRESENT_AT_BEGIN) !== 0;
}
