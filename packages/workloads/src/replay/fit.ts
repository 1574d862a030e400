/** Whether the model can be served on the cluster at all, told before anything starts and in numbers. */
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";
import { ModelDoesNotFitError } from "../errors.ts";
import {
  activationBytesPerToken,
  kvBytesPerTokenLayer,
  type LlamaShape,
  workspaceBytesPerToken,
} from "../llama/shape.ts";

/** Weights on each accelerator when the templates are registered: equal names count once. */
export function weightBytesPerAccelerator(
  cluster: ClusterSpec,
  templates: readonly TemplateSpec[],
): Map<string, number> {
  const granules = new Map(cluster.accelerators.map((a) => [a.name, a.granularityBytes ?? 1]));
  const names = new Map<string, Map<string, number>>(cluster.accelerators.map((a) => [a.name, new Map()]));
  for (const template of templates) {
    for (const partition of template.partitions) {
      partition.layout.forEach((position, index) => {
        const accelerator = partition.accelerators[position] ?? "";
        const granule = granules.get(accelerator) ?? 1;
        for (const [name, bytes] of Object.entries(template.operators[index]?.weights ?? {})) {
          names.get(accelerator)?.set(name, Math.ceil(bytes / granule) * granule);
        }
      });
    }
  }
  return new Map([...names].map(([name, weights]) => [name, [...weights.values()].reduce((a, b) => a + b, 0)]));
}

/** Shape of a request as far as its memory goes. */
export interface RequestSize {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * Most bytes the largest request can hold on one accelerator: the KV cache of all its tokens in the layers that lie there,
 * and the activation and scratch memory of its prefill.
 * @param operatorsPerAccelerator of the densest partition.
 */
export function largestRequestBytes(
  shape: LlamaShape,
  layersPerOperator: number,
  operatorsPerAccelerator: number,
  requests: readonly RequestSize[],
): number {
  const kvBytes = kvBytesPerTokenLayer(shape) * layersPerOperator * operatorsPerAccelerator;
  const prefillBytes = workspaceBytesPerToken(shape) + 2 * activationBytesPerToken(shape);
  return requests.reduce((most, { inputTokens, outputTokens }) => {
    // The last output token is never cached.
    const bytes = kvBytes * (inputTokens + outputTokens - 1) + prefillBytes * inputTokens;
    return Math.max(most, bytes);
  }, 0);
}

export interface FitDemand {
  readonly model: string;
  /** KV cache and scratch memory of the largest request on one accelerator, in bytes. */
  readonly requestBytes: number;
}

/** Throws MODEL_DOES_NOT_FIT naming the first accelerator that cannot hold the weights and the largest request. */
export function assertModelFits(cluster: ClusterSpec, templates: readonly TemplateSpec[], demand: FitDemand): void {
  const weights = weightBytesPerAccelerator(cluster, templates);
  for (const accelerator of cluster.accelerators) {
    const capacity = accelerator.hbmBytes - (accelerator.marginBytes ?? 0) - (accelerator.externalBaselineBytes ?? 0);
    const weightBytes = weights.get(accelerator.name) ?? 0;
    if (weightBytes + demand.requestBytes > capacity) {
      const needed = `${gigabytes(weightBytes)} of weights and ${gigabytes(demand.requestBytes)} for the largest request`;
      const reason = `${demand.model} does not fit accelerator ${accelerator.name}: ${needed} exceed ${gigabytes(capacity)} of HBM`;
      throw new ModelDoesNotFitError(reason);
    }
  }
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
