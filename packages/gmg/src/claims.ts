/**
 * Memory claims: what each placed request may come to hold on each accelerator is reserved before its first operator is
 * issued, so that whatever the order and timing, it can run to its end without waiting for memory that another one holds.
 *
 *   fixed (baseline + weights) + Σ reserved of placed requests + the largest workspace ≤ capacity     on every accelerator
 *
 * A request that declared limits reserves for the largest instances it may submit, once. One that declared none reserves
 * for the instances it has submitted; its claim falls as they end and must grow for each further one.
 */

import type { Binding } from "./binding.ts";
import { addInto, instanceNeed, limitsNeed, type MemoryNeed, maxInto, partitionNamed } from "./bounds.ts";
import type { Cluster } from "./cluster.ts";
import { SubmissionError } from "./graph-errors.ts";
import type { ResidencyLedger } from "./ledger.ts";
import type { InstanceNode, RequestNode } from "./nodes.ts";
import type { AcceleratorIndex } from "./types.ts";

/** Why a claim cannot be reserved: the accelerator that lacks the most. */
export interface Shortage {
  readonly accelerator: AcceleratorIndex;
  readonly neededBytes: number;
  readonly availableBytes: number;
}

export class ClaimBook {
  readonly #cluster: Cluster;
  readonly #ledger: ResidencyLedger;
  readonly #claimsOfLimits = new WeakMap<RequestNode, Map<string, MemoryNeed | undefined>>();
  readonly #placed = new Set<RequestNode>();
  readonly #reserved: Float64Array;
  readonly #workspace: Float64Array;
  #epoch = 0;

  constructor(cluster: Cluster, ledger: ResidencyLedger) {
    this.#cluster = cluster;
    this.#ledger = ledger;
    this.#reserved = new Float64Array(cluster.accelerators.length);
    this.#workspace = new Float64Array(cluster.accelerators.length);
  }

  /** Rises whenever a claim, reserved or only wanted, shrinks: what did not fit need not be tried again until it does. */
  get epoch(): number {
    return this.#epoch;
  }

  reservedBytes(accelerator: AcceleratorIndex): number {
    return this.#reserved[accelerator] ?? 0;
  }

  /** What an unplaced request would claim on a partition; undefined when a template of its own has no such partition. */
  claimOn(request: RequestNode, partitionName: string): MemoryNeed | undefined {
    if (request.limits !== null) return this.#limitsClaim(request, request.limits, partitionName);
    return this.#sumOfInstances(request.instances, partitionName);
  }

  /** Null when the claim can be reserved now. */
  shortage(claim: MemoryNeed): Shortage | null {
    let worst: Shortage | null = null;
    let worstBytes = 0;
    for (let a = 0; a < this.#reserved.length; a++) {
      const neededBytes =
        (claim.bytes[a] as number) + Math.max(claim.workspaceBytes[a] as number, this.#workspace[a] as number);
      if ((claim.bytes[a] as number) === 0 && (claim.workspaceBytes[a] as number) <= (this.#workspace[a] as number))
        continue;
      const availableBytes = this.#roomBytes(a) - (this.#reserved[a] as number);
      if (neededBytes - availableBytes > worstBytes) {
        worstBytes = neededBytes - availableBytes;
        worst = { accelerator: a, neededBytes, availableBytes };
      }
    }
    return worst;
  }

  /** Null when the claim would fit on accelerators that hold nothing but baseline and weights. */
  shortageWhenEmpty(claim: MemoryNeed): Shortage | null {
    for (let a = 0; a < this.#reserved.length; a++) {
      const neededBytes = (claim.bytes[a] as number) + (claim.workspaceBytes[a] as number);
      const availableBytes = this.#roomBytes(a);
      if (neededBytes > 0 && neededBytes > availableBytes) return { accelerator: a, neededBytes, availableBytes };
    }
    return null;
  }

  /** Null when so many bytes more of weights leave every reservation whole. */
  lackForWeights(accelerator: AcceleratorIndex, neededBytes: number): Shortage | null {
    const taken = (this.#reserved[accelerator] as number) + (this.#workspace[accelerator] as number);
    const availableBytes = this.#roomBytes(accelerator) - taken;
    return neededBytes > availableBytes ? { accelerator, neededBytes, availableBytes } : null;
  }

  /** Reserves the claim and lays the request on the partition; the caller has seen that it fits. */
  place(request: RequestNode, partitionName: string, claim: MemoryNeed): void {
    request.partition = partitionName;
    request.reservedBytes = claim.bytes.slice();
    request.workspaceBytes = claim.workspaceBytes.slice();
    request.usedBytes = new Float64Array(claim.bytes.length);
    this.#placed.add(request);
    addInto(this.#reserved, claim.bytes);
    maxInto(this.#workspace, claim.workspaceBytes);
    if (request.limits !== null) return;
    for (const instance of request.instances) {
      if (instance.state === "live") instance.claimedBytes = this.needOf(instance).bytes;
    }
  }

  /** What an instance needs under its request's partition, worked out once. The request is placed. */
  needOf(instance: InstanceNode): MemoryNeed {
    instance.need ??= this.#needOf(instance);
    return instance.need;
  }

  #needOf(instance: InstanceNode): MemoryNeed {
    const name = instance.request.partition as string;
    const partition = partitionNamed(instance.template, name);
    if (partition === undefined) {
      throw new SubmissionError(
        "UNKNOWN_PARTITION",
        `template ${JSON.stringify(instance.template.name)} has no partition ${JSON.stringify(name)}, on which request ` +
          `${instance.request.id} is laid; give it one, or submit to another request`,
        { template: instance.template.name, partition: name, request: instance.request.id },
      );
    }
    return instanceNeed(instance, partition, this.#cluster);
  }

  /** Grows the claim of a placed request without limits for one more instance. Throws CLAIM_TOO_LARGE_NOW. */
  growFor(instance: InstanceNode): void {
    const { request } = instance;
    const need = this.needOf(instance);
    const lack = this.shortage(need);
    if (lack !== null) {
      throw new SubmissionError(
        "CLAIM_TOO_LARGE_NOW",
        `request ${request.id} declared no limits and is already running, and another ${lack.neededBytes} bytes on accelerator ` +
          `${this.#name(lack.accelerator)} cannot be guaranteed (${lack.availableBytes} available); open the request with limits, ` +
          "or submit all of its instances before the first one starts",
        { request: request.id, ...lack },
      );
    }
    instance.claimedBytes = need.bytes;
    addInto(request.reservedBytes, need.bytes);
    addInto(this.#reserved, need.bytes);
    maxInto(request.workspaceBytes, need.workspaceBytes);
    maxInto(this.#workspace, need.workspaceBytes);
  }

  /** The first accelerator on which the claim of its placed request has no room for an instance now, or null. */
  lackWithinClaim(instance: InstanceNode): Shortage | null {
    const { request } = instance;
    if (request.limits === null) return null;
    const need = this.needOf(instance);
    for (let a = 0; a < need.bytes.length; a++) {
      const availableBytes = (request.reservedBytes[a] as number) - (request.usedBytes[a] as number);
      const neededBytes = need.bytes[a] as number;
      if (neededBytes > availableBytes) return { accelerator: a, neededBytes, availableBytes };
    }
    return null;
  }

  /** Takes the instance's need from its request's claim. */
  begin(instance: InstanceNode): void {
    instance.needBytes = instance.claimedBytes ?? this.needOf(instance).bytes;
    addInto(instance.request.usedBytes, instance.needBytes);
  }

  /** Its operators have ended: from now on only the buffers it left behind count. A second call changes nothing. */
  end(instance: InstanceNode): void {
    const { request, needBytes, claimedBytes } = instance;
    instance.claimedBytes = null;
    if (needBytes === null) {
      if (claimedBytes !== null) this.#unreserve(request, claimedBytes);
      // What an unplaced request would claim is less now, and where it may go perhaps more.
      else if (request.partition === null) this.#epoch += 1;
      return;
    }
    instance.needBytes = null;
    const left = new Float64Array(needBytes.length);
    for (const buffer of instance.buffers) {
      const bytes = buffer.shares.get(instance) ?? 0;
      buffer.shares.delete(instance);
      buffer.endedBytes += bytes;
      left[buffer.accelerator] = (left[buffer.accelerator] as number) + bytes;
    }
    instance.buffers.clear();
    for (let a = 0; a < left.length; a++) this.#use(request, a, (left[a] as number) - (needBytes[a] as number));
  }

  /** A buffer that ended instances left behind has gone. */
  giveBack(request: RequestNode, accelerator: AcceleratorIndex, bytes: number): void {
    this.#use(request, accelerator, -bytes);
  }

  /** Gives the whole claim back; the request holds nothing any more. */
  remove(request: RequestNode): void {
    if (!this.#placed.delete(request)) return;
    this.#unreserve(request, request.reservedBytes.slice());
    this.#workspace.fill(0);
    for (const other of this.#placed) maxInto(this.#workspace, other.workspaceBytes);
  }

  /** Limits never change, so their claims are worked out once. */
  #limitsClaim(request: RequestNode, limits: readonly Binding[], partitionName: string): MemoryNeed | undefined {
    let claims = this.#claimsOfLimits.get(request);
    if (claims === undefined) {
      claims = new Map();
      this.#claimsOfLimits.set(request, claims);
    }
    if (!claims.has(partitionName)) {
      claims.set(partitionName, limitsNeed(limits, partitionName, request.concurrentInstances, this.#cluster));
    }
    return claims.get(partitionName);
  }

  /** Without limits the claim itself follows. */
  #use(request: RequestNode, accelerator: AcceleratorIndex, bytes: number): void {
    request.usedBytes[accelerator] = (request.usedBytes[accelerator] as number) + bytes;
    if (request.limits !== null) return;
    request.reservedBytes[accelerator] = (request.reservedBytes[accelerator] as number) + bytes;
    this.#reserved[accelerator] = (this.#reserved[accelerator] as number) + bytes;
    if (bytes < 0) this.#epoch += 1;
  }

  #unreserve(request: RequestNode, bytes: Float64Array): void {
    for (let a = 0; a < bytes.length; a++) {
      request.reservedBytes[a] = (request.reservedBytes[a] as number) - (bytes[a] as number);
      this.#reserved[a] = (this.#reserved[a] as number) - (bytes[a] as number);
    }
    this.#epoch += 1;
  }

  #sumOfInstances(instances: Iterable<InstanceNode>, partitionName: string): MemoryNeed | undefined {
    const count = this.#cluster.accelerators.length;
    const total: MemoryNeed = { bytes: new Float64Array(count), workspaceBytes: new Float64Array(count) };
    for (const instance of instances) {
      if (instance.state !== "live") continue;
      const partition = partitionNamed(instance.template, partitionName);
      if (partition === undefined) return undefined;
      const need = instanceNeed(instance, partition, this.#cluster);
      addInto(total.bytes, need.bytes);
      maxInto(total.workspaceBytes, need.workspaceBytes);
    }
    return total;
  }

  #roomBytes(accelerator: AcceleratorIndex): number {
    return (this.#cluster.accelerators[accelerator]?.capacityBytes ?? 0) - this.#ledger.fixedBytes(accelerator);
  }

  #name(accelerator: AcceleratorIndex): string {
    return JSON.stringify(this.#cluster.accelerators[accelerator]?.name);
  }
}
