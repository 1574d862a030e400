/** What is run to learn from: passes of a model in several sizes on one accelerator each, and tensors of several sizes moved between two. */
import { ProgramBuilder, Size } from "@slicescheduler/executor-libtorch/llama";
import type { TemplateSpec } from "@slicescheduler/gmg";

export const shape = {
  name: "estimated",
  layers: 4,
  hidden: 512,
  heads: 8,
  kvHeads: 2,
  headDim: 64,
  intermediate: 1408,
  vocabulary: 4096,
} as const;

/** Prompt lengths, which repeat in random order. */
export const PROMPT_TOKENS = [16, 24, 32, 48, 64, 96] as const;
export const CAPACITY = 128;
/** Sizes of what is moved, in elements of four bytes. */
export const MOVED_ELEMENTS = [2 ** 17, 2 ** 18, 2 ** 19, 2 ** 20, 2 ** 21] as const;

export type MoveSpec = TemplateSpec<"elements", never, "kept">;
type Program = ReturnType<ProgramBuilder["finish"]>["program"];

/** Makes `elements` numbers on one accelerator and reads the first on the other, in either direction. */
export function moveTemplate(accelerators: readonly [string, string]): {
  readonly template: MoveSpec;
  readonly programs: Readonly<Record<string, Program>>;
} {
  const float = "float32" as const;
  const made = { shape: ["elements"], dtype: float } as const;
  const one = { shape: [1], dtype: float } as const;
  const make = new ProgramBuilder();
  const zeros = make.fresh("aten::zeros", [[Size.of("elements")]], made, { dtype: { dtype: float } });
  const makes = make.finish([zeros]);
  const read = new ProgramBuilder();
  const first = read.view("aten::slice.Tensor", read.input(0, made.shape, float), [0, 0, 1], [1]);
  const reads = read.finish([read.fresh("aten::clone", [first], one)]);
  const [a, b] = accelerators;
  return {
    template: {
      name: "move",
      symbols: ["elements"],
      operators: [
        { name: "make", outputs: { made }, workspaceBytes: makes.workspaceBytes },
        { name: "read", inputs: ["make.made"], outputs: { kept: one }, workspaceBytes: reads.workspaceBytes },
      ],
      outputs: { kept: "read.kept" },
      partitions: [
        { name: "there", accelerators: [a, b], layout: [0, 1] },
        { name: "back", accelerators: [b, a], layout: [0, 1] },
      ],
    },
    programs: { make: makes.program, read: reads.program },
  };
}
