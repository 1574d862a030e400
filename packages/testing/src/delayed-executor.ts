import { EVENT_KIND, type Executor, type SimulatedTime } from "@slicescheduler/executor";
import fc from "fast-check";
import { unitOf } from "./hash.ts";
import { relayedExecutor } from "./relayed-executor.ts";

/** How long messages between a master and its executor are on their way, as plain data. */
export interface Delays {
  readonly seed: number;
  /** Of instructions, at most. */
  readonly toExecutorNsMax: number;
  /** Of events, at most. */
  readonly toMasterNsMax: number;
}

/** From none to ten times what operators usually take, in one direction or both. */
export function delays(): fc.Arbitrary<Delays> {
  const nsMax = fc.oneof(fc.constant(0), fc.nat({ max: 5 }), fc.nat({ max: 200 }));
  return fc.record({ seed: fc.nat(), toExecutorNsMax: nsMax, toMasterNsMax: nsMax });
}

/** Messages come after everything else of their instant. */
const MESSAGE_KIND = EVENT_KIND.application + 1;

/**
 * The executor at the far end of a line: each batch of instructions and each event arrives after a delay of its own, none before
 * one that was sent earlier in the same direction. Whatever the executor throws comes out of the clock.
 */
export function delayedExecutor(executor: Executor, time: SimulatedTime, delays: Delays): Executor {
  const { seed, toExecutorNsMax, toMasterNsMax } = delays;
  let isClosed = false;
  const line = (direction: number, nsMax: number) => {
    let sent = 0;
    let latestNs = 0;
    return (arrive: () => void) => {
      const number = sent++;
      const delayNs = Math.floor((nsMax + 1) * unitOf(seed, direction, number));
      latestNs = Math.max(latestNs, time.nowNs() + delayNs);
      time.at(latestNs, { kind: MESSAGE_KIND + direction, number }, () => {
        if (!isClosed) arrive();
      });
    };
  };
  const toExecutor = line(0, toExecutorNsMax);
  const toMaster = line(1, toMasterNsMax);
  return relayedExecutor(executor, {
    execute: (instructions, pass) => toExecutor(() => pass(instructions)),
    deliver: (event, pass) => toMaster(() => pass(event)),
    close: () => {
      isClosed = true;
    },
  });
}
