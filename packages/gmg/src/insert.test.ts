import { describe, expect, test } from "vitest";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

const kvOf = (instance: { readonly id: number }) => ({ kv: { instance: instance.id, output: "kv" } });

/** Makes `n` bytes from the bytes it is given, and leaves those as they are. */
const relay = of([{ inputs: ["before"], outputs: { after: u8("n") } }], {
  symbols: ["n"],
  inputs: { before: u8("n") },
  outputs: { after: "op0.after" },
});
const source = of([{ outputs: { out: u8("n"), note: u8(1) } }], {
  name: "source",
  symbols: ["n"],
  outputs: { out: "op0.out", both: ["op0.out", "op0.note"] },
});

function relays() {
  const play = new Playground();
  play.graph.registerTemplate(source);
  play.graph.registerTemplate(relay);
  const request = play.open();
  const first = play.submit(request, { template: "source", symbols: { n: 7 }, retain: ["out"] });
  return { play, request, first, before: { before: { instance: first.id, output: "out" } } };
}

describe("sizes", () => {
  /** Dimensions 0 (a scalar), 1 and 2, an empty tensor and one that the instance makes empty. */
  const shapes = {
    scalar: { shape: [], dtype: "int64" },
    empty: { shape: [0, 7], dtype: "float32" },
    vector: { shape: ["n"], dtype: "float16" },
    matrix: { shape: ["n", "n + 1"], dtype: "uint8" },
  } as const;
  const names = Object.keys(shapes);
  const two = {
    name: "t",
    symbols: ["n"] as const,
    inputs: shapes,
    operators: [
      { name: "read", inputs: names, outputs: shapes },
      { name: "again", inputs: names.map((name) => `read.${name}`), outputs: { done: shapes.scalar } },
    ],
    outputs: Object.fromEntries(names.map((name) => [name, `read.${name}`])),
    partitions: [{ name: "p", accelerators: ["a", "b"], layout: [0, 1] }],
  };

  test.each([0, 3])("of 0, 1 and 2 dimensions are bound, referred to, moved and freed, for n = %d", (n) => {
    const play = new Playground({ granularityBytes: 16 });
    const { graph } = play;
    graph.registerTemplate({ ...two, name: "maker", inputs: {}, operators: two.operators.map(withoutInputs) });
    graph.registerTemplate(two);
    const request = play.open();
    const maker = play.submit(request, { template: "maker", symbols: { n }, retain: names });
    expect(maker.operators[0]?.outputs.map(({ bytes }) => bytes)).toEqual([8, 0, 2 * n, n * (n + 1)]);
    expect(maker.binding.outputShape(0, 3)).toEqual([n, n + 1]);
    play.run();
    const inputs = Object.fromEntries(names.map((name) => [name, { instance: maker.id, output: name }]));
    const reader = play.submit(request, { symbols: { n }, inputs, retain: ["empty"] });
    expect(reader.operators[0]?.inputs).toHaveLength(4);
    for (const name of names) graph.releaseOutput(maker.id, name);
    const [read, again] = reader.operators;
    if (read === undefined || again === undefined) throw new Error("incomplete");
    play.issue(read);
    play.issue(again);
    play.finish(read);
    // Also a tensor of no bytes is moved to where it is read: it has to be there, though it takes nothing.
    expect(graph.counts().transfers).toBe(4);
    play.finish(again);
    expect([graph.ledger.usedBytes(0), graph.ledger.usedBytes(1)]).toEqual([0, 0]);
    expect(graph.ledger.copies(0)).toMatchObject([{ bytes: 0, held: true, bufferBytes: 0 }]);
    graph.releaseOutput(reader.id, "empty");
    graph.closeRequest(request);
    expect(graph.counts()).toEqual(EMPTY);
    expect(graph.ledger.copies(0)).toEqual([]);
  });

  test("of no bytes claim nothing, on an accelerator that has none left as well", () => {
    const play = new Playground({ hbmBytes: 10 });
    const { graph } = play;
    const empty = { o: u8("n", 0) };
    graph.registerTemplate(of([{ outputs: { o: u8(10) } }], { name: "full", outputs: { o: "op0.o" } }));
    graph.registerTemplate(
      of(
        [
          { inputs: ["x"], outputs: empty },
          { inputs: ["op0.o"], outputs: empty },
        ],
        {
          symbols: ["n"],
          inputs: { x: u8("n", 0) },
          outputs: { o: "op1.o" },
          partitions: [{ name: "p", accelerators: ["a", "b"], layout: [0, 1] }],
        },
      ),
    );
    const full = play.open();
    play.submit(full, { template: "full", retain: ["o"] });
    play.run();
    expect(graph.ledger.usedBytes(0)).toBe(10);
    const request = play.open();
    const first = play.submit(request, { symbols: { n: 2 ** 40 }, retain: ["o"] });
    expect(play.run()).toBe(2);
    expect([...graph.request(request).reservedBytes]).toEqual([0, 0]);
    // An input of no bytes may be bound, or left out as above.
    play.submit(request, { symbols: { n: 5 }, inputs: { x: { instance: first.id, output: "o" } } });
    expect(play.run()).toBe(2);
    expect(graph.ledger.peakBytes(0)).toBe(10);
  });
});

describe("results of earlier instances", () => {
  test("are referred to before, while and after they are made, as long as they are retained or waited for", () => {
    const { play, request, first, before } = relays();
    const { graph } = play;
    const early = play.submit(request, { symbols: { n: 7 }, inputs: before });
    const [operator] = first.operators;
    if (operator === undefined) throw new Error("incomplete");
    play.issue(operator);
    play.start(operator);
    const meanwhile = play.submit(request, { symbols: { n: 7 }, inputs: before });
    graph.operatorDone(operator, 100);
    expect(play.run()).toBe(2);
    const late = play.submit(request, { symbols: { n: 7 }, inputs: before });
    expect(play.run()).toBe(1);
    for (const each of [early, meanwhile, late]) expect(each.state).toBe("done");
    expect(graph.ledger.usedBytes(0)).toBe(7);
    graph.releaseOutput(first.id, "out");
    graph.releaseOutput(first.id, "out");
    expect(graph.ledger.usedBytes(0)).toBe(0);
    expect(() => play.submit(request, { symbols: { n: 7 }, inputs: before })).toThrow(
      expect.objectContaining({ code: "UNKNOWN_INSTANCE" }),
    );
    graph.closeRequest(request);
    expect(graph.counts()).toEqual(EMPTY);
  });

  test("that are released are gone for later instances, and stay for those that were submitted", () => {
    const { play, request, first, before } = relays();
    play.graph.releaseOutput(first.id, "out");
    // Not made yet, so a reader can still make sure that it stays.
    const reader = play.submit(request, { symbols: { n: 7 }, inputs: before, retain: ["after"] });
    play.run(1);
    play.graph.releaseOutput(first.id, "out");
    expect(play.graph.ledger.usedBytes(0)).toBe(7);
    play.submit(request, { symbols: { n: 7 }, inputs: before });
    expect(play.run()).toBe(2);
    expect(reader.state).toBe("done");
    expect(play.graph.ledger.usedBytes(0)).toBe(7);
    expect(() => play.submit(request, { symbols: { n: 7 }, inputs: before })).toThrow(
      expect.objectContaining({ code: "UNKNOWN_INSTANCE" }),
    );
  });

  test("a released result of an instance that still has others is refused as released", () => {
    const { play, request } = relays();
    const both = play.submit(request, { template: "source", symbols: { n: 7 }, retain: ["both"] });
    play.run();
    play.graph.releaseOutput(both.id, "out");
    const inputs = { before: { instance: both.id, output: "out" } };
    expect(() => play.submit(request, { symbols: { n: 7 }, inputs })).toThrow(
      expect.objectContaining({ code: "OUTPUT_RELEASED" }),
    );
  });

  test("retained, they are a checkpoint: what failed after them is started again from there", () => {
    const { play, request, first, before } = relays();
    const { graph } = play;
    play.run();
    for (let attempt = 0; attempt < 3; attempt++) {
      const next = play.submit(request, { symbols: { n: 7 }, inputs: before, retain: ["after"] });
      const last = play.submit(request, {
        symbols: { n: 7 },
        inputs: { before: { instance: next.id, output: "after" } },
      });
      const [operator] = next.operators;
      if (operator === undefined) throw new Error("incomplete");
      play.issue(operator);
      play.start(operator);
      graph.operatorFailed(operator, 1000);
      graph.validate();
      expect([next.state, last.state, first.state]).toEqual(["failed", "failed", "done"]);
      expect(graph.ledger.usedBytes(0)).toBe(7);
    }
    const again = play.submit(request, { symbols: { n: 7 }, inputs: before });
    expect(play.run()).toBe(1);
    expect(again.state).toBe("done");
    graph.releaseOutput(first.id, "out");
    graph.closeRequest(request);
    expect(graph.counts()).toEqual(EMPTY);
    expect(graph.ledger.usedBytes(0)).toBe(0);
  });

  test("of a cancelled instance are lost, unless they were done", () => {
    const { play, request, first, before } = relays();
    const reader = play.submit(request, { symbols: { n: 7 }, inputs: before });
    play.graph.cancel(first.id, 5);
    expect([first.state, reader.state]).toEqual(["cancelled", "failed"]);
    expect(() => play.submit(request, { symbols: { n: 7 }, inputs: before })).toThrow(
      expect.objectContaining({ code: "UNKNOWN_INSTANCE" }),
    );
    play.graph.validate();
  });
});

describe("numbers of instances", () => {
  test("are used once, also after their instance has ended, and need not be consecutive", () => {
    const { play, request } = relays();
    play.submit(request, { id: 10, template: "source", symbols: { n: 1 } });
    play.run();
    expect(play.graph.instance(10)).toBeUndefined();
    for (const id of [0, 4, 10]) {
      expect(() => play.submit(request, { id, template: "source", symbols: { n: 1 } })).toThrow(
        expect.objectContaining({ code: "DUPLICATE_ID", details: { instance: id } }),
      );
    }
    expect(play.submit(request, { id: 11, template: "source", symbols: { n: 1 } }).id).toBe(11);
  });

  test("of a refused submission stay free", () => {
    const { play, request } = relays();
    expect(() => play.submit(request, { id: 5, template: "source", symbols: {} })).toThrow(
      expect.objectContaining({ code: "UNBOUND_SYMBOL" }),
    );
    expect(play.submit(request, { id: 5, template: "source", symbols: { n: 1 } }).id).toBe(5);
  });

  test("that are no whole number are a programmer's error", () => {
    const { play, request } = relays();
    const before = play.graph.counts();
    for (const id of [Number.NaN, 1.5, 2 ** 53, "7" as never]) {
      expect(() => play.submit(request, { id, template: "source", symbols: { n: 1 } })).toThrow(TypeError);
      expect(play.graph.counts()).toEqual(before);
    }
    play.graph.validate();
    expect(play.submit(request, { template: "source", symbols: { n: 1 } }).id).toBe(1);
  });
});

describe("past 2^53 − 1 bytes", () => {
  const most = Number.MAX_SAFE_INTEGER;
  const step = of([{ inputs: ["kv"], outputs: { kv: { ...u8("past", 2 ** 12), aliases: "kv" } } }], {
    symbols: ["past"],
    inputs: { kv: u8(0) },
    outputs: { kv: "op0.kv" },
  });

  test("an instance is refused with its template and place, and the others go on", () => {
    const play = new Playground({ hbmBytes: most });
    const { graph } = play;
    graph.registerTemplate(step);
    const request = play.open();
    const mine = play.submit(request, { symbols: { past: 2 }, retain: ["kv"] });
    const other = play.submit(play.open(), { symbols: { past: 3 } });
    const before = graph.counts();
    for (const past of [2 ** 41, most]) {
      expect(() => play.submit(request, { symbols: { past }, inputs: kvOf(mine) })).toThrow(
        expect.objectContaining({
          code: "BYTES_OVERFLOW",
          message: expect.stringMatching(/template "t": operators\[0\]\.outputs\.kv.*2\^53/),
        }),
      );
      expect(() => play.open({ limits: [{ template: "t", symbols: { past } }] })).toThrow(
        expect.objectContaining({ code: "BYTES_OVERFLOW" }),
      );
      expect(graph.counts()).toEqual(before);
      graph.validate();
    }
    expect(play.run()).toBe(2);
    expect([mine.state, other.state]).toEqual(["done", "done"]);
  });

  test("rounding to the granularity and sums are refused as well, before anything changes", () => {
    const play = new Playground({ hbmBytes: most, granularityBytes: 2 ** 20 });
    const { graph } = play;
    graph.registerTemplate(
      of(
        [
          { outputs: { o: u8("n") }, movedBytes: 0 },
          { outputs: { o: u8("n") }, movedBytes: 0 },
        ],
        // Both may be referred to, so that they are there together.
        { symbols: ["n"], outputs: { first: "op0.o", second: "op1.o" } },
      ),
    );
    const request = play.open();
    const mine = play.submit(request, { symbols: { n: 100 } });
    for (const n of [most, most - 2 ** 20, 2 ** 52]) {
      expect(() => play.submit(request, { symbols: { n } })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^(BYTES_OVERFLOW|NEVER_FITS)$/) }),
      );
      graph.validate();
    }
    expect(play.run()).toBe(2);
    expect(mine.state).toBe("done");
    // The same to a request that is placed already.
    const placed = play.open({ endsWithInstances: false });
    play.submit(placed, { symbols: { n: 1 } });
    play.run();
    for (const n of [most, 2 ** 52]) {
      expect(() => play.submit(placed, { symbols: { n } })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^(BYTES_OVERFLOW|NEVER_FITS|CLAIM_TOO_LARGE_NOW)$/) }),
      );
      graph.validate();
    }
    play.submit(placed, { symbols: { n: 1 } });
    expect(play.run()).toBe(2);
  });

  test("the largest exact size is taken to the byte", () => {
    const play = new Playground({ hbmBytes: most });
    play.graph.registerTemplate(of([{ outputs: { o: u8("n") } }], { symbols: ["n"] }));
    const instance = play.submit(play.open(), { symbols: { n: most } });
    expect(play.run()).toBe(1);
    expect(instance.state).toBe("done");
    expect(play.graph.ledger.peakBytes(0)).toBe(most);
  });
});

function withoutInputs<Operator extends { readonly name: string; readonly inputs: readonly string[] }>(
  operator: Operator,
): Operator {
  return operator.name === "read" ? { ...operator, inputs: [] } : operator;
}
