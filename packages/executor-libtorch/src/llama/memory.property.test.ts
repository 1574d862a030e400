import { fc, test } from "@fast-check/vitest";
import { compileCluster, compileTemplate } from "@slicescheduler/templates";
import { expect } from "vitest";
import { runDirect } from "../direct.ts";
import { describeNative } from "../native/describe-native.fixture.ts";
import { llamaDirectSteps } from "./direct-steps.ts";
import { llamaModel } from "./model.ts";
import { llamaPartitions } from "./partitions.ts";
import type { LlamaShape } from "./shape.ts";
import { seededLlamaWeights } from "./weights.ts";

const cluster = { accelerators: [{ name: "a", kind: "cpu", hbmBytes: 1e9 }] };

const shapes: fc.Arbitrary<LlamaShape> = fc
  .record({
    layers: fc.integer({ min: 1, max: 3 }),
    kvHeads: fc.integer({ min: 1, max: 3 }),
    queriesPerHead: fc.integer({ min: 1, max: 3 }),
    halfHead: fc.integer({ min: 1, max: 9 }),
    hidden: fc.integer({ min: 1, max: 70 }),
    intermediate: fc.integer({ min: 1, max: 90 }),
    vocabulary: fc.integer({ min: 2, max: 300 }),
  })
  .map(({ queriesPerHead, halfHead, ...sizes }) => ({
    ...sizes,
    name: "drawn",
    heads: sizes.kvHeads * queriesPerHead,
    headDim: 2 * halfHead,
  }));

describeNative("memory that the templates of a model declare", () => {
  test.prop([shapes, fc.integer({ min: 1, max: 60 })], { numRuns: 25 })(
    "is what its operators take at most, whatever the sizes",
    async (shape, tokens) => {
      const model = llamaModel({ shape, partitions: llamaPartitions(["a"], shape.layers) });
      const prompt = Array.from({ length: tokens }, (_, i) => i % shape.vocabulary);
      const steps = llamaDirectSteps(model, prompt, 2);
      const { peakBytes } = await runDirect({ cluster, weights: seededLlamaWeights(shape, 1), steps });
      steps.forEach(({ template: spec, operator: name, symbols }, at) => {
        const template = compileTemplate(spec, compileCluster(cluster));
        const binding = template.bind(symbols);
        const operator = template.operators.find((it) => it.name === name);
        const own = operator?.outputs.map(({ aliases }, i) =>
          aliases < 0 ? binding.outputBytes(operator.index, i) : 0,
        );
        const declaredBytes = binding.workspaceBytes(operator?.index ?? -1) + (own ?? []).reduce((a, b) => a + b, 0);
        expect(peakBytes[at]).toBeLessThanOrEqual(declaredBytes);
      });
    },
  );
});
