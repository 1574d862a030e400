import { expect, test } from "vitest";
import { answer, offers, plan, table, trace } from "./capacity-planning.ts";

test("the cheapest cluster that keeps the service level, and why the cheaper ones do not", () => {
  const rows = trace();
  expect(rows.length).toBeGreaterThan(10);
  const level = { ttftMs: 8000, share: 0.9 };
  const assessments = plan(rows, level, offers([2, 4, 8], [8, 24]));
  const found = answer(assessments);
  if (process.env["SHOW"] !== undefined) console.log(table(assessments));
  expect(found?.attainment).toBeGreaterThanOrEqual(level.share);
  for (const { offer, why } of assessments) {
    if (found !== undefined && offer.price < found.offer.price) expect(why).not.toBe("enough");
    // Sixteen gigabytes of weights on two accelerators leave nothing of eight for anything else.
    if (offer.hbmBytes === 8e9) expect(why).toBe("the model does not fit");
  }
  // Two accelerators cannot keep up, so that the answer is not simply the smallest.
  expect(assessments.find(({ offer }) => offer.accelerators === 2 && offer.hbmBytes === 24e9)?.why).toBe("too slow");
  expect(table(assessments).split("\n")).toHaveLength(1 + assessments.length);
});
