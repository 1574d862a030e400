/** What the book of claims reads of requests and instances, and what it keeps with them. The nodes of a graph are such; so is any object with these fields. */
import type { AcceleratorIndex, Binding } from "@slicescheduler/templates";
import type { BoundInstance, MemoryNeed } from "./bounds.ts";
import type { Moment } from "./cover-order.ts";
import type { GrantHolder } from "./grants.ts";

/** A sequence of instances with one claim, laid on one partition. */
export interface ClaimingRequest<R extends ClaimingRequest<R>> extends GrantHolder {
  /** The largest instances it may submit; null when none were declared: its claim is then what it has submitted. */
  readonly limits: readonly Binding[] | null;
  /** Live instances at the same time that the claim covers. */
  readonly concurrentInstances: number;
  /** Sequences of instances that continue one another, or stand alone, at the same time that the claim covers. */
  readonly chains: number;
  /** Live or not. */
  readonly instances: Iterable<ClaimingInstance<R>>;
  /** Name of the partition it is laid on; null before. */
  partition: string | null;
  /** How its instances are counted where it is placed. */
  moment: Moment;
  /** Instances that have begun and not ended. */
  begunInstances: number;
}

/** One execution of a template for a request. */
export interface ClaimingInstance<R extends ClaimingRequest<R>> extends BoundInstance {
  readonly request: R;
  /** `"live"` as long as it needs memory. */
  readonly state: string;
  /** What it needs on its request's partition; null before the request is placed. */
  need: MemoryNeed | null;
  /** Most bytes it can hold at once, per accelerator, under its partition; null before it has begun. */
  needBytes: Float64Array | null;
  /** The part of its request's claim that was reserved for it, where the request declared no limits; null otherwise. */
  claimedBytes: Float64Array | null;
  /** Buffers with bytes that it caused; empty once it has ended. */
  readonly buffers: Set<SharedBuffer<ClaimingInstance<R>>>;
}

/** Memory that copies of several instances are in: who answers for its bytes. */
export interface SharedBuffer<Instance> {
  readonly accelerator: AcceleratorIndex;
  /** Rounded bytes by the instance that caused them, which has not ended: its need covers them. */
  readonly shares: Map<Instance, number>;
  /** Rounded bytes whose causes have ended: counted against the claim by themselves. */
  endedBytes: number;
}
