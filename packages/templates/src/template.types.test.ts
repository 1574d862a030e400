import {
  type ClusterSpec,
  compileCluster,
  compileTemplate,
  defineTemplate,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/templates";
import { expect, expectTypeOf, test } from "vitest";

const cluster: ClusterSpec = { accelerators: [{ name: "gpu0", kind: "H200", hbmBytes: 1e9 }] };

const forward = defineTemplate({
  name: "forward",
  symbols: ["tokens", "past"],
  inputs: { kv: { shape: ["past"], dtype: "float16" } },
  operators: [{ name: "op", inputs: ["kv"], outputs: { h: { shape: ["tokens"], dtype: "float16" } } }],
  outputs: { last: "op.h", all: ["op.h"] },
  partitions: [{ name: "p", accelerators: ["gpu0"], layout: [0] }],
});

test("symbol, input and output names are literal types, so that a misspelt one does not compile", () => {
  const template = compileTemplate(forward, compileCluster(cluster));
  expectTypeOf(template).toEqualTypeOf<Template<"tokens" | "past", "kv", "last" | "all">>();
  expectTypeOf(template.bind).parameter(0).toEqualTypeOf<Readonly<Record<"tokens" | "past", number>>>();
  expect(template.bind({ tokens: 1, past: 2 }).features).toEqual([1, 2]);
  // @ts-expect-error: toknes is no symbol
  expect(() => template.bind({ toknes: 1, past: 2 })).toThrow();
  // @ts-expect-error: past has no value
  expect(() => template.bind({ tokens: 1 })).toThrow();
});

test("a template without inputs has no input name, and one read from a file has any", () => {
  const { inputs: _, ...rest } = forward;
  const bare = defineTemplate({ ...rest, name: "bare", symbols: ["n"], outputs: { o: "op.h" } });
  expectTypeOf<keyof NonNullable<(typeof bare)["inputs"]>>().toEqualTypeOf<never>();
  const plain: Template = compileTemplate(forward, compileCluster(cluster));
  expectTypeOf(plain.bind).parameter(0).toEqualTypeOf<Readonly<Record<string, number>>>();
});

test("a symbol with a bound may be left out, one without may not, and a bound names a symbol", () => {
  const bounded = defineTemplate({ ...forward, symbols: ["tokens", "past"], bounds: { tokens: 8 } });
  const template = compileTemplate(bounded, compileCluster(cluster));
  expectTypeOf(template).toEqualTypeOf<Template<"tokens" | "past", "kv", "last" | "all", "tokens">>();
  expect(template.bind({ past: 2 }).features).toEqual([8, 2]);
  expect(template.bind({ past: 2, tokens: 3 }).features).toEqual([3, 2]);
  // @ts-expect-error: past has no bound
  expect(() => template.bind({ tokens: 1 })).toThrow();
  // @ts-expect-error: toknes is no symbol
  expect(() => template.bind({ toknes: 1, past: 2 })).toThrow();
  // @ts-expect-error: toknes is no symbol
  const misspelt = defineTemplate({ ...forward, bounds: { toknes: 8 } });
  expect(() => compileTemplate(misspelt, compileCluster(cluster))).toThrow(/bounds.toknes/);
  const plain: Template = template;
  const spec: TemplateSpec = bounded;
  expect([plain.spec.bounds, spec.bounds]).toEqual([{ tokens: 8 }, { tokens: 8 }]);
});
