/** For the tests of this package: a graph of a few accelerators, and instances in one line. */
import { compileCluster, GlobalMappingGraph, type InstanceNode, type TemplateSpec } from "@slicescheduler/gmg";

export function graphOf(names: readonly string[], hbmBytes = 1e9): GlobalMappingGraph {
  return new GlobalMappingGraph(
    compileCluster({
      accelerators: names.map((name) => ({
        name,
        kind: "demo",
        hbmBytes,
        flopsPerSecond: 1e12,
        hbmBytesPerSecond: 1e12,
      })),
      defaultLink: { latencyNs: 1000, bytesPerSecond: 1e9 },
    }),
  );
}

/** `stages` operators in a chain, each with `n` bytes of output and 1,000 `n` floating-point operations. */
export function chain(
  name: string,
  stages: number,
  partitions: Readonly<Record<string, { on: readonly string[]; layout: readonly number[] }>>,
): TemplateSpec {
  return {
    name,
    symbols: ["n"],
    operators: Array.from({ length: stages }, (_, i) => ({
      name: `s${i}`,
      inputs: i === 0 ? [] : [`s${i - 1}.out`],
      outputs: { out: { shape: ["n"], dtype: "uint8" as const } },
      flops: "n * 1000",
    })),
    outputs: { out: `s${stages - 1}.out` },
    partitions: Object.entries(partitions).map(([partition, { on, layout }]) => ({
      name: partition,
      accelerators: on,
      layout,
    })),
  };
}

export function submit(graph: GlobalMappingGraph, id: number, template: string, n: number, rank = 0): InstanceNode {
  const opening = {
    id,
    label: "",
    rank,
    deadlineNs: Number.POSITIVE_INFINITY,
    limits: null,
    concurrentInstances: 1,
    chains: 1,
    mayPause: false,
  };
  graph.openRequest({ ...opening, allowedPartitions: null, endsWithInstances: true }, 0);
  return graph.insert(
    { id, template, symbols: { n }, inputs: {}, retain: [], allowedPartitions: null, label: "" },
    id,
    0,
  );
}
