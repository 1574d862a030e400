/** Graphs of a few operators, and every way to lay them on a few accelerators that moves so many tensors. */
import type { TemplateSpec } from "@slicescheduler/gmg";

/** Per operator, the operators that it reads from; it comes after them. */
export interface Shape {
  readonly name: string;
  readonly reads: readonly (readonly number[])[];
  /** Operators whose output continues the buffer of the first that they read. */
  readonly inPlace?: readonly number[];
}

export const SHAPES: readonly Shape[] = [
  { name: "pair", reads: [[], [0]] },
  { name: "chain", reads: [[], [0], [1]] },
  { name: "fanOut", reads: [[], [0], [0]] },
  { name: "fanIn", reads: [[], [], [0, 1]] },
  { name: "inPlace", reads: [[], [0], [1]], inPlace: [1, 2] },
  { name: "triangle", reads: [[], [0], [0, 1]] },
  { name: "longChain", reads: [[], [0], [1], [2]] },
  { name: "diamond", reads: [[], [0], [0], [1, 2]] },
  { name: "crossed", reads: [[], [], [0, 1], [0, 1]] },
];

export const BYTES = 10;
/** Of each operator while it runs. */
const WORKSPACE_BYTES = 2;

/** A template of the shape with a partition for each layout; accelerators are called a0, a1, … */
export function templateOf(shape: Shape, layouts: readonly (readonly number[])[], accelerators: number): TemplateSpec {
  const { name, reads, inPlace = [] } = shape;
  return {
    name,
    symbols: [],
    inputs: {},
    operators: reads.map((from, index) => ({
      name: operatorName(index),
      inputs: from.map((producer) => `${operatorName(producer)}.o`),
      outputs: {
        o: {
          dtype: "uint8",
          shape: [BYTES],
          ...(inPlace.includes(index) ? { aliases: `${operatorName(from[0] as number)}.o` } : {}),
        },
      },
      workspaceBytes: WORKSPACE_BYTES,
    })),
    outputs: { last: `${operatorName(reads.length - 1)}.o` },
    partitions: layouts.map((layout, index) => ({
      name: `p${index}`,
      accelerators: acceleratorNames(accelerators),
      layout,
    })),
  };
}

/** One operator that reads the result of an instance of the shape, on the accelerator after the one that has it. */
export function continuationOf(
  shape: Shape,
  layouts: readonly (readonly number[])[],
  accelerators: number,
): TemplateSpec {
  return {
    name: `${shape.name}Next`,
    symbols: [],
    inputs: { before: { dtype: "uint8", shape: [BYTES] } },
    operators: [{ name: "n", inputs: ["before"], outputs: { o: { dtype: "uint8", shape: [BYTES] } } }],
    outputs: {},
    partitions: layouts.map((layout, index) => ({
      name: `p${index}`,
      accelerators: acceleratorNames(accelerators),
      layout: [((layout.at(-1) ?? 0) + 1) % accelerators],
    })),
  };
}

export function acceleratorNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `a${index}`);
}

/** Every layout on so many accelerators, all of them used, but for those that differ by the accelerators' names only. */
export function layoutsOf({ reads }: Shape, accelerators: number): number[][] {
  let layouts: number[][] = [[]];
  for (let operator = 0; operator < reads.length; operator++) {
    layouts = layouts.flatMap((layout) => {
      const used = Math.max(-1, ...layout) + 1;
      return Array.from({ length: Math.min(used + 1, accelerators) }, (_, place) => [...layout, place]);
    });
  }
  return layouts.filter((layout) => Math.max(...layout) === accelerators - 1);
}

/** Tensors that move, each once to each accelerator. */
export function transfersOf({ reads }: Shape, layout: readonly number[]): number {
  const moved = new Set<string>();
  for (const [reader, from] of reads.entries())
    for (const producer of from) if (layout[producer] !== layout[reader]) moved.add(`${producer}→${layout[reader]}`);
  return moved.size;
}

function operatorName(index: number): string {
  return "xyzw"[index] ?? `o${index}`;
}
