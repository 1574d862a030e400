import type { Problem } from "./problem.ts";
import type { RunState } from "./run-state.ts";
import type { HbmSample, SimTensor, SimulatedTransfer } from "./types.ts";

export function transfersOf(problem: Problem, run: RunState): readonly SimulatedTransfer[] {
  return Array.from({ length: run.transfers }, (_, transfer) => {
    const tensor = run.transferTensor[transfer] as number;
    return {
      transfer,
      tensor: tensor as SimTensor,
      source: problem.copyAccelerator[run.transferSource[transfer] as number] as number,
      destination: problem.copyAccelerator[run.transferDestination[transfer] as number] as number,
      bytes: problem.tensorBytes[tensor] as number,
      raisedNs: run.transferRaisedNs[transfer] as number,
      startNs: run.transferStartNs[transfer] as number,
      doneNs: run.transferDoneNs[transfer] as number,
    };
  });
}

export function hbmTimelineOf(run: RunState, accelerator: number): readonly HbmSample[] {
  const samples: HbmSample[] = [];
  if (!run.keepsTimeline) return samples;
  let last = -1;
  for (let at = 0; at < run.samples; at++) {
    const usedBytes = run.sampleBytes[at] as number;
    if (run.sampleAccelerator[at] !== accelerator || usedBytes === last) continue;
    samples.push({ atNs: run.sampleNs[at] as number, usedBytes });
    last = usedBytes;
  }
  return samples;
}
