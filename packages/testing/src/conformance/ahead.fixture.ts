import {
  type ExecutorEvent,
  type ExecutorManifest,
  type IssueInstruction,
  virtualExecutor,
} from "@slicescheduler/executor";
import { relayedExecutor } from "../relayed-executor.ts";
import type { ConformanceBackend } from "./types.ts";
import { virtualBackend } from "./virtual-backend.fixture.ts";

/** Events that may be on their way. */
const LAG = 3;

/** Of an accelerator that returns, the virtual executor believes at once that the master has heard; here it has not. */
export const aheadManifest: ExecutorManifest = {
  ...virtualExecutor({ seed: 1 }).manifest,
  runsAhead: true,
  losesAccelerators: false,
  probes: false,
};

/**
 * The virtual executor, whose events are some steps behind what it does.
 * @param change What becomes of an issue on its way to it. Default: nothing.
 */
export function aheadBackend(
  change: (issue: IssueInstruction) => IssueInstruction = (issue) => issue,
): ConformanceBackend {
  const backend = virtualBackend();
  const line: ExecutorEvent[] = [];
  const held = new Set<number>();
  let hand: (event: ExecutorEvent) => void = () => {};
  /** An operator that is held runs: time stands still. */
  let isHeld = false;
  const executor = relayedExecutor(backend.executor, {
    execute: (instructions, pass) => pass(instructions.map((each) => (each.type === "issue" ? change(each) : each))),
    deliver: (event, pass) => {
      hand = pass;
      line.push(event);
      if (event.type === "operatorStarted" && held.has(event.issueNumber)) isHeld = true;
    },
    close: () => {
      line.length = 0;
    },
  });
  const step = async () => {
    const isAhead = line.length < LAG && !isHeld && (await backend.step?.()) === true;
    if (isAhead) return true;
    const event = line.shift();
    if (event !== undefined) hand(event);
    return event !== undefined;
  };
  const holdOperator = (issueNumber: number) => {
    held.add(issueNumber);
    return () => {
      held.delete(issueNumber);
      isHeld = false;
    };
  };
  const { failOperator, failTransfer } = backend;
  return {
    executor: { ...executor, manifest: aheadManifest },
    step,
    holdOperator,
    ...(failOperator && { failOperator }),
    ...(failTransfer && { failTransfer }),
  };
}
