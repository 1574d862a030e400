import { describe, expect, test } from "vitest";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

const LAYERS = 5;

/** Every layer adds `n` bytes to one cache, in place: the first to the one it is given, each further one to the last. */
function cacheThroughLayers(layout: readonly number[]) {
  return of(
    Array.from({ length: LAYERS }, (_, i) => {
      const before = i === 0 ? "kv" : `op${i - 1}.kv`;
      return {
        inputs: [before],
        outputs: { h: u8(1), kv: { ...u8(`past + ${i + 1} * n`), aliases: before } },
      };
    }),
    {
      symbols: ["past", "n"],
      inputs: { kv: u8("past") },
      outputs: { kv: `op${LAYERS - 1}.kv` },
      partitions: [{ name: "p", accelerators: ["a", "b"], layout }],
    },
  );
}

describe("a chain of aliases inside one instance", () => {
  test("is one buffer that grows by each delta, counted once, over any number of instances", () => {
    const play = new Playground();
    const { graph } = play;
    graph.registerTemplate(cacheThroughLayers([0, 0, 0, 0, 0]));
    const request = play.open({ limits: [{ template: "t", symbols: { past: 90, n: 2 } }] });
    let last = play.submit(request, { symbols: { past: 0, n: 2 }, retain: ["kv"] });
    for (let past = 10; past <= 90; past += 10) {
      const inputs = { kv: { instance: last.id, output: "kv" } };
      const next = play.submit(request, { symbols: { past, n: 2 }, inputs, retain: ["kv"] });
      graph.releaseOutput(last.id, "kv");
      while (play.run(1) > 0) {
        // The cache once and at least one byte beside it; at most a byte of every layer.
        const claimed = graph.claims.reservedBytes(0) + graph.claims.workspaceBytes(0);
        expect(claimed).toBeGreaterThanOrEqual(100 + 1);
        expect(claimed).toBeLessThanOrEqual(100 + LAYERS);
      }
      expect(graph.ledger.usedBytes(0)).toBe(past + 2 * LAYERS);
      expect(graph.ledger.copies(0)).toHaveLength(1);
      last = next;
    }
    expect(graph.ledger.peakBytes(0)).toBe(100 + 1);
    graph.releaseOutput(last.id, "kv");
    graph.closeRequest(request);
    expect(graph.counts()).toEqual(EMPTY);
    expect(graph.ledger.usedBytes(0)).toBe(0);
  });

  test("is copied where it changes its accelerator, and goes on in the copy", () => {
    const play = new Playground();
    const { graph } = play;
    graph.registerTemplate(cacheThroughLayers([0, 0, 1, 1, 0]));
    const request = play.open();
    const first = play.submit(request, { symbols: { past: 0, n: 3 }, retain: ["kv"] });
    const steps: number[][] = [];
    while (play.run(1) > 0) steps.push([graph.ledger.usedBytes(0), graph.ledger.usedBytes(1)]);
    expect(steps).toEqual([
      [3, 0],
      [6, 0],
      [0, 9],
      [0, 12],
      [15, 0],
    ]);
    graph.releaseOutput(first.id, "kv");
    graph.closeRequest(request);
    expect(graph.counts()).toEqual(EMPTY);
  });

  test("one operator continues several tensors, inputs of the template and results of others alike", () => {
    const play = new Playground();
    const { graph } = play;
    const grown = (aliases: string, dimension: string) => ({ ...u8(dimension), aliases });
    graph.registerTemplate(
      of(
        [
          { outputs: { x: u8("n"), y: u8(4) } },
          {
            inputs: ["op0.x", "k", "v", "op0.y"],
            outputs: { v: grown("v", "past + 1"), x: grown("op0.x", "n + 5"), k: grown("k", "past + 1"), z: u8(2) },
          },
        ],
        {
          symbols: ["past", "n"],
          inputs: { k: u8("past"), v: u8("past") },
          outputs: { k: "op1.k", v: "op1.v", x: "op1.x" },
        },
      ),
    );
    const request = play.open();
    const first = play.submit(request, { symbols: { past: 0, n: 10 }, retain: ["k", "v", "x"] });
    play.run();
    expect(graph.ledger.usedBytes(0)).toBe(1 + 1 + 15);
    const reference = (output: string) => ({ instance: first.id, output });
    const inputs = { k: reference("k"), v: reference("v") };
    play.submit(request, { symbols: { past: 1, n: 0 }, inputs, retain: ["v"] });
    expect(() => play.submit(request, { symbols: { past: 1, n: 0 }, inputs })).toThrow(
      expect.objectContaining({ code: "ALREADY_CONTINUED" }),
    );
    for (const name of ["k", "v", "x"]) graph.releaseOutput(first.id, name);
    play.run();
    expect(graph.ledger.usedBytes(0)).toBe(2);
  });

  test("is found by the first place at which the operator names the tensor", () => {
    const outputs = { o: { ...u8(4), aliases: "x" } };
    const spec = of([{ inputs: ["y", "x", "y", "x"], outputs }], { inputs: { x: u8(4), y: u8(4) } });
    const compiled = new Playground().graph.registerTemplate(spec);
    expect(compiled.operators[0]?.outputs[0]?.aliases).toBe(1);
  });

  test("may get smaller: the buffer keeps its size until the last tensor in it has gone", () => {
    const play = new Playground();
    const { graph } = play;
    graph.registerTemplate(
      of(
        [
          { outputs: { o: u8(100) } },
          { inputs: ["op0.o"], outputs: { o: { ...u8(10), aliases: "op0.o" } } },
          { inputs: ["op1.o"], outputs: { o: { ...u8(0), aliases: "op1.o" } } },
        ],
        { outputs: { o: "op2.o" } },
      ),
    );
    const request = play.open();
    const instance = play.submit(request, { retain: ["o"] });
    play.run();
    expect(graph.ledger.usedBytes(0)).toBe(100);
    expect(graph.request(request).reservedBytes[0]).toBe(100);
    graph.releaseOutput(instance.id, "o");
    expect(graph.ledger.usedBytes(0)).toBe(0);
  });
});
