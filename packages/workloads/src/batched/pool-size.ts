/** How large the pools of a policy's engines can be. */
import type { ClusterSpec } from "@slicescheduler/gmg";
import { ModelDoesNotFitError } from "../errors.ts";
import { kvBytesPerTokenLayer, type LlamaShape } from "../llama/shape.ts";
import { weightBytesPerAccelerator } from "../replay/fit.ts";
import type { BatchedLane } from "./policies.ts";
import { allTemplates, type BatchedTemplates } from "./templates.ts";

/** Of what the weights leave of an accelerator, the pools take so much; activations and scratch memory need the rest. */
const poolShare = 0.9;

/**
 * Tokens in each engine's pool: the same for all, as many whole pages as fit beside the weights on the fullest accelerator.
 * @param templates of any pool size. Errors: MODEL_DOES_NOT_FIT.
 */
export function poolTokensFor(
  cluster: ClusterSpec,
  shape: LlamaShape,
  lanes: readonly BatchedLane[],
  templates: BatchedTemplates,
  pageTokens: number,
): number {
  const weights = weightBytesPerAccelerator(cluster, allTemplates(templates));
  const bytesPerToken = new Map<string, number>();
  for (const { partition, stages } of lanes) {
    const placed = templates.pool.partitions.find(({ name }) => name === partition);
    for (const accelerator of placed?.accelerators ?? []) {
      // Stages of a pipeline have equally many layers each.
      const bytes = (shape.layers / stages) * kvBytesPerTokenLayer(shape);
      bytesPerToken.set(accelerator, (bytesPerToken.get(accelerator) ?? 0) + bytes);
    }
  }
  let least = Number.POSITIVE_INFINITY;
  for (const { name, hbmBytes, marginBytes = 0, externalBaselineBytes = 0 } of cluster.accelerators) {
    const perToken = bytesPerToken.get(name) ?? 0;
    if (perToken === 0) continue;
    const left = hbmBytes - marginBytes - externalBaselineBytes - (weights.get(name) ?? 0);
    const pages = Math.floor((poolShare * left) / (perToken * pageTokens));
    if (pages < 1) {
      const weightGb = ((weights.get(name) ?? 0) / 1e9).toFixed(2);
      throw new ModelDoesNotFitError(
        `${shape.name} does not fit accelerator ${name}: ${weightGb} GB of weights leave no page of ${pageTokens} tokens for each engine there`,
      );
    }
    least = Math.min(least, pages);
  }
  return least * pageTokens;
}
