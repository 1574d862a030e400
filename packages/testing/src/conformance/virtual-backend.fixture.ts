import { type EventTime, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import type { ConformanceBackend } from "./types.ts";

/** The virtual executor as the conformance suite takes it. Its time is simulated and goes on by `step`, unless another one is given that passes by itself. */
export function virtualBackend(time?: EventTime, durationNs: (number: number) => number = usualNs): ConformanceBackend {
  const simulated = time === undefined ? new SimulatedTime() : null;
  const executor = virtualExecutor({
    seed: 1,
    operatorNs: ({ issueNumber }) => durationNs(issueNumber),
    transferNs: ({ transfer }) => durationNs(transfer),
    time: time ?? simulated ?? new SimulatedTime(),
  });
  return {
    executor,
    ...(simulated === null ? {} : { step: () => simulated.step() }),
    failOperator: (issueNumber) => executor.failOperator(issueNumber),
    failTransfer: (transfer) => executor.failTransfer(transfer),
    loseAccelerator: (accelerator) => executor.loseAccelerator(accelerator),
    returnAccelerator: (accelerator) => executor.returnAccelerator(accelerator),
  };
}

function usualNs(number: number): number {
  return 20_000 + 3_000 * (number % 7);
}
