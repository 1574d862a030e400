import { type EventTime, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { InjectedFault, tolerateInjected } from "../faults.ts";
import { relayedExecutor } from "../relayed-executor.ts";
import type { ConformanceBackend } from "./types.ts";

/**
 * The virtual executor as the conformance suite takes it. Its time is simulated and goes on by `step`, unless another one is given
 * that passes by itself; whatever drives that has to let an `InjectedFault` go, which the virtual executor reports and then throws as well.
 */
export function virtualBackend(time?: EventTime, durationNs: (number: number) => number = usualNs): ConformanceBackend {
  const simulated = time === undefined ? new SimulatedTime() : null;
  const failing = new Set<string>();
  const truth = (what: string, durationNs: number) => {
    if (failing.has(what)) throw new InjectedFault(what);
    return durationNs;
  };
  const device = virtualExecutor({
    seed: 1,
    operatorNs: ({ issueNumber }) => truth(`issue ${issueNumber}`, durationNs(issueNumber)),
    transferNs: ({ transfer }) => truth(`transfer ${transfer}`, durationNs(transfer)),
    time: time ?? simulated ?? new SimulatedTime(),
  });
  const executor = relayedExecutor(device, {
    execute: (instructions, pass) => tolerateInjected(() => pass(instructions), undefined),
  });
  return {
    executor,
    ...(simulated === null ? {} : { step: () => tolerateInjected(() => simulated.step(), true) }),
    failOperator: (issueNumber) => failing.add(`issue ${issueNumber}`),
    failTransfer: (transfer) => failing.add(`transfer ${transfer}`),
    loseAccelerator: (accelerator) => device.loseAccelerator(accelerator),
    returnAccelerator: (accelerator) => device.returnAccelerator(accelerator),
  };
}

function usualNs(number: number): number {
  return 20_000 + 3_000 * (number % 7);
}
