/** What was added after `mark`, planned on top of the base, and taken away again. */

import type { Mark } from "./mark.ts";
import { PLACE, PRESENT_AT_BEGIN, RANKS } from "./nodes.ts";
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
    sortByIssueNumber(planned, mark.operators);
    addOperators(planned, mark.operators, mark.operators);
    addPresent(planned, mark.copies);
    for (let place = mark.operators; place < planned.operators; place++) {
      const operator = planned.order[place] as number;
      if (!readsOnly(planned, mark, operator)) {
        dropOverlay(planned);
        return false;
      }
      planInputs(planned, operator);
    }
    resolveBuffers(planned, mark.copies);
    allocateInitial(planned, planned.baseNodes);
    enter(planned, mark.operators, planned.baseTransfers);
    planned.overfull = overfull(planned);
  } catch (error) {
    dropOverlay(planned);
    throw error;
  }
  planned.targets = problem.operators - mark.operators;
  return true;
}

/** The base alone again. Nothing happens when no overlay is there. */
export function dropOverlay(planned: Planned): void {
  if (planned.baseNodes === 0) return;
  planned.undo();
  planned.operators = planned.baseOperators;
  planned.nodes.count = planned.baseNodes;
  planned.nodes.edgeCount = planned.baseEdges;
  planned.transfers = planned.baseTransfers;
  planned.buffers = planned.baseBuffers;
  planned.ready = planned.baseReady;
  planned.raised = planned.baseRaised;
  planned.initialBytes.set(planned.baseBytes);
  planned.targets = 0;
  planned.overfull = overfull(planned);
  planned.baseNodes = 0;
}

/** New operators behind all of the base that neither run yet nor became ready earlier, and new tensors; nothing else. */
function isAddition(planned: Planned, mark: Mark): boolean {
  const { problem } = planned;
  if (planned.manyRanks || planned.nodes.count === 0) return false;
  for (let operator = mark.operators; operator < problem.operators; operator++) {
    if ((problem.operatorIssueNumber[operator] as number) <= planned.lastIssueNumber) return false;
    if ((problem.operatorRank[operator] as number) >= RANKS) return false;
    if ((problem.operatorRemainingNs[operator] as number) > 0) return false;
    if (!Number.isNaN(problem.operatorReadySinceNs[operator])) return false;
  }
  for (let copy = mark.copies; copy < problem.copies; copy++) {
    const kind = problem.copyKind[copy];
    if (kind === PRODUCED) continue;
    const isNew = (problem.copyTensor[copy] as number) >= mark.tensors;
    if (kind !== PRESENT || !isNew || problem.copyAliases[copy] !== -1) return false;
    if ((planned.usedBytes[problem.copyAccelerator[copy] as number] as number) > 0) return false;
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
      if (copy === -1 && problem.find(tensor, accelerator) !== -1) return false;
      if (copy >= planned.firstUnasked && copy < planned.endUnasked) return false;
      const read = copy === -1 ? sourceOf(planned, tensor, problem.inputSource[input] as number) : copy;
      if (read !== -1 && isPresentCopy(planned, read) && !planned.isNeeded(read)) return false;
    }
    input = problem.inputNext[input] as number;
  }
  return true;
}

function sourceOf({ problem, copyNode }: Planned, tensor: number, wanted: number): number {
  const copy = wanted === -1 ? (problem.tensorHome[tensor] as number) : problem.find(tensor, wanted);
  return copy === -1 ? -1 : (copyNode[copy] as number);
}

function isPresentCopy({ baseNodes, nodes }: Planned, node: number): boolean {
  return node < baseNodes && ((nodes.i32[(node << 4) + PLACE] as number) & PRESENT_AT_BEGIN) !== 0;
}
