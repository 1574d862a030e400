import {
  type EventTime,
  type Executor,
  type FaultCounts,
  FaultyLine,
  type MessageFaults,
} from "@slicescheduler/executor";
import { relayedExecutor } from "./relayed-executor.ts";

/** The executor at the far end of a line on which events are lost, late, doubled or overtaken; instructions arrive at once. */
export function faultyMessages(
  executor: Executor,
  time: EventTime,
  faults: MessageFaults,
  seed: number,
): { readonly executor: Executor; readonly counts: () => FaultCounts } {
  let hand: Parameters<Executor["open"]>[0]["deliver"] = () => {};
  const line = new FaultyLine(faults, seed, time, (event) => hand(event));
  return {
    executor: relayedExecutor(executor, {
      execute: (instructions, pass) => {
        line.instructed(instructions);
        pass(instructions);
      },
      deliver: (event, pass) => {
        hand = pass;
        line.send(event);
      },
      close: () => line.close(),
    }),
    counts: () => line.tally.counts,
  };
}
