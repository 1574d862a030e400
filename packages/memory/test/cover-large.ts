import {
  type Binding,
  type Cluster,
  compileTemplate,
  type OperatorInput,
  type Template,
} from "@slicescheduler/templates";

/** A template of many operators with one output each, put together without its text. @param reads per operator: whose outputs it reads. */
export function largeTemplate(
  cluster: Cluster,
  reads: readonly (readonly number[])[],
  bytesOf: (operator: number) => number,
): { readonly template: Template; readonly binding: Binding } {
  const tiny: Template = compileTemplate(
    {
      name: "large",
      symbols: [],
      operators: [{ name: "a", outputs: { o: { shape: [1], dtype: "int8" } } }],
      outputs: {},
      partitions: [{ name: "p", accelerators: [cluster.accelerators[0]?.name ?? ""], layout: [0] }],
    },
    cluster,
  );
  const [like] = tiny.operators;
  if (like === undefined) throw new Error("the template has no operator");
  const successors: number[][] = reads.map(() => []);
  reads.forEach((producers, index) => {
    for (const producer of producers) successors[producer]?.push(index);
  });
  const operators = reads.map((producers, index) => ({
    ...like,
    index,
    name: `op${index}`,
    inputs: producers.map((operator): OperatorInput => ({ operator, output: 0, slot: -1 })),
    predecessors: producers,
    successors: successors[index] as number[],
  }));
  const binding: Binding = Object.assign(Object.create(tiny.bind({})), {
    outputBytes: bytesOf,
    workspaceBytes: () => 0,
  });
  const template: Template = { ...tiny, operators, order: reads.map((_, index) => index), bind: () => binding };
  return { template, binding };
}
