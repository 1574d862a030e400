import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { RunAudit } from "./audit.ts";

const chain = [[], [0]];

/** Two instances of two operators, the second of which continues the first. */
function run(): RunAudit {
  const audit = new RunAudit();
  audit.submitted(1, chain);
  audit.submitted(2, chain, [{ operator: 0, onInstance: 1, onOperator: 1 }]);
  return audit;
}

const checks = (audit: RunAudit): string[] => audit.failures().map((failure) => failure.check);

describe("RunAudit", () => {
  test("a sound run has no failures", () => {
    const audit = run();
    let atNs = 0;
    for (const instance of [1, 2]) {
      for (const operator of [0, 1]) {
        audit.started(instance, operator, operator, atNs);
        atNs += 10;
        audit.ended(instance, operator, operator, atNs);
      }
    }
    expect(audit.failures()).toEqual([]);
    expect(audit.operatorsDone).toBe(4);
  });

  test("an operator before its predecessor, and one before another instance's", () => {
    const audit = run();
    audit.started(1, 1, 0, 0);
    expect(audit.failures()[0]?.detail).toBe(
      "operator 1 of instance 1 started at 0 ns before operator 0 of instance 1 was done",
    );
    audit.ended(1, 1, 0, 1);
    audit.started(2, 0, 0, 1);
    expect(checks(audit)).not.toContain("one at a time");
    const early = run();
    early.started(2, 0, 0, 0);
    expect(checks(early)).toContain("after its inputs");
  });

  test("an operator twice, one that never ends, one nobody submitted, an end without a start", () => {
    const twice = run();
    twice.started(1, 0, 0, 0);
    twice.ended(1, 0, 0, 1);
    twice.started(1, 0, 0, 2);
    expect(checks(twice)).toContain("exactly once");
    expect(
      run()
        .failures()
        .map((failure) => failure.detail),
    ).toEqual(["2 of 2 operators of instance 1 never ended", "2 of 2 operators of instance 2 never ended"]);
    const unknown = run();
    unknown.started(9, 0, 0, 0);
    unknown.started(1, 7, 0, 0);
    expect(checks(unknown).filter((check) => check === "known operators")).toHaveLength(2);
    const ended = run();
    ended.ended(1, 0, 0, 5);
    expect(ended.failures()[0]?.detail).toContain("ended at 5 ns without running");
  });

  test("two operators on one accelerator, and an end on another one", () => {
    const audit = new RunAudit();
    audit.submitted(1, [[], []]);
    audit.started(1, 0, 3, 0);
    audit.started(1, 1, 3, 0);
    expect(checks(audit)).toContain("one at a time");
    const moved = new RunAudit();
    moved.submitted(1, [[]]);
    moved.started(1, 0, 3, 0);
    moved.ended(1, 0, 4, 1);
    expect(checks(moved)).toEqual(["one at a time"]);
  });

  test.prop([fc.nat(7), fc.boolean()])("any event of a sound run lost or doubled is noticed", (pick, doubled) => {
    const audit = run();
    const events: (() => void)[] = [];
    for (const instance of [1, 2]) {
      for (const operator of [0, 1]) {
        events.push(() => audit.started(instance, operator, operator, 0));
        events.push(() => audit.ended(instance, operator, operator, 1));
      }
    }
    events.forEach((event, index) => {
      if (index !== pick || doubled) event();
      if (index === pick && doubled) event();
    });
    expect(audit.failures().length).toBeGreaterThan(0);
  });
});
