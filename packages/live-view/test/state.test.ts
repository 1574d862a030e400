import type { WaitingReason } from "@slicescheduler/scheduler";
import { describe, expect, test } from "vitest";
import { explanationOf } from "../src/explanation.ts";
import { fittingState, viewStateOf } from "../src/state.ts";
import { Watch } from "../src/watch.ts";
import { bytes, counted, duration, moment, waitsFor } from "../src/words.ts";
import { HOSTILE, world } from "./world.ts";

describe("words", () => {
  test("durations and bytes have three digits and a unit", () => {
    expect([0, 999, 1500, 12.34e6, 999.96e6, 59.96e9, 90e9, 4000e9].map(duration)).toEqual([
      ...["0 ns", "999 ns", "1.50 µs", "12.3 ms", "1000 ms", "60.0 s", "1.50 min", "1 h 6 min"],
    ]);
    expect([0, 999, 1000, 999_600, 80e9, 2.5e15].map(bytes)).toEqual([
      ...["0 B", "999 B", "1.00 kB", "1.00 MB", "80.0 GB", "2.50 PB"],
    ]);
    expect([12.34e6, 59.9e9, 62_003_999_999, 3_723_456e6].map(moment)).toEqual([
      ...["12.3 ms", "59.9 s", "1:02.003", "1:02:03.456"],
    ]);
    expect([counted(1, "operator"), counted(2, "operator")]).toEqual(["1 operator", "2 operators"]);
  });

  test("every reason to wait has its words", () => {
    const shortage = { accelerator: "a0", neededBytes: 2e9, availableBytes: 5e8 };
    const reasons: WaitingReason[] = [
      { why: "producers", unscheduledInputs: 2 },
      { why: "budget", accelerator: "a0", issuedOperators: 4, moreUrgentOperators: 1, budget: 4 },
      { why: "memory", cause: "room", heldBy: [1, 2, 3, 4, 5, 6, 7, 8], ...shortage },
      { why: "memory", cause: "predicted", heldBy: [], ...shortage },
      { why: "quota", tenant: "acme", quota: "placedRequestsMax", found: 3, limit: 3 },
      { why: "instance", behind: 7 },
      { why: "patience", behind: 8 },
      { why: "transfer" },
      { why: "suspect", accelerators: ["a0", "a1"] },
      { why: "next" },
    ];
    expect(reasons.map(waitsFor)).toMatchInlineSnapshot(`
      [
        "2 producers not issued yet",
        "a turn on a0: 4 of 4 issued there, 1 more urgent",
        "2.00 GB on a0, where 500 MB can be had; held by requests 1, 2, 3, 4, 5, 6 and 2 more",
        "2.00 GB on a0, where 500 MB can be had, as predicted",
        "the quota of tenant acme: placedRequestsMax is 3, and 3 are there",
        "instance 7, whose results it reads, to begin",
        "instance 8, which has waited too long for memory to be passed by",
        "a transfer that is being taken back",
        "a0, a1 to be sound again",
        "nothing: it is next",
      ]
    `);
  });
});

describe("state", () => {
  test("shows what runs, what waits for what, what was decided and why", () => {
    const { scheduler, time, busy } = world();
    const watch = new Watch(scheduler);
    busy();
    return Promise.resolve().then(() => {
      const state = viewStateOf(scheduler.overview(), watch.decisions, watch.happenings, 20);
      expect(state.accelerators.rows.map(({ key, cells }) => [key, cells[2]])).toEqual([
        ["a0", "up"],
        ["a1", "up"],
        ["a2", "absent"],
      ]);
      expect(state.accelerators.rows.map(({ bar }) => bar?.max)).toEqual([8e9, 8e9, 8e9]);
      expect(
        state.accelerators.rows.some(({ cells }) =>
          /of instance \d+ ".*" \(o.*line\), .* of about/.test(cells[4] ?? ""),
        ),
      ).toBe(true);
      expect(state.waiting.rows.length).toBeGreaterThan(0);
      expect(state.waiting.rows[0]?.cells.at(-1)).toMatch(/on a[01], where|a turn|nothing: it is next/);
      expect(state.frontier.rows.map(({ key }) => key)).toEqual(["online", "offline"]);
      expect(state.decisions.length).toBe(watch.decisions.length);
      const chosen = state.decisions.map(
        ({ candidates }) => candidates.filter((cells) => cells[3] === "chosen").length,
      );
      expect(chosen.every((count) => count === 1)).toBe(true);
      expect(JSON.stringify(state)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
      time.run();
      expect(viewStateOf(scheduler.overview(), [], [], 20).waiting).toEqual({ rows: [], more: 0 });
      watch.close();
    });
  });

  test("what goes wrong is remembered, and nothing once the watch is closed", async () => {
    const { scheduler, executor, time, submit } = world();
    const watch = new Watch(scheduler);
    submit(1e9, "x");
    time.run(10e6);
    executor.loseAccelerator("a0");
    executor.loseAccelerator("a1");
    await Promise.resolve();
    const texts = watch.happenings.map(({ text }) => text);
    expect(texts.some((text) => /accelerator a0 was lost: it was lost by request/.test(text))).toBe(true);
    expect(texts.some((text) => /instance 0 failed/.test(text))).toBe(true);
    watch.close();
    executor.returnAccelerator("a0");
    expect(watch.happenings).toHaveLength(texts.length);
    expect(scheduler.listenerCount("decision")).toBe(0);
  });

  test("an accelerator that is drained says so, in its row as among what happened, and can be resumed", async () => {
    const { scheduler, time, submit } = world();
    const watch = new Watch(scheduler);
    const row = () => viewStateOf(scheduler.overview(), [], watch.happenings, 20).accelerators.rows[1];
    submit(1e9, "x");
    time.run(10e6);
    scheduler.drainAccelerator("a1");
    expect([row()?.cells[2], row()?.accelerator]).toEqual(["draining", { name: "a1", drained: true }]);
    time.run();
    expect([row()?.cells[2], row()?.accelerator]).toEqual(["drained", { name: "a1", drained: true }]);
    await Promise.resolve();
    expect(watch.happenings.at(-1)?.text).toBe("accelerator a1 is drained");
    watch.close();
  });

  test("only the last ones are kept", () => {
    const { scheduler, time, submit } = world();
    const watch = new Watch(scheduler);
    for (let i = 0; i < 150; i++) {
      submit(1e6, "");
      time.run();
    }
    const rounds = watch.decisions.map(({ round }) => round);
    expect(rounds).toHaveLength(64);
    expect(rounds).toEqual([...rounds].sort((a, b) => a - b));
    expect(watch.decisions.at(-1)).toEqual(scheduler.explain(149)?.decisions.at(-1));
  });

  test("it is cut until it fits, whatever the labels are", () => {
    const { scheduler, time, submit } = world();
    for (let i = 0; i < 200; i++) submit(1e8, "long ".repeat(1000), i % 2 === 0 ? "online" : "offline");
    time.run(1e6);
    const stateOf = (rows: number) => viewStateOf(scheduler.overview({ rows }), [], [], rows);
    const whole = fittingState(stateOf, 100, 1e9);
    const cut = fittingState(stateOf, 100, 8192);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(8192);
    expect(JSON.parse(cut).waiting.rows.length).toBeGreaterThan(0);
    const { rows, more } = JSON.parse(cut).waiting;
    expect(rows.length + more).toBe(JSON.parse(whole).waiting.rows.length + JSON.parse(whole).waiting.more);
    expect(whole).not.toContain("long ".repeat(61));
  });

  test("an instance is explained by its operators and decisions", () => {
    const { scheduler, time, submit } = world();
    const { id } = submit(1e9, "x");
    const live = explanationOf(scheduler.explain(id) ?? expect.fail());
    expect(live.title).toMatch(/^Instance 0 of request 0: live, on (split|whole)$/);
    expect(live.operators.rows.map(({ key }) => key)).toEqual(["attention", "mlp"]);
    expect(live.decisions[0]?.title).toMatch(/instance 0, 2 operators on (split|whole), of 2 candidates/);
    time.run();
    expect(explanationOf(scheduler.explain(id) ?? expect.fail()).title).toMatch(/^Instance 0: gone/);
  });
});
