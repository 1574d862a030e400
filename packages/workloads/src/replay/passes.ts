/** The templates that the lanes of a policy need, laid only where some lane may use them: weights lie nowhere else. */
import type { ClusterSpec, PartitionSpec } from "@slicescheduler/gmg";
import { pipelinePartitions, spreadPartitions } from "../llama/partitions.ts";
import { llama3_8b } from "../llama/shape.ts";
import {
  type DecodeSpec,
  type ExtendSpec,
  type LlamaOptions,
  llamaDecode,
  llamaExtend,
  llamaPrefill,
  type PrefillSpec,
} from "../llama/templates.ts";
import type { LaneGroup, ReplayPolicy } from "./policy.ts";

/** The passes of one model in operators of so many layers. */
export interface PassSpecs {
  readonly layersPerOperator: number;
  readonly prefill: PrefillSpec;
  /** Null when no lane works prompts off in pieces. */
  readonly extend: ExtendSpec | null;
  readonly decode: DecodeSpec;
}

const sizes: readonly number[] = [1, 2, 4, 8];
const defaultLayersPerOperator = 8;
/** So that the model has an operator for each of eight accelerators. */
const deepLayersPerOperator = 4;

/** Names of all partitions a lane may name: pipelines over 1, 2, 4 and 8 accelerators, and those with one of each pair. */
export function partitionNames(cluster: ClusterSpec): string[] {
  const operators = [defaultLayersPerOperator, deepLayersPerOperator].map((layers) => llama3_8b.layers / layers);
  return [...new Set(operators.flatMap((count) => partitionsFor(cluster, count).map(({ name }) => name)))];
}

/** One set of templates for each number of layers per operator among the lane groups. Errors: INVALID_OPTION. */
export function passSpecs(cluster: ClusterSpec, { online, offline }: ReplayPolicy): PassSpecs[] {
  // A group without lanes runs nothing, and templates need a place.
  const groups = [online, ...(offline === null ? [] : [offline])].filter(({ lanes }) => lanes.length > 0);
  const numbers = [...new Set(groups.map(layersPerOperatorOf))];
  return numbers.map((layersPerOperator) => {
    const those = groups.filter((group) => layersPerOperatorOf(group) === layersPerOperator);
    const used = new Set(those.flatMap((group) => group.lanes.flatMap((lane) => lane.partitions)));
    const hasPieces = those.some((group) => group.prefillTokensMax !== undefined);
    return specsOf(cluster, layersPerOperator, used, hasPieces);
  });
}

export function layersPerOperatorOf(group: LaneGroup): number {
  return group.layersPerOperator ?? defaultLayersPerOperator;
}

export function templatesOf({ prefill, extend, decode }: PassSpecs): (PrefillSpec | ExtendSpec | DecodeSpec)[] {
  return extend === null ? [prefill, decode] : [prefill, extend, decode];
}

function specsOf(
  cluster: ClusterSpec,
  layersPerOperator: number,
  used: ReadonlySet<string>,
  hasPieces: boolean,
): PassSpecs {
  // A template's name tells it from the same pass in larger or smaller operators.
  const suffix = layersPerOperator === defaultLayersPerOperator ? "" : `-by-${layersPerOperator}`;
  const options = (pass: string): LlamaOptions => ({
    cluster,
    layersPerOperator,
    partitionSizes: [1],
    name: `${llama3_8b.name}/${pass}${suffix}`,
  });
  const operators = llama3_8b.layers / layersPerOperator;
  const laid = <Spec extends { readonly partitions: readonly PartitionSpec[] }>(spec: Spec): Spec => ({
    ...spec,
    partitions: partitionsFor(cluster, operators).filter(({ name }) => used.has(name)),
  });
  return {
    layersPerOperator,
    prefill: laid(llamaPrefill(options("prefill"))),
    extend: hasPieces ? laid(llamaExtend(options("extend"))) : null,
    decode: laid(llamaDecode(options("decode"))),
  };
}

function partitionsFor(cluster: ClusterSpec, operators: number): PartitionSpec[] {
  const most = Math.min(operators, cluster.accelerators.length);
  const fitting = sizes.filter((size) => size <= most);
  return [...pipelinePartitions(cluster, operators, fitting), ...spreadPartitions(cluster, operators)];
}
