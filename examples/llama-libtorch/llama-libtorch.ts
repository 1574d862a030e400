/**
 * Real operators on real tensors: a small model with random weights on four accelerators of this machine's CPUs, urgent and patient requests side by side. Run by the
 * test suite where LibTorch is set up (`npm run setup:libtorch`).
 */
import type { LlamaShape } from "@slicescheduler/executor-libtorch/llama";
import type { ClusterSpec } from "@slicescheduler/gmg";
import { LlamaService } from "./llama-service.ts";

const shape: LlamaShape = {
  name: "small",
  layers: 8,
  hidden: 128,
  heads: 8,
  kvHeads: 2,
  headDim: 16,
  intermediate: 352,
  vocabulary: 512,
};

const cluster: ClusterSpec = {
  accelerators: ["cpu0", "cpu1", "cpu2", "cpu3"].map((name) => ({ name, kind: "cpu", hbmBytes: 16e6 })),
  defaultLink: { latencyNs: 20_000, bytesPerSecond: 4e9 },
};

export interface Answer {
  readonly priority: string;
  readonly tokens: readonly number[];
  /** Nanoseconds from the start until the first token was there. */
  readonly firstTokenNs: number;
}

/** Generates so many tokens for each prompt, all at once: every second request is patient, and its prompt is worked off in pieces. */
export async function answer(prompts: readonly (readonly number[])[], count: number): Promise<Answer[]> {
  const service = new LlamaService({ cluster, shape, layersPerOperator: 2 });
  try {
    const startNs = service.executor.clock.nowNs();
    return await Promise.all(
      prompts.map(async (prompt, index): Promise<Answer> => {
        const priority = index % 2 === 0 ? "online" : "offline";
        let firstTokenNs = Number.NaN;
        const tokens = await service.generate({
          prompt,
          count,
          priority,
          ...(priority === "offline" ? { pieceTokensMax: 16 } : {}),
          onToken: (_token, atNs) => {
            if (Number.isNaN(firstTokenNs)) firstTokenNs = atNs - startNs;
          },
        });
        return { priority, tokens, firstTokenNs };
      }),
    );
  } finally {
    service.close();
  }
}
