import { describe, expect, test } from "vitest";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

/** Two stages with a weight each and one that they share, on the same accelerators in four layouts. */
const stages = of(
  [
    { outputs: { o: u8(20) }, weights: { w0: 100, shared: 7 } },
    { inputs: ["op0.o"], outputs: { o: u8(30) }, weights: { w1: 200, shared: 7 } },
  ],
  {
    inputs: { note: u8(0) },
    outputs: { o: "op1.o", between: "op0.o" },
    partitions: [
      { name: "forth", accelerators: ["a", "b"], layout: [0, 1] },
      { name: "back", accelerators: ["a", "b"], layout: [1, 0] },
      { name: "turned", accelerators: ["b", "a"], layout: [0, 0] },
      { name: "left", accelerators: ["a", "b"], layout: [0, 0] },
    ],
  },
);

describe("several layouts of the same accelerators", () => {
  test.each([
    ["forth", [0, 1], [20, 50]],
    ["back", [1, 0], [50, 20]],
    ["turned", [1, 1], [0, 50]],
    ["left", [0, 0], [50, 0]],
  ])("%s puts operators on %j and claims %j", (name, places, claim) => {
    const play = new Playground();
    const { graph } = play;
    graph.registerTemplate(stages);
    // Every layout is possible, so every weight is everywhere, once for all that name it.
    expect([graph.ledger.fixedBytes(0), graph.ledger.fixedBytes(1)]).toEqual([307, 307]);
    const request = play.open();
    const { operators } = play.submit(request, { retain: ["o"] });
    for (const operator of operators) {
      expect(play.issue(operator, name)).toBe(true);
      play.finish(operator);
    }
    expect(operators.map(({ accelerator }) => accelerator)).toEqual(places);
    expect([graph.ledger.peakBytes(0), graph.ledger.peakBytes(1)].map((bytes) => bytes - 307)).toEqual(claim);
    graph.releaseOutput(0, "o");
    graph.closeRequest(request);
    expect(graph.counts()).toEqual(EMPTY);
  });

  test("another template that names the same weights adds none; of another size they are refused", () => {
    const { graph } = new Playground();
    graph.registerTemplate(stages);
    graph.registerTemplate({ ...stages, name: "again" });
    expect(graph.ledger.fixedBytes(0)).toBe(307);
    const other = stages.operators.map((operator) => ({ ...operator, weights: { shared: 8 } }));
    expect(() => graph.registerTemplate({ ...stages, name: "other", operators: other })).toThrow(
      expect.objectContaining({ code: "WEIGHTS_MISMATCH" }),
    );
  });

  test("a request keeps the layout it has, and an instance that does not allow it is refused", () => {
    const play = new Playground();
    play.graph.registerTemplate(stages);
    const request = play.open({ allowedPartitions: ["back", "forth"] });
    const first = play.submit(request, { allowedPartitions: ["forth", "left"] });
    const [option, ...others] = first.operators
      .slice(0, 1)
      .flatMap((operator) => play.graph.placementOptions(operator));
    expect([option?.partition.name, others]).toEqual(["forth", []]);
    play.run();
    expect(() => play.submit(request, { allowedPartitions: ["back"] })).toThrow(
      expect.objectContaining({
        code: "UNKNOWN_PARTITION",
        message: expect.stringMatching(/request 0 is laid on partition "forth".*may be laid on back here/),
      }),
    );
    expect(() => play.submit(request, { allowedPartitions: ["froth"] })).toThrow(/did you mean "forth"/);
    expect(() => play.submit(request, { allowedPartitions: [] })).toThrow(/no partition at all/);
    expect(() => play.submit(play.open({ allowedPartitions: ["left"] }), { allowedPartitions: ["back"] })).toThrow(
      /request 1 allows left, and template "t" may be laid on back here; they have no partition in common/,
    );
    expect(play.submit(request).allowedPartitions).toEqual(["forth"]);
  });

  test("instances submitted before their request is laid share a layout", () => {
    const play = new Playground();
    play.graph.registerTemplate(stages);
    const request = play.open();
    const first = play.submit(request, { allowedPartitions: ["forth", "left"] });
    expect(() => play.submit(request, { allowedPartitions: ["back", "turned"] })).toThrow(
      expect.objectContaining({ code: "UNKNOWN_PARTITION" }),
    );
    const second = play.submit(request, { allowedPartitions: ["left", "back"] });
    for (const { operators } of [first, second]) {
      expect(
        operators
          .slice(0, 1)
          .flatMap((each) => play.graph.placementOptions(each).map(({ partition }) => partition.name)),
      ).toEqual(["left"]);
    }
    expect(play.run()).toBe(4);
    expect(first.operators.map(({ accelerator }) => accelerator)).toEqual([0, 0]);
  });
});
