import fc from "fast-check";
import * as client from "prom-client";
import { expect, test } from "vitest";
import { PrometheusText } from "../src/index.ts";
import { promClientSink } from "../src/prom-client.ts";
import { readExposition } from "./exposition.ts";

const value = fc.double({ min: 0, max: 1e9, noNaN: true });
const label = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("", '"', "\\", "\n", "\\n", '\\"', "{}", 'a="b",'),
);
const record = fc.record({ metric: fc.nat({ max: 2 }), label, value });

test("whatever labels and values are, the text keeps the rules and says what prom-client says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 30 }), async (records) => {
      const text = new PrometheusText();
      const registry = new client.Registry();
      const told = [text, promClientSink(client, registry)].map((sink) => {
        const common = { help: "Something.", unit: "1", labels: ["label"] } as const;
        const series = [
          sink.counter({ name: "counted_total", ...common }),
          sink.gauge({ name: "set", ...common }),
          sink.histogram({ name: "observed", ...common, buckets: [0.5, 1, 1e3] }),
        ];
        for (const { metric, label, value } of records) series[metric]?.([label])(value);
        return series;
      });
      expect(told).toHaveLength(2);
      const own = readExposition(text.text());
      const theirs = readExposition(await registry.metrics());
      const samples = (families: typeof own) =>
        [...families].flatMap(([, family]) =>
          // prom-client names the bound before the labels.
          [...family.samples].map(
            ([key, count]) => [key.replace(/\{(le="[^"]+"),(.*)\}$/s, "{$2,$1}"), count] as const,
          ),
        );
      expect(new Map(samples(own))).toEqual(new Map(samples(theirs)));
    }),
    { numRuns: 200 },
  );
});
