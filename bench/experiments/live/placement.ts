import { runDirect } from "@slicescheduler/executor-libtorch";
import type { LlamaShape } from "@slicescheduler/executor-libtorch/llama";
import {
  llamaDirectSteps,
  llamaModel,
  llamaPartitions,
  seededLlamaWeights,
} from "@slicescheduler/executor-libtorch/llama";
import type { ClusterSpec } from "@slicescheduler/gmg";
import { seededRandom } from "@slicescheduler/workloads";
import type { LlamaService } from "../../../examples/llama-libtorch/llama-service.ts";

export interface PlacementCheck {
  readonly prompts: number;
  readonly layouts: number;
  /** Generations, prompts × layouts, whose tokens are not those of the direct loop. */
  readonly differing: number;
}

const PROMPTS = 100;
const COUNT = 3;

/** Greedy output of 100 short prompts on every layout, against the same model in a native loop without a scheduler. */
export async function checkPlacement(
  service: LlamaService,
  it: { readonly shape: LlamaShape; readonly cluster: ClusterSpec; readonly layersPerOperator: number },
): Promise<PlacementCheck> {
  const { shape, cluster, layersPerOperator } = it;
  const names = cluster.accelerators.map(({ name }) => name);
  const partitions = llamaPartitions(names, shape.layers / layersPerOperator);
  const model = llamaModel({ shape, layersPerOperator, partitions });
  const random = seededRandom(7);
  const prompts = Array.from({ length: PROMPTS }, () =>
    Array.from({ length: 1 + Math.floor(random() * 16) }, () => Math.floor(random() * shape.vocabulary)),
  );
  const steps = prompts.flatMap((prompt) => llamaDirectSteps(model, prompt, COUNT));
  const { fetched } = await runDirect({ cluster, weights: seededLlamaWeights(shape, 1), steps });
  const expected = fetched.map(({ data }) => Number(data[0]));
  let differing = 0;
  for (const { name } of partitions) {
    const found = await Promise.all(
      prompts.map((prompt) => service.generate({ prompt, count: COUNT, partitions: [name] })),
    );
    for (const [index, tokens] of found.entries()) {
      if (tokens.join() !== expected.slice(index * COUNT, (index + 1) * COUNT).join()) differing++;
    }
  }
  return { prompts: PROMPTS, layouts: partitions.length, differing };
}
