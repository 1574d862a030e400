import type { Check } from "../check.ts";
import { ALWAYS, WHERE } from "../rules.ts";

/** The backend's clock, by which a master wakes itself. */
export const clockChecks: readonly Check[] = [
  {
    rule: ALWAYS.clock.rule,
    where: WHERE.clock,
    run: async (stage) => {
      const scene = await stage.open();
      const { clock } = scene.executor;
      const times: number[] = [];
      const look = () => times.push(clock.nowNs());
      const works = Array.from({ length: 4 }, () => scene.numbers.work(0));
      scene.execute(...works);
      await scene.until(
        () => {
          look();
          return works.every(({ issueNumber }) => scene.has("operatorDone", issueNumber));
        },
        () => "ends of all operators",
      );
      for (let i = 0; i < 100; i++) look();
      const wrong = times.find((timeNs, at) => !Number.isSafeInteger(timeNs) || timeNs < (times[at - 1] ?? 0));
      scene.expect(wrong === undefined, "whole nanoseconds that do not step back", `${wrong} ns among ${times.join()}`);
      const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0];
      scene.expect(last > first, `a time after ${first} ns, as operators have run`, `${last} ns`);
    },
  },
  {
    rule: "callAt calls back once, not before its time, and never before it has returned",
    where: WHERE.clock,
    run: async (stage) => {
      const scene = await stage.open();
      const { clock } = scene.executor;
      const calls: { readonly atNs: number; readonly nowNs: number }[] = [];
      const returned: number[] = [];
      const early: number[] = [];
      const nowNs = clock.nowNs();
      for (const atNs of [nowNs + 3_000_000, nowNs, nowNs + 1_500, Math.max(nowNs - 5, 0)]) {
        clock.callAt(atNs, () => {
          if (!returned.includes(atNs)) early.push(atNs);
          calls.push({ atNs, nowNs: clock.nowNs() });
          scene.noticed();
        });
        returned.push(atNs);
      }
      scene.expect(early.length === 0, "no call before callAt has returned", `${early.length}`);
      await scene.until(
        () => calls.length >= 4,
        () => "four calls",
      );
      await scene.quiet();
      scene.expect(calls.length === 4, "one call each of four", `${calls.length}`);
      for (const call of calls)
        scene.expect(call.nowNs >= call.atNs, `a call at ${call.atNs} ns or later`, `one at ${call.nowNs} ns`);
    },
  },
  {
    rule: "what callAt returns takes the call back, as long as it has not come",
    where: WHERE.clock,
    run: async (stage) => {
      const scene = await stage.open();
      const { clock } = scene.executor;
      let calls = 0;
      let others = 0;
      const takeBack = clock.callAt(clock.nowNs() + 1_000_000, () => calls++);
      const atNs = clock.nowNs() + 2_000_000;
      const takeOtherBack = clock.callAt(atNs, () => {
        others++;
        scene.noticed();
      });
      takeBack();
      takeBack();
      await scene.until(
        () => others > 0,
        () => "the call that was not taken back",
      );
      await scene.quiet();
      takeOtherBack();
      scene.expect(calls === 0, "no call, as it was taken back", `${calls}`);
      scene.expect(others === 1, "one call", `${others}`);
    },
  },
  {
    rule: "a call in the far future does not come early",
    where: WHERE.clock,
    run: async (stage) => {
      const scene = await stage.open();
      const { clock } = scene.executor;
      const atNs = clock.nowNs() + MONTH_NS;
      let calledNs = atNs;
      const takeBack = clock.callAt(atNs, () => {
        calledNs = clock.nowNs();
      });
      await scene.quiet();
      takeBack();
      scene.expect(calledNs >= atNs, `no call before ${atNs} ns`, `one at ${calledNs} ns`);
    },
  },
  {
    rule: "callAt works from within an event and from within a call",
    where: WHERE.clock,
    run: async (stage) => {
      const scene = await stage.open();
      const { clock } = scene.executor;
      const work = scene.numbers.work(0);
      let inner = 0;
      scene.when(["operatorDone", work.issueNumber], () => {
        clock.callAt(clock.nowNs(), () =>
          clock.callAt(clock.nowNs() + 1_000, () => {
            inner++;
            scene.noticed();
          }),
        );
        return [];
      });
      scene.execute(work);
      await scene.done(work);
      await scene.until(
        () => inner > 0,
        () => "the call of a call",
      );
      await scene.quiet();
      scene.expect(inner === 1, "one call", `${inner}`);
    },
  },
];

/** Longer than 2^31 ms, at which timers of many hosts overflow. */
const MONTH_NS = 30 * 24 * 3_600 * 1e9;
