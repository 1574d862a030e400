/** What is read from the nodes after a run. */
import type { Evaluation } from "./evaluation.ts";
import { COPY, DONE, DURATION, INPUTS, PLACE, PRESENT_AT_BEGIN, UNDERWAY } from "./nodes.ts";
import { raisedAtBeginNs } from "./plan.ts";
import type { Planned } from "./planned.ts";
import type { HbmSample, OutOfMemory, SimOperator, SimTensor, SimulatedTransfer } from "./types.ts";

/** When a node ended; NaN when it did not. */
export function doneNs({ nodes }: Planned, { unfinished }: Evaluation, node: number): number {
  return unfinished.has(node) ? Number.NaN : (nodes.f64[(node << 3) + DONE] as number);
}

/** NaN when it did not start. One under way at begin: an operator when it must have started, a transfer at begin. */
export function startNs(planned: Planned, node: number): number {
  const { nodes, problem, beginNs } = planned;
  const operator = planned.operatorOf[node] as number;
  if (((nodes.i32[(node << 4) + PLACE] as number) & UNDERWAY) === 0)
    return (nodes.f64[(node << 3) + DONE] as number) - (nodes.f64[(node << 3) + DURATION] as number);
  if (operator === -1) return beginNs;
  const startedNs =
    beginNs + (problem.operatorRemainingNs[operator] as number) - (problem.operatorDurationNs[operator] as number);
  return Math.min(startedNs, beginNs);
}

/** Since when a node's own copy is there; NaN when it did not come to be. What is present at begin is since then. */
export function presentNs(planned: Planned, evaluation: Evaluation, node: number): number {
  const place = planned.nodes.i32[(node << 4) + PLACE] as number;
  if ((place & PRESENT_AT_BEGIN) !== 0) return planned.beginNs;
  return doneNs(planned, evaluation, (place & COPY) === 0 ? node : (planned.producer[node] as number));
}

/** When a transfer became an intent; NaN when it did not. */
export function raisedNs(planned: Planned, evaluation: Evaluation, node: number): number {
  const { i32 } = planned.nodes;
  const sent = i32[(node << 4) + INPUTS] as number;
  const atBegin =
    ((i32[(node << 4) + PLACE] as number) & UNDERWAY) !== 0 ||
    ((i32[(sent << 4) + PLACE] as number) & PRESENT_AT_BEGIN) !== 0;
  return atBegin ? raisedAtBeginNs(planned, node) : presentNs(planned, evaluation, sent);
}

export function transfersOf(planned: Planned, evaluation: Evaluation): readonly SimulatedTransfer[] {
  const { nodes, problem, transfers, transferNode } = planned;
  return Array.from({ length: transfers }, (_, transfer) => {
    const node = transferNode[transfer] as number;
    const tensor = planned.tensorOf[node] as number;
    return {
      transfer,
      tensor: tensor as SimTensor,
      source: planned.accelerator(nodes.i32[(node << 4) + INPUTS] as number),
      destination: planned.accelerator(node),
      bytes: problem.tensorBytes[tensor] as number,
      raisedNs: raisedNs(planned, evaluation, node),
      startNs: startNs(planned, node),
      doneNs: doneNs(planned, evaluation, node),
    };
  });
}

export function hbmTimelineOf({ run }: Evaluation, accelerator: number): readonly HbmSample[] {
  const samples: HbmSample[] = [];
  let last = -1;
  for (let at = 0; at < run.samples; at++) {
    const usedBytes = run.sampleBytes[at] as number;
    if (run.sampleAccelerator[at] !== accelerator || usedBytes === last) continue;
    samples.push({ atNs: run.sampleNs[at] as number, usedBytes });
    last = usedBytes;
  }
  return samples;
}

/** Transfer numbers ascend with nodes; −1 for what is no transfer. O(log transfers). */
export function transferNumber({ transferNode, transfers }: Planned, node: number): number {
  let low = 0;
  let high = transfers;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((transferNode[middle] as number) < node) low = middle + 1;
    else high = middle;
  }
  return low < transfers && transferNode[low] === node ? low : -1;
}

export function outOfMemoryOf(planned: Planned, { run }: Evaluation): OutOfMemory | null {
  const { failedAccelerator: accelerator, failedNode: node } = run;
  if (accelerator === -1) return null;
  return {
    accelerator,
    atNs: run.nowNs,
    operator: node === -1 ? -1 : (planned.operatorOf[node] as SimOperator | -1),
    transfer: node === -1 ? -1 : transferNumber(planned, node),
    bytesOver: (run.usedBytes[accelerator] as number) - (planned.capacityBytes[accelerator] as number),
  };
}
