/** What it costs to bind a template's symbols and read every size from the binding, per operator. */
import { type Binding, type CompiledOperator, compileCluster, compileTemplate } from "@slicescheduler/gmg";
import { colocationCluster, llamaDecode, llamaPrefill } from "@slicescheduler/workloads";
import { Bench } from "tinybench";
import type { Measure } from "../measurement.ts";

/** Symbols differ from call to call, so that no result can be kept from the one before. */
const VALUES = Array.from({ length: 1024 }, (_, index) => 1 + ((index * 7919) % 4096));

export const measure: Measure = async () => {
  const spec = colocationCluster();
  const cluster = compileCluster(spec);
  const subjects = [8, 1].flatMap((layersPerOperator) => {
    const prefill = compileTemplate(llamaPrefill({ cluster: spec, layersPerOperator }), cluster);
    const decode = compileTemplate(llamaDecode({ cluster: spec, layersPerOperator }), cluster);
    return [
      { name: prefill.name, operators: prefill.operators, bind: (tokens: number) => prefill.bind({ tokens }) },
      { name: decode.name, operators: decode.operators, bind: (past: number) => decode.bind({ past }) },
    ];
  });
  const cases: Record<string, { nsPerOperator: number }> = {};
  let consumed = 0;
  for (const { name, operators, bind } of subjects) {
    const bench = new Bench({ time: 500, warmupTime: 200 });
    bench.add(name, () => {
      for (const value of VALUES) consumed += sizes(operators, bind(value));
    });
    const [result] = await bench.run();
    if (result?.result?.state !== "completed") throw new Error(`${name} was not measured`);
    const nsPerOperator = (result.result.latency.p50 * 1e6) / VALUES.length / operators.length;
    cases[`${name}-${operators.length}`] = { nsPerOperator: Math.round(nsPerOperator) };
  }
  const lines = Object.entries(cases).map(
    ([name, { nsPerOperator }]) => `${name}: ${nsPerOperator} ns per operator (median)`,
  );
  return { text: lines.join("\n"), json: { cases, checksum: consumed % 1e6 } };
};

function sizes(operators: readonly CompiledOperator[], binding: Binding): number {
  let sum = 0;
  for (const { index, outputs } of operators) {
    for (let output = 0; output < outputs.length; output++) sum += binding.outputBytes(index, output);
    sum += binding.workspaceBytes(index) + binding.flops(index) + binding.movedBytes(index);
  }
  return sum;
}
