import { expect, test } from "vitest";
import { worldChoices } from "./choices.ts";
import { layoutsOf, SHAPES, transfersOf } from "./shapes.ts";

test.each(SHAPES)("$name: one layout of each kind", (shape) => {
  for (const accelerators of [1, 2, 3]) {
    // By brute force: all layouts that use every accelerator, those that differ by names only under one key.
    const kinds = new Set<string>();
    for (let number = 0; number < accelerators ** shape.reads.length; number++) {
      const layout = shape.reads.map((_, at) => Math.floor(number / accelerators ** at) % accelerators);
      if (new Set(layout).size < accelerators) continue;
      const names = [...new Set(layout)];
      kinds.add(layout.map((place) => names.indexOf(place)).join());
    }
    const layouts = layoutsOf(shape, accelerators).map((layout) => layout.join());
    expect(layouts.sort()).toEqual([...kinds].sort());
  }
});

test("a tensor that two operators read on one accelerator moves once", () => {
  const fanOut = SHAPES.find(({ name }) => name === "fanOut");
  expect(
    fanOut && [transfersOf(fanOut, [0, 1, 1]), transfersOf(fanOut, [0, 1, 2]), transfersOf(fanOut, [0, 0, 1])],
  ).toEqual([1, 2, 1]);
});

test("no world is in a set twice, and the default set has the few", () => {
  const keysOf = (set: "few" | "default") =>
    worldChoices(set).map((choice) => JSON.stringify(Object.entries(choice).sort()));
  const [few, some] = [keysOf("few"), new Set(keysOf("default"))];
  expect([new Set(few).size, some.size]).toEqual([few.length, keysOf("default").length]);
  expect(few.every((key) => some.has(key))).toBe(true);
});
