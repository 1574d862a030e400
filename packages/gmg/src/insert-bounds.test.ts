import { describe, expect, test } from "vitest";
import { of, Playground, u8 } from "./insert.fixture.ts";

/** Grows by an unknown number of tokens, 100 at most, from an unknown number, 900 at most. */
const step = of([{ inputs: ["kv"], outputs: { kv: { ...u8("past + tokens"), aliases: "kv" } } }], {
  symbols: ["past", "tokens"],
  bounds: { past: 900, tokens: 100 },
  inputs: { kv: u8("past") },
  outputs: { kv: "op0.kv" },
});

describe("a symbol with a bound that is left out", () => {
  test("memory is claimed and taken for the bound", () => {
    const play = new Playground();
    const { graph } = play;
    graph.registerTemplate(step);
    const request = play.open();
    const prefill = play.submit(request, { symbols: { past: 0 }, retain: ["kv"] });
    play.run();
    expect(prefill.binding.assumed).toEqual(["tokens"]);
    expect(graph.request(request).reservedBytes[0]).toBe(100);
    expect(graph.ledger.usedBytes(0)).toBe(100);
  });

  test("limits may leave it out as well, and then hold every instance", () => {
    const play = new Playground({ hbmBytes: 1000 });
    const { graph } = play;
    graph.registerTemplate(step);
    const request = play.open({ limits: [{ template: "t", symbols: {} }] });
    let last = play.submit(request, { symbols: { past: 0 }, retain: ["kv"] });
    play.run();
    expect(graph.request(request).reservedBytes[0]).toBe(1000);
    for (let past = 100; past <= 900; past += 100) {
      const inputs = { kv: { instance: last.id, output: "kv" } };
      // An input has the size that it was made with: what is left out in one is left out in both.
      expect(() => play.submit(request, { symbols: { past: past - 1 }, inputs })).toThrow(
        expect.objectContaining({ code: "INPUT_MISMATCH" }),
      );
      const next = play.submit(request, { symbols: past === 900 ? {} : { past }, inputs, retain: ["kv"] });
      graph.releaseOutput(last.id, "kv");
      expect(play.run()).toBe(1);
      expect(graph.ledger.usedBytes(0)).toBe(past + 100);
      last = next;
    }
    graph.releaseOutput(last.id, "kv");
    graph.closeRequest(request);
    expect(graph.ledger.usedBytes(0)).toBe(0);
  });

  test("a bound that never fits is refused, where a smaller value is not", () => {
    const play = new Playground({ hbmBytes: 50 });
    play.graph.registerTemplate(step);
    const request = play.open();
    expect(() => play.submit(request, { symbols: { past: 0 } })).toThrow(
      expect.objectContaining({ code: "NEVER_FITS" }),
    );
    play.submit(request, { symbols: { past: 0, tokens: 50 } });
    expect(play.run()).toBe(1);
  });
});
