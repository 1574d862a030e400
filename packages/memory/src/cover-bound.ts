/**
 * Upper bounds on the bytes that an instance can hold at once on each accelerator, whatever the order and timing, without
 * adding up what can never be there together (DESIGN §7; docs/chain-cover.md). Workspace is bounded apart.
 */
import type { AcceleratorIndex, Binding, Cluster, CompiledPartition, Template } from "@slicescheduler/templates";
import type { MemoryNeed } from "./bounds.ts";
import { coverBytes } from "./cover.ts";
import { type CoveredAccelerator, type CoverOptions, coverLayout, type Frees } from "./cover-layout.ts";
import { type HoldingBytes, holdingBytes, type InstanceInputs } from "./cover-references.ts";

/** The bounds of a template on its partitions. Layouts that differ by the names of accelerators alone are covered once. */
export class InstanceBounds {
  readonly #template: Template;
  readonly #cluster: Cluster;
  readonly #options: CoverOptions;
  readonly #layouts = new Map<string, Layout>();
  readonly #bounds = new Map<CompiledPartition, InstanceBound>();

  constructor(template: Template, cluster: Cluster, options: CoverOptions = {}) {
    this.#template = template;
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Covers the partition's layout when it is first asked for, at the cost of `coverLayout`; then O(1). */
  on(partition: CompiledPartition): InstanceBound {
    const known = this.#bounds.get(partition);
    if (known !== undefined) return known;
    const layout = this.#layoutOf(partition.acceleratorOf);
    const renamed = new Map(layout.acceleratorOf.map((from, i) => [from, partition.acceleratorOf[i] as number]));
    const places = layout.covered.map((covered): Place => {
      const accelerator = renamed.get(covered.lifetimes.accelerator) as AcceleratorIndex;
      return { accelerator, granularityBytes: granularityOf(this.#cluster, accelerator), covered };
    });
    const bound = new InstanceBound(this.#cluster, partition, places);
    this.#bounds.set(partition, bound);
    return bound;
  }

  #layoutOf(acceleratorOf: readonly AcceleratorIndex[]): Layout {
    const numbers = new Map<AcceleratorIndex, number>();
    const key = acceleratorOf.map((accelerator) => {
      const number = numbers.get(accelerator) ?? numbers.size;
      numbers.set(accelerator, number);
      return number;
    });
    const known = this.#layouts.get(key.join());
    if (known !== undefined) return known;
    const covered = coverLayout(this.#template, acceleratorOf, this.#cluster, this.#options);
    const layout = { acceleratorOf, covered };
    this.#layouts.set(key.join(), layout);
    return layout;
  }
}

interface Layout {
  readonly acceleratorOf: readonly AcceleratorIndex[];
  readonly covered: readonly CoveredAccelerator[];
}

interface Place {
  readonly accelerator: AcceleratorIndex;
  readonly granularityBytes: number;
  readonly covered: CoveredAccelerator;
}

/** What instances of a template need on one partition. Every number is in bytes per accelerator of the cluster. */
export class InstanceBound {
  readonly #cluster: Cluster;
  readonly #partition: CompiledPartition;
  readonly #places: readonly Place[];

  /** Made by `InstanceBounds`. */
  constructor(cluster: Cluster, partition: CompiledPartition, places: readonly Place[]) {
    this.#cluster = cluster;
    this.#partition = partition;
    this.#places = places;
  }

  /**
   * The most bytes at once, and the largest workspace. Never more than the sum of all that is ever held. Linear in the
   * template. Throws BYTES_OVERFLOW.
   */
  need(binding: Binding, inputs: InstanceInputs): MemoryNeed {
    const bytes = new Float64Array(this.#cluster.accelerators.length);
    for (const place of this.#places) {
      bytes[place.accelerator] = mostBytes(place, bytesAt(place, binding, inputs));
    }
    return { bytes, workspaceBytes: this.#workspaces(binding, () => 0) };
  }

  /**
   * The same in two parts: `bytes`, the most at once while no operator of the instance runs on the accelerator, and
   * `workspaceBytes`, the most that a running one has there beside that. Of all instances on an accelerator one operator runs, so the first
   * parts add up and of the second the largest counts. Each instance may be counted in this way or by `need`.
   */
  restNeed(binding: Binding, inputs: InstanceInputs): MemoryNeed {
    const bytes = new Float64Array(this.#cluster.accelerators.length);
    const freed = new Map<number, number>();
    for (const place of this.#places) {
      const held = bytesAt(place, binding, inputs);
      bytes[place.accelerator] = Math.min(restBytes(place, held), mostBytes(place, held));
      eachFreed(place.covered.frees, held, (operator, freedBytes) => freed.set(operator, freedBytes));
    }
    return { bytes, workspaceBytes: this.#workspaces(binding, (operator) => freed.get(operator) ?? 0) };
  }

  #workspaces(binding: Binding, besideBytes: (operator: number) => number): Float64Array {
    const workspaceBytes = new Float64Array(this.#cluster.accelerators.length);
    this.#partition.acceleratorOf.forEach((accelerator, operator) => {
      const bytes = this.#cluster.roundBytes(accelerator, binding.workspaceBytes(operator)) + besideBytes(operator);
      if (bytes > (workspaceBytes[accelerator] as number)) workspaceBytes[accelerator] = bytes;
    });
    return workspaceBytes;
  }
}

function granularityOf(cluster: Cluster, accelerator: AcceleratorIndex): number {
  return cluster.accelerators[accelerator]?.granularityBytes ?? 1;
}

function bytesAt({ covered, accelerator, granularityBytes }: Place, binding: Binding, inputs: InstanceInputs) {
  return holdingBytes(covered.lifetimes, accelerator, granularityBytes, binding, inputs);
}

/** What is there is always a multiple of the granularity, so the bound may be rounded down to one. */
function mostBytes({ covered, granularityBytes }: Place, held: HoldingBytes): number {
  const { bytes, permanent } = held;
  let most = 0;
  for (const each of bytes) most += each;
  for (const cover of covered.covers) most = Math.min(most, coverBytes(cover, bytes, permanent));
  const beside = mostFreed(covered.frees, held);
  for (const cover of covered.restCovers) most = Math.min(most, coverBytes(cover, bytes, permanent) + beside);
  return most - (most % granularityBytes);
}

function restBytes({ covered, granularityBytes }: Place, { bytes, permanent }: HoldingBytes): number {
  let most = Number.POSITIVE_INFINITY;
  for (const cover of covered.restCovers) most = Math.min(most, coverBytes(cover, bytes, permanent));
  return most - (most % granularityBytes);
}

function mostFreed(frees: Frees, held: HoldingBytes): number {
  let most = 0;
  eachFreed(frees, held, (_, freedBytes) => {
    if (freedBytes > most) most = freedBytes;
  });
  return most;
}

function eachFreed(
  { operators, start, holdings }: Frees,
  { bytes, permanent }: HoldingBytes,
  visit: (operator: number, freedBytes: number) => void,
): void {
  for (let i = 0; i < operators.length; i++) {
    let freedBytes = 0;
    for (let at = start[i] as number; at < (start[i + 1] as number); at++) {
      const x = holdings[at] as number;
      if (permanent[x] === 0) freedBytes += bytes[x] as number;
    }
    visit(operators[i] as number, freedBytes);
  }
}
