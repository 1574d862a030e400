import {
  compileCluster,
  compileTemplate,
  DTYPES,
  dtypeBytes,
  GmgError,
  type OperatorSpec,
  type TemplateSpec,
} from "@slicescheduler/templates";
import fc from "fast-check";
import { expect, test } from "vitest";

const cluster = compileCluster({
  accelerators: ["a", "b", "c"].map((name) => ({ name, kind: "k", hbmBytes: 1e6 })),
  links: [
    { name: "ab", latencyNs: 1, bytesPerSecond: 1, connects: [["a", "b"]] },
    { name: "bc", latencyNs: 1, bytesPerSecond: 1, connects: [["b", "c"]] },
  ],
});

/** Operators whose inputs are picks among all outputs: cycles and self-references happen. */
const picked = fc.record({
  operators: fc.array(
    fc.record({ inputs: fc.array(fc.nat(30), { maxLength: 3 }), outputs: fc.integer({ min: 1, max: 2 }) }),
    {
      minLength: 1,
      maxLength: 12,
    },
  ),
  forward: fc.boolean(),
  layout: fc.array(fc.nat(2), { minLength: 12, maxLength: 12 }),
});

function specOf({ operators, forward, layout }: typeof picked extends fc.Arbitrary<infer T> ? T : never): TemplateSpec {
  const names = operators.map((_, i) => `op${i}`);
  return {
    name: "t",
    symbols: ["n"],
    operators: operators.map(({ inputs, outputs }, i): OperatorSpec => {
      const from = forward ? names.slice(0, i) : names;
      return {
        name: names[i] ?? "",
        inputs: from.length === 0 ? [] : inputs.map((pick) => `${from[pick % from.length]}.o0`),
        outputs: Object.fromEntries(
          Array.from({ length: outputs }, (_, output) => [
            `o${output}`,
            { shape: ["n", output + 1], dtype: "int8" as const },
          ]),
        ),
      };
    }),
    outputs: {},
    partitions: [{ name: "p", accelerators: ["a", "b", "c"], layout: layout.slice(0, operators.length) }],
  };
}

/** Producers of each operator, by text. */
function producersOf(spec: TemplateSpec): number[][] {
  return spec.operators.map(({ inputs = [] }) => {
    const producers = inputs.map((reference) =>
      spec.operators.findIndex(({ name }) => reference.startsWith(`${name}.`)),
    );
    return [...new Set(producers)].sort((a, b) => a - b);
  });
}

/** Whether an operator comes back to itself, by walking every path to its end. */
function isCyclic(producers: readonly (readonly number[])[]): boolean {
  const reached = producers.map((before) => new Set(before));
  for (let round = 0; round < producers.length; round++) {
    for (const set of reached) for (const each of [...set]) for (const next of producers[each] ?? []) set.add(next);
  }
  return reached.some((set, operator) => set.has(operator));
}

test("a template compiles exactly when a naive reading finds no cycle and no missing route", () => {
  let [compiled, cyclic, unrouted] = [0, 0, 0];
  fc.assert(
    fc.property(picked, (choice) => {
      const spec = specOf(choice);
      const producers = producersOf(spec);
      const onto = spec.partitions[0]?.layout ?? [];
      const noRoute = producers.some((before, i) =>
        before.some(
          (each) => onto[each] !== onto[i] && `${onto[each]}${onto[i]}` !== "01" && `${onto[each]}${onto[i]}` !== "12",
        ),
      );
      if (isCyclic(producers)) cyclic += 1;
      else if (noRoute) unrouted += 1;
      if (isCyclic(producers) || noRoute) {
        expect(() => compileTemplate(spec, cluster)).toThrow(expect.objectContaining({ code: "TEMPLATE_INVALID" }));
        return;
      }
      compiled += 1;
      const template = compileTemplate(spec, cluster);
      expect(template.operators.map(({ predecessors }) => predecessors)).toEqual(producers);
      template.operators.forEach(({ successors }, i) => {
        expect(successors).toEqual(producers.flatMap((before, consumer) => (before.includes(i) ? [consumer] : [])));
      });
      expect([...template.order].sort((a, b) => a - b)).toEqual(producers.map((_, i) => i));
      const place = producers.map((_, i) => template.order.indexOf(i));
      producers.forEach((before, i) => {
        for (const each of before) expect(place[each]).toBeLessThan(place[i] ?? -1);
      });
      if (choice.forward) expect(template.order).toEqual(producers.map((_, i) => i));
    }),
    { numRuns: 400 },
  );
  expect(Math.min(compiled, cyclic, unrouted)).toBeGreaterThan(10);
});

test("bound bytes are the product of the shape and the element, per tensor, whatever is shared between layers", () => {
  const shape = fc.array(fc.tuple(fc.constantFrom("n", "m", "n + m", "2 * n", "ceilDiv(m, 3)"), fc.nat(9)), {
    maxLength: 3,
  });
  const tensor = fc.record({ shape, dtype: fc.constantFrom(...DTYPES) });
  fc.assert(
    fc.property(fc.array(tensor, { minLength: 1, maxLength: 8 }), fc.nat(1000), fc.nat(1000), (tensors, n, m) => {
      const values: Record<string, number> = {
        n,
        m,
        "n + m": n + m,
        "2 * n": 2 * n,
        "ceilDiv(m, 3)": Math.ceil(m / 3),
      };
      const declared = tensors.map((each) => ({ dtype: each.dtype, shape: each.shape.flat() }));
      const template = compileTemplate(
        {
          name: "t",
          symbols: ["n", "m"],
          inputs: { in: declared },
          operators: declared.map((output, i) => ({
            name: `op${i}`,
            inputs: [`in[${i}]`],
            outputs: { o: output },
            weights: { w: 7 },
          })),
          outputs: {},
          partitions: [{ name: "p", accelerators: ["a"], layout: declared.map(() => 0) }],
        },
        cluster,
      );
      const expected = declared.map((each) =>
        each.shape.reduce<bigint>(
          (bytes, d) => bytes * BigInt(typeof d === "number" ? d : (values[d] ?? 0)),
          BigInt(dtypeBytes(each.dtype)),
        ),
      );
      if (expected.some((bytes) => 2n * bytes + 7n > BigInt(Number.MAX_SAFE_INTEGER))) {
        expect(() => template.bind({ n, m })).toThrow(expect.objectContaining({ code: "BYTES_OVERFLOW" }));
        return;
      }
      const binding = template.bind({ n, m });
      expected.forEach((bytes, i) => {
        expect(BigInt(binding.inputBytes(i))).toBe(bytes);
        expect(BigInt(binding.outputBytes(i, 0))).toBe(bytes);
        expect(BigInt(binding.movedBytes(i))).toBe(2n * bytes + 7n);
        expect(binding.outputShape(i, 0)).toEqual(
          declared[i]?.shape.map((d) => (typeof d === "number" ? d : values[d])),
        );
      });
    }),
    { numRuns: 200 },
  );
});

test("whatever it is given, it compiles or throws its own error", () => {
  const value = fc.oneof(fc.anything(), fc.constantFrom<unknown>("op.o", "n", "in", "in[0]", 0, 1, {}, []));
  const tensor = fc.oneof(
    value,
    fc.record(
      { shape: fc.oneof(value, fc.array(value)), dtype: fc.constantFrom<unknown>("int8", 3), aliases: value },
      { requiredKeys: [] },
    ),
  );
  const operator = fc.record(
    {
      name: fc.oneof(value, fc.constant("op")),
      inputs: fc.oneof(value, fc.array(value)),
      outputs: fc.oneof(value, fc.dictionary(fc.string(), tensor), fc.record({ o: tensor })),
      workspaceBytes: value,
      weights: fc.oneof(value, fc.dictionary(fc.string(), value)),
      flops: value,
      durationModel: value,
    },
    { requiredKeys: [] },
  );
  const partition = fc.record({
    name: value,
    accelerators: fc.array(fc.constantFrom<unknown>("a", "b", "z", 3)),
    layout: fc.array(fc.constantFrom<unknown>(0, 1, -1, "x")),
  });
  const spec = fc.record(
    {
      name: value,
      symbols: fc.oneof(value, fc.constant(["n"])),
      inputs: fc.oneof(value, fc.dictionary(fc.string(), fc.oneof(tensor, fc.array(tensor)))),
      operators: fc.oneof(value, fc.array(fc.oneof(operator, value))),
      outputs: fc.oneof(value, fc.dictionary(fc.string(), fc.oneof(value, fc.array(value)))),
      partitions: fc.oneof(value, fc.array(fc.oneof(partition, value))),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(spec, (given) => {
      try {
        compileTemplate(given as never, cluster);
      } catch (error) {
        expect(error).toBeInstanceOf(GmgError);
        expect((error as GmgError).code).toBe("TEMPLATE_INVALID");
      }
    }),
    { numRuns: 400 },
  );
});
