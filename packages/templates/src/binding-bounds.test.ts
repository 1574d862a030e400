import { compileCluster, compileTemplate, TemplateInvalidError, type TemplateSpec } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";
import { of, u8 } from "./template.fixture.ts";

const cluster = compileCluster({ accelerators: [{ name: "a", kind: "demo", hbmBytes: 2 ** 52 }] });

/** One operator with an output of this size, under `tokens` up to 4,096 and `past` without a bound. */
function sized(size: string, more: Partial<TemplateSpec> = {}) {
  const operators = [{ outputs: { o: u8(size) }, workspaceBytes: "tokens", flops: "2 * tokens" }];
  return compileTemplate(of(operators, { symbols: ["past", "tokens"], bounds: { tokens: 4096 }, ...more }), cluster);
}

describe("a symbol with a bound", () => {
  const template = sized("past + tokens");

  test("may be left out, and every size is then that of the bound", () => {
    const binding = template.bind({ past: 10 });
    expect(binding.assumed).toEqual(["tokens"]);
    expect(binding.symbols).toEqual({ past: 10, tokens: 4096 });
    expect(binding.features).toEqual([10, 4096]);
    expect([binding.outputBytes(0, 0), binding.workspaceBytes(0), binding.flops(0)]).toEqual([4106, 4096, 8192]);
    expect(binding.outputShape(0, 0)).toEqual([4106]);
    expect(template.bind({ past: 10, tokens: undefined } as never).assumed).toEqual(["tokens"]);
  });

  test("takes any value up to it, and none above", () => {
    const binding = template.bind({ past: 10, tokens: 4096 });
    expect([binding.assumed, binding.outputBytes(0, 0)]).toEqual([[], 4106]);
    expect(template.bind({ past: 10, tokens: 0 }).outputBytes(0, 0)).toBe(10);
    expect(() => template.bind({ past: 10, tokens: 4097 })).toThrow(
      expect.objectContaining({
        code: "INVALID_SYMBOL_VALUE",
        bound: 4096,
        value: 4097,
        details: { template: "t", symbol: "tokens", value: 4097, bound: 4096 },
        message: 'template "t": symbol "tokens" must be a whole number from 0 to 4096, its declared bound, is 4097',
      }),
    );
    expect(() => template.bind({ past: 10, tokens: -1 })).toThrow(/from 0 to 4096/);
    expect(() => template.bind({ past: 10, tokens: null } as never)).toThrow(/is null/);
  });

  test("helps no other symbol that is left out", () => {
    expect(() => template.bind({})).toThrow(
      expect.objectContaining({
        code: "UNBOUND_SYMBOL",
        symbols: ["past"],
        message: expect.stringContaining("a bound"),
      }),
    );
  });

  test("may be bounded by 0, or by the largest whole number", () => {
    expect(
      sized("past + tokens", { bounds: { tokens: 0 } })
        .bind({ past: 3 })
        .outputBytes(0, 0),
    ).toBe(3);
    const most = Number.MAX_SAFE_INTEGER;
    const largest = compileTemplate(
      of([{ outputs: { o: u8("n") } }], { symbols: ["n"], bounds: { n: most } }),
      cluster,
    );
    expect(largest.bind({}).outputBytes(0, 0)).toBe(most);
    expect(() => sized("past + tokens", { bounds: { tokens: most } }).bind({ past: 1 })).toThrow(
      expect.objectContaining({ code: "BYTES_OVERFLOW" }),
    );
  });
});

describe("left out, a symbol gives a size the most that any value up to its bound does", () => {
  test.each([
    ["past - tokens", 50],
    ["max(past - tokens, 0)", 50],
    ["past + 3 * tokens - 2 * tokens", 50 + 3 * 8],
    ["(past - 52) * tokens", 0],
    ["(52 - past) * tokens", 16],
    ["ceilDiv(past, tokens + 1)", 50],
    ["ceilDiv(tokens, 3)", 3],
    ["past + (tokens - 5) * (tokens - 5)", 50 + 25],
  ])("%s = %d for 50 and up to 8", (size, expected) => {
    const template = sized(size, { bounds: { tokens: 8 } });
    expect(template.bind({ past: 50 }).outputBytes(0, 0)).toBe(expected);
    for (let tokens = 0; tokens <= 8; tokens++) {
      let bytes = 0;
      try {
        bytes = template.bind({ past: 50, tokens }).outputBytes(0, 0);
      } catch (error) {
        expect(error).toMatchObject({ code: "NEGATIVE_DIMENSION" });
      }
      expect(bytes).toBeLessThanOrEqual(expected);
    }
  });

  test("and what no value makes sound is refused", () => {
    const short = sized("past - tokens - 60", { bounds: { tokens: 8 } });
    expect(() => short.bind({ past: 50 })).toThrow(expect.objectContaining({ code: "NEGATIVE_DIMENSION", value: -10 }));
  });

  test("a division that may be by 0 is refused, with the range", () => {
    const divided = (size: string) => () => sized(size, { bounds: { tokens: 8 } }).bind({ past: 50 });
    for (const size of ["ceilDiv(past, tokens)", "ceilDiv(past, tokens - 8)", "ceilDiv(past, tokens - 4)"]) {
      expect(divided(size)).toThrow(
        expect.objectContaining({
          code: "DIVISION_BY_ZERO",
          message: expect.stringContaining("past = 50, tokens = 0 … 8"),
        }),
      );
    }
    expect(divided("past + ceilDiv(past, tokens - 9)")).not.toThrow();
  });
});

test("bounds are checked at registration, with all the rest", () => {
  const spec = of([{}], {
    symbols: ["tokens", "past", "n", "m"],
    bounds: { toknes: 4, past: -1, n: 1.5, m: 2 ** 53 },
    name: "",
  });
  try {
    compileTemplate(spec, cluster);
    throw new Error("was accepted");
  } catch (error) {
    if (!(error instanceof TemplateInvalidError)) throw error;
    expect(error.faults.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "name: must not be empty",
      'bounds.toknes: no symbol "toknes" is declared; did you mean "tokens"?',
      "bounds.past: must be a whole number from 0 to 2^53 − 1, is -1",
      "bounds.n: must be a whole number from 0 to 2^53 − 1, is 1.5",
      "bounds.m: must be a whole number from 0 to 2^53 − 1, is 9007199254740992",
    ]);
  }
  expect(() => compileTemplate({ ...of([{}]), bounds: 4 } as never, cluster)).toThrow(
    /bounds: must be an object, is 4/,
  );
  const named = JSON.parse('{ "__proto__": 3 }') as Record<string, number>;
  const proto = compileTemplate(
    of([{ outputs: { o: u8("__proto__") } }], { symbols: ["__proto__"], bounds: named }),
    cluster,
  );
  expect(proto.bind({}).outputBytes(0, 0)).toBe(3);
  const again = compileTemplate(JSON.parse(JSON.stringify(proto.spec)) as TemplateSpec, cluster);
  expect(again.bind({}).outputBytes(0, 0)).toBe(3);
});
