/** For the tests of this package: templates in one line. */
import type { OperatorSpec, TemplateSpec } from "./types.ts";

export const u8 = (...shape: readonly (number | string)[]) => ({ shape, dtype: "uint8" as const });

/** A template of these operators on accelerator `a`, otherwise sound. */
export function of(operators: readonly Partial<OperatorSpec>[], more: Partial<TemplateSpec> = {}): TemplateSpec {
  return {
    name: "t",
    symbols: [],
    operators: operators.map((operator, i) => ({ name: `op${i}`, outputs: { o: u8(8) }, ...operator })),
    outputs: {},
    partitions: [{ name: "p", accelerators: ["a"], layout: operators.map(() => 0) }],
    ...more,
  };
}
