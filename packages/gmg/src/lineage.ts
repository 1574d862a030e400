/**
 * From what each result was made, kept small, so that results lost with an accelerator can be made again: a done operator forgets its
 * inputs, and an instance that nobody refers to leaves the graph; its origin stays as long as results made from it do.
 */
import type { Template } from "@slicescheduler/templates";
import type { InstanceNode, TensorNode } from "./nodes.ts";
import type { InstanceId } from "./types.ts";

/** What an instance was made from: enough to make it again. */
export interface Origin {
  readonly id: InstanceId;
  readonly template: Template;
  readonly symbols: Readonly<Record<string, number>>;
  readonly label: string;
  /** Names of partitions that its submission allowed; null for all. */
  readonly restriction: readonly string[] | null;
  /** Per input slot, null for one that was not bound; null as a whole when that is forgotten. */
  readonly inputs: readonly (OutputOrigin | null)[] | null;
  /** Generations remembered behind it. */
  readonly depth: number;
  /** The instance, while the graph has it. */
  node: InstanceNode | null;
}

export interface OutputOrigin {
  readonly origin: Origin;
  readonly operator: number;
  readonly output: number;
}

/** A request without end must not remember for ever: every so many generations the past is forgotten. */
const GENERATIONS_MAX = 10_000;

export function originOf(
  submission: Omit<Origin, "inputs" | "depth" | "node">,
  inputs: readonly (TensorNode | null)[],
): Origin {
  const { id, template, symbols, label, restriction } = submission;
  const read = inputs.map((tensor) =>
    tensor === null
      ? null
      : { origin: tensor.producer.instance.origin, operator: tensor.producer.index, output: tensor.output },
  );
  const depth = 1 + read.reduce((most, input) => Math.max(most, input?.origin.depth ?? 0), 0);
  const forgets = depth > GENERATIONS_MAX;
  return {
    id,
    template,
    symbols,
    label,
    restriction,
    inputs: forgets ? null : read,
    depth: forgets ? 0 : depth,
    node: null,
  };
}
