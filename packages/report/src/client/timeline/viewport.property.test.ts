import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { tickStepNs, ticks } from "./ticks.ts";
import { between, movedTo, panned, revealing, type Viewport, wholeRun, zoomed } from "./viewport.ts";

const spanNs = fc.integer({ min: 1, max: 4e12 });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("zoom" as const),
      at: share,
      factor: fc.double({ min: 0.01, max: 20, noNaN: true }),
    }),
    fc.record({ kind: fc.constant("pan" as const), by: fc.double({ min: -3, max: 3, noNaN: true }) }),
    fc.record({ kind: fc.constant("move" as const), to: fc.double({ min: -1, max: 2, noNaN: true }) }),
    fc.record({ kind: fc.constant("between" as const), a: share, b: share }),
  ),
  { maxLength: 20 },
);

test.prop([spanNs, steps])("whatever is done, a stretch of the run is shown", (span, list) => {
  let view: Viewport = wholeRun(span);
  for (const step of list) {
    const lengthNs = view.toNs - view.fromNs;
    if (step.kind === "zoom") view = zoomed(view, view.fromNs + step.at * lengthNs, step.factor);
    else if (step.kind === "pan") view = panned(view, step.by);
    else if (step.kind === "move") view = movedTo(view, step.to * span);
    else view = between(view, step.a * span, step.b * span);
    expect(view.fromNs).toBeGreaterThanOrEqual(0);
    expect(view.toNs).toBeLessThanOrEqual(span * (1 + 1e-9));
    expect(view.toNs - view.fromNs).toBeGreaterThanOrEqual(Math.min(1000, span) * (1 - 1e-3));
  }
});

test("what is pointed at stays where it is", () => {
  const view = between(wholeRun(1e12), 4e11, 6e11);
  const closer = zoomed(view, 4.5e11, 0.5);
  expect([closer.fromNs, closer.toNs]).toEqual([4.25e11, 5.25e11]);
});

test.prop([spanNs, share, share, share, share])(
  "an operator that is revealed is in view, as far as it fits",
  (span, a, b, c, d) => {
    const view = between(wholeRun(span), a * span, b * span);
    const startNs = Math.min(c, d) * span;
    const endNs = Math.max(c, d) * span;
    const found = revealing(view, startNs, endNs);
    const lengthNs = found.toNs - found.fromNs;
    const slack = span * 1e-9 + 1e-6;
    expect(startNs).toBeGreaterThanOrEqual(found.fromNs - slack);
    expect(startNs).toBeLessThanOrEqual(found.toNs + slack);
    if (endNs - startNs <= 0.8 * lengthNs) expect(endNs).toBeLessThanOrEqual(found.toNs + slack);
  },
);

test.prop([
  fc.double({ min: 0, max: 4e12, noNaN: true }),
  fc.double({ min: 10, max: 4e12, noNaN: true }),
  fc.integer({ min: 2, max: 30 }),
])("an axis has few marks, evenly spaced, within the stretch", (fromNs, lengthNs, count) => {
  const stepNs = tickStepNs(lengthNs, count);
  const marks = ticks(fromNs, fromNs + lengthNs, stepNs);
  expect(marks.length).toBeLessThanOrEqual(count + 1);
  for (const mark of marks) expect(mark / stepNs).toBeCloseTo(Math.round(mark / stepNs), 6);
});

test("steps read like a clock above a second", () => {
  expect([1800e9, 300e9, 10e9, 1e9, 2e6].map((lengthNs) => tickStepNs(lengthNs, 10))).toEqual([
    300e9, 30e9, 1e9, 0.1e9, 2e5,
  ]);
});
