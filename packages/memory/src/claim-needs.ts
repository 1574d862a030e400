/**
 * What requests and instances need on partitions, on the accelerators of those alone. Worked out once per class of layouts: to look for a place
 * among hundreds of partitions costs a few calculations and a look-up for each partition.
 */
import { type AcceleratorIndex, type Binding, type Cluster, partitionNamed } from "@slicescheduler/templates";
import { type BoundInstance, homeOf, instanceNeed, limitsNeed, type MemoryNeed } from "./bounds.ts";
import { bytesOn, gather, type SparseBytes, whereAny } from "./byte-vectors.ts";
import type { Moment } from "./cover-order.ts";
import { LayoutClasses, type LayoutOn, type Layouts } from "./layout-classes.ts";

/** Per accelerator named: bytes that add up over instances, and bytes of which the largest counts beside them. 0 on all others. */
export interface SparseNeed {
  readonly accelerators: readonly AcceleratorIndex[];
  readonly bytes: Float64Array;
  readonly workspaceBytes: Float64Array;
}

/** How many instances of a request its limits are for. */
interface Concurrency {
  readonly concurrentInstances: number;
  readonly chains: number;
}

/** Entries for the accelerators of a class of layouts. */
interface Sizes {
  readonly bytes: Float64Array;
  readonly workspaceBytes: Float64Array;
}

interface Known<Key> {
  readonly layouts: Layouts;
  readonly sizes: Map<Key, Sizes>;
}

export class ClaimNeeds {
  readonly #cluster: Cluster;
  readonly #classes: LayoutClasses;
  readonly #ofLimits = new WeakMap<Concurrency, Known<number>>();
  readonly #ofInstances = new WeakMap<BoundInstance, Known<string>>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#classes = new LayoutClasses(cluster);
  }

  /** Limits never change, nor does what they need on a class of layouts. Undefined when a template has no such partition. */
  ofLimits(
    request: Concurrency,
    limits: readonly Binding[],
    partitionName: string,
    moment: Moment,
  ): SparseNeed | undefined {
    let known = this.#ofLimits.get(request);
    if (known === undefined) {
      known = { layouts: this.#classes.of(limits.map(({ template }) => template)), sizes: new Map() };
      this.#ofLimits.set(request, known);
    }
    const layout = known.layouts.on(partitionName);
    if (layout === undefined) return undefined;
    const key = 2 * layout.layoutClass + (moment === "rest" ? 0 : 1);
    let sizes = known.sizes.get(key);
    if (sizes === undefined) {
      const need = limitsNeed(limits, partitionName, request, this.#cluster, moment) as MemoryNeed;
      sizes = sizesAt(need, layout);
      known.sizes.set(key, sizes);
    }
    return needAt(layout, sizes);
  }

  /** Undefined when its template has no such partition. */
  ofInstance(instance: BoundInstance, partitionName: string, moment: Moment): SparseNeed | undefined {
    let known = this.#ofInstances.get(instance);
    if (known === undefined) {
      known = { layouts: this.#classes.of([instance.template]), sizes: new Map() };
      this.#ofInstances.set(instance, known);
    }
    const layout = known.layouts.on(partitionName);
    if (layout === undefined) return undefined;
    const key = `${layout.layoutClass} ${moment}${homesKey(instance, partitionName, layout)}`;
    let sizes = known.sizes.get(key);
    if (sizes === undefined) {
      const partition = partitionNamed(instance.template, partitionName);
      if (partition === undefined) return undefined;
      sizes = sizesAt(instanceNeed(instance, partition, this.#cluster, moment), layout);
      known.sizes.set(key, sizes);
    }
    return needAt(layout, sizes);
  }

  /** Of all that are live, together. Undefined when the template of one has no such partition. */
  ofInstances(
    instances: Iterable<BoundInstance & { readonly state: string }>,
    partitionName: string,
    moment: Moment,
  ): SparseNeed | undefined {
    let total: SparseNeed | null = null;
    for (const instance of instances) {
      if (instance.state !== "live") continue;
      const need = this.ofInstance(instance, partitionName, moment);
      if (need === undefined) return undefined;
      total = total === null ? need : together(total, need);
    }
    return total ?? { accelerators: [], bytes: new Float64Array(0), workspaceBytes: new Float64Array(0) };
  }
}

/** Of a need per accelerator of the cluster, what is not 0. */
export function sparseNeed({ bytes, workspaceBytes }: MemoryNeed): SparseNeed {
  const accelerators = [...new Set([...whereAny(bytes), ...whereAny(workspaceBytes)])];
  return {
    accelerators,
    bytes: gather(bytes, accelerators).bytes,
    workspaceBytes: gather(workspaceBytes, accelerators).bytes,
  };
}

export function workspaceOf({ accelerators, workspaceBytes }: SparseNeed): SparseBytes {
  return { accelerators, bytes: workspaceBytes };
}

/** Where its inputs are, by their place in the layout: what decides, beside the class, what an instance needs. */
function homesKey({ inputs }: BoundInstance, partitionName: string, { accelerators }: LayoutOn): string {
  let key = "";
  for (const tensor of inputs) {
    const home = tensor === null ? null : homeOf(tensor, partitionName);
    // Elsewhere is elsewhere, wherever that is.
    key += home === null ? " ." : ` ${accelerators.indexOf(home)}`;
  }
  return key;
}

function sizesAt({ bytes, workspaceBytes }: MemoryNeed, { accelerators }: LayoutOn): Sizes {
  return { bytes: gather(bytes, accelerators).bytes, workspaceBytes: gather(workspaceBytes, accelerators).bytes };
}

function needAt({ accelerators }: LayoutOn, { bytes, workspaceBytes }: Sizes): SparseNeed {
  return { accelerators, bytes, workspaceBytes };
}

function together(one: SparseNeed, other: SparseNeed): SparseNeed {
  const accelerators = [...new Set([...one.accelerators, ...other.accelerators])];
  const [ones, others] = [workspaceOf(one), workspaceOf(other)];
  return {
    accelerators,
    bytes: Float64Array.from(accelerators, (a) => bytesOn(one, a) + bytesOn(other, a)),
    workspaceBytes: Float64Array.from(accelerators, (a) => Math.max(bytesOn(ones, a), bytesOn(others, a))),
  };
}
