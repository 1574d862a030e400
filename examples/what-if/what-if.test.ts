import { expect, test } from "vitest";
import { admit, finish, plan } from "./what-if.ts";

test("what would delay others too much is put off, and what was planned for the rest comes true", () => {
  // Four pairs of accelerators: four prompts delay nobody, a fifth shares a pair with one of them.
  const alone = admit([400, 300, 200, 400, 300], 0);
  expect(alone.admitted).toHaveLength(4);
  expect(plan().instances.map(({ endNs }) => endNs)).toEqual(alone.predictedNs);
  const shared = admit([300], 1e9);
  expect(shared.admitted).toHaveLength(1);
  const planned = plan();
  expect(planned.stopped).toBe("settled");
  expect(planned.instances.at(-1)?.endNs).toBe(shared.predictedNs[0]);
  // The fifth has delayed somebody.
  expect(planned.instances.map(({ endNs }) => endNs)).not.toEqual([...alone.predictedNs, ...shared.predictedNs]);
  // The virtual accelerators take what their specifications declare, which is what is predicted before anything was observed.
  const ends = finish();
  expect(planned.instances.map(({ instance, endNs }) => [instance, endNs])).toEqual(
    planned.instances.map(({ instance }) => [instance, ends.get(instance)]),
  );
  expect(plan().instances).toEqual([]);
});
