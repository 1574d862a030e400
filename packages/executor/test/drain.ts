import { type ClusterSpec, compileCluster } from "@slicescheduler/templates";
import { ExecutorCore, type ExecutorEvent } from "../src/index.ts";
import { cluster, register } from "./world.ts";

export function newCore(spec: ClusterSpec = cluster, onFreed?: (tensor: number, accelerator: number) => void) {
  const core = new ExecutorCore(compileCluster(spec), onFreed === undefined ? {} : { onFreed });
  core.execute([register], 0);
  return core;
}

/** Everything there is to do, as short words. */
export function drain(core: ExecutorCore, nowNs = 0): string[] {
  const done: string[] = [];
  for (let action = core.next(nowNs); action !== undefined; action = core.next(nowNs)) {
    if (action.type === "startOperator") done.push(`run ${action.instruction.issueNumber}`);
    else if (action.type === "startTransfer") done.push(`move ${action.transfer.transfer}`);
    else done.push(`${action.event.type} ${subjectOf(action.event)}`);
  }
  core.validate();
  return done;
}

/** What an event is about: the number of an issue, a transfer, or an accelerator; several, with commas. */
export function subjectOf(event: ExecutorEvent): number | string {
  if ("issueNumber" in event) return event.issueNumber;
  if ("transfer" in event) return event.transfer;
  return "transfers" in event ? event.transfers.join() : event.accelerator;
}
