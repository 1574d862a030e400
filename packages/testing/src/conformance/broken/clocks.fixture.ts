import type { Clock } from "@slicescheduler/executor";
import { ALWAYS } from "../rules.ts";
import { type BrokenBackend, withClock } from "./kit.fixture.ts";

export const BROKEN_CLOCKS: readonly BrokenBackend[] = [
  {
    fault: "has a clock that steps back",
    check: `clock: ${ALWAYS.clock.rule}`,
    rule: ALWAYS.clock.rule,
    seen: /clock.nowNs\(\) is 28999/,
    create: withClock((clock) => {
      let looks = 0;
      return { ...same(clock), nowNs: () => Math.max(0, clock.nowNs() - (looks++ % 2)) };
    }),
  },
  {
    fault: "has a clock that stands still",
    check: `clock: ${ALWAYS.clock.rule}`,
    rule: ALWAYS.observed.rule,
    seen: /observed 29000 ns/,
    create: withClock((clock) => ({ ...same(clock), nowNs: () => 0 })),
  },
  {
    fault: "calls back at once where the time has passed",
    check: "clock: callAt calls back once, not before its time, and never before it has returned",
    seen: /^[1-4]$/,
    create: withClock((clock) => ({
      ...same(clock),
      callAt: (atNs, callback) => {
        if (atNs > clock.nowNs()) return clock.callAt(atNs, callback);
        callback();
        return () => {};
      },
    })),
  },
  {
    fault: "calls back twice",
    check: "clock: callAt calls back once, not before its time, and never before it has returned",
    seen: /^8$/,
    create: withClock((clock) => ({
      ...same(clock),
      callAt: (atNs, callback) => {
        clock.callAt(atNs, callback);
        return clock.callAt(atNs, callback);
      },
    })),
  },
  {
    fault: "takes no call back",
    check: "clock: what callAt returns takes the call back, as long as it has not come",
    seen: /^1$/,
    create: withClock((clock) => ({
      ...same(clock),
      callAt: (atNs, callback) => {
        clock.callAt(atNs, callback);
        return () => {};
      },
    })),
  },
  {
    fault: "has timers that overflow",
    check: "clock: a call in the far future does not come early",
    seen: /one at/,
    create: withClock((clock) => ({
      ...same(clock),
      callAt: (atNs, callback) => clock.callAt(atNs - clock.nowNs() > 2 ** 31 * 1e6 ? clock.nowNs() : atNs, callback),
    })),
  },
];

function same(clock: Clock): Clock {
  return { nowNs: () => clock.nowNs(), callAt: (atNs, callback) => clock.callAt(atNs, callback) };
}
