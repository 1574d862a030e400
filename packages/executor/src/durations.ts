import type { Binding, Cluster, CompiledAccelerator, Template } from "@slicescheduler/templates";
import { ExecutorError } from "./errors.ts";
import type { IssueInstruction } from "./types.ts";

/** An operator on a virtual accelerator, as its duration function sees it. */
export interface VirtualOperator {
  readonly issueNumber: number;
  readonly instance: number;
  /** Name of the template. */
  readonly template: string;
  /** Index in the template, and the name there. */
  readonly operator: number;
  readonly operatorName: string;
  readonly symbols: Readonly<Record<string, number>>;
  readonly accelerator: CompiledAccelerator;
  /** The template with its symbols bound: bytes, FLOPs. Computed when first asked for. */
  readonly binding: Binding;
}

/** A transfer between virtual accelerators, as its duration function sees it. */
export interface VirtualTransfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: CompiledAccelerator;
  readonly destination: CompiledAccelerator;
  readonly bytes: number;
}

/** Rates of an accelerator whose specification declares none. */
export const DEFAULT_FLOPS_PER_SECOND = 1e14;
export const DEFAULT_HBM_BYTES_PER_SECOND = 1e12;

const NS_PER_SECOND = 1e9;

/** The longer of computing the declared FLOPs and moving the declared bytes at the accelerator's peak rates, in nanoseconds. */
export function rooflineOperatorNs({ binding, operator, accelerator }: VirtualOperator): number {
  const computeSeconds = binding.flops(operator) / (accelerator.flopsPerSecond ?? DEFAULT_FLOPS_PER_SECOND);
  const moveSeconds = binding.movedBytes(operator) / (accelerator.hbmBytesPerSecond ?? DEFAULT_HBM_BYTES_PER_SECOND);
  return Math.ceil(Math.max(computeSeconds, moveSeconds) * NS_PER_SECOND);
}

/** What the cluster's links declare. */
export function linkTransferNs(cluster: Cluster, { source, destination, bytes }: VirtualTransfer): number {
  return cluster.transferNs(source.index, destination.index, bytes);
}

/** A true duration with its noise, in whole nanoseconds, at least 1. Throws INVALID_DURATION. */
export function noisyNs(trueNs: number, factor: number, what: () => string): number {
  if (!(trueNs >= 0 && trueNs <= Number.MAX_SAFE_INTEGER)) {
    throw new ExecutorError(
      "INVALID_DURATION",
      `the duration given for ${what()} is ${trueNs} ns; it must be from 0 to 2^53 − 1`,
    );
  }
  return Math.min(Math.max(Math.round(trueNs * factor), 1), Number.MAX_SAFE_INTEGER);
}

/** Operators of one instance share their symbols object, so it is bound once for all of them. */
export class Bindings {
  readonly #bound = new WeakMap<Template, WeakMap<object, Binding>>();

  of(template: Template, symbols: Readonly<Record<string, number>>): Binding {
    let ofTemplate = this.#bound.get(template);
    if (ofTemplate === undefined) {
      ofTemplate = new WeakMap();
      this.#bound.set(template, ofTemplate);
    }
    let binding = ofTemplate.get(symbols);
    if (binding === undefined) {
      binding = template.bind(symbols);
      ofTemplate.set(symbols, binding);
    }
    return binding;
  }
}

export function virtualOperator(
  instruction: IssueInstruction,
  template: Template,
  accelerator: CompiledAccelerator,
  bindings: Bindings,
): VirtualOperator {
  const { issueNumber, instance, operator, symbols } = instruction;
  return {
    issueNumber,
    instance,
    template: template.name,
    operator,
    operatorName: template.operators[operator]?.name ?? "",
    symbols,
    accelerator,
    get binding() {
      return bindings.of(template, symbols);
    },
  };
}
