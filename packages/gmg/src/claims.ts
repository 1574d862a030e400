/**
 * Memory claims: what each placed request holds on each accelerator and may come to hold. What begins is granted all that it
 * can need, so that whatever the order and timing it runs to its end without waiting for memory that another one holds.
 *
 * A request that declared limits claims for the largest instances it may submit, once, and takes of it instance by instance, unless it
 * may pause: then, as for one that declared no limits, everything it claims is set aside (grants.ts). Without limits the claim is
 * for the instances it has submitted; it falls as they end and must grow for each further one.
 */
import type { Binding } from "./binding.ts";
import { instanceNeed, limitsNeed, type MemoryNeed, partitionNamed } from "./bounds.ts";
import { addInto, maxInto } from "./byte-vectors.ts";
import type { Cluster } from "./cluster.ts";
import type { Moment } from "./cover-order.ts";
import { type Grant, GrantBook, type Shortage } from "./grants.ts";
import { SubmissionError } from "./graph-errors.ts";
import type { ResidencyLedger } from "./ledger.ts";
import type { InstanceNode, RequestNode } from "./nodes.ts";
import type { AcceleratorIndex } from "./types.ts";

/**
 * `"guaranteed"`: work is issued only when, whatever the order and timing, no capacity is passed and nobody waits for memory for
 * ever. `"predicted"` (the paper's): claims are counted and bind nobody; the scheduler leaves out what it predicts to pass a capacity.
 */
export type MemorySafety = "guaranteed" | "predicted";

/**
 * What a request would claim on a partition, and how that is counted. At `"rest"`: what its instances hold while none of its operators runs
 * adds up with other requests', and what a running one has beside that counts with the workspace, once per accelerator: the less when many
 * share an accelerator. At `"any"` moment: all that they hold at once adds up: sometimes the less for one alone.
 */
export interface Claim extends MemoryNeed {
  readonly moment: Moment;
}

export class ClaimBook {
  readonly memorySafety: MemorySafety;
  readonly #cluster: Cluster;
  readonly #ledger: ResidencyLedger;
  readonly #claimsOfLimits = new WeakMap<RequestNode, Map<string, MemoryNeed | undefined>>();
  readonly #grants: GrantBook<RequestNode>;
  #epoch = 0;

  constructor(cluster: Cluster, ledger: ResidencyLedger, memorySafety: MemorySafety) {
    this.memorySafety = memorySafety;
    this.#cluster = cluster;
    this.#ledger = ledger;
    this.#grants = new GrantBook<RequestNode>(
      cluster.accelerators.length,
      (accelerator) => this.roomBytes(accelerator),
      memorySafety === "guaranteed",
    );
  }

  /** Rises whenever a claim, or what is taken of one, falls: what did not fit need not be tried again until it does. */
  get epoch(): number {
    return this.#epoch;
  }

  /** What an accelerator has beside baseline and weights. */
  roomBytes(accelerator: AcceleratorIndex): number {
    return (this.#cluster.accelerators[accelerator]?.capacityBytes ?? 0) - this.#ledger.fixedBytes(accelerator);
  }

  /** Σ claims of placed requests; it may exceed the accelerator. */
  reservedBytes(accelerator: AcceleratorIndex): number {
    return this.#grants.reservedBytes(accelerator);
  }

  /** What of them is granted; with `workspaceBytes` it never exceeds `roomBytes`. */
  takenBytes(accelerator: AcceleratorIndex): number {
    return this.#grants.takenBytes(accelerator);
  }

  /** The largest workspace of any operator of a placed request. */
  workspaceBytes(accelerator: AcceleratorIndex): number {
    return this.#grants.workspaceBytes(accelerator);
  }

  /**
   * What an unplaced request would claim on a partition; undefined when a template of its own has no such partition.
   * @param otherBytes Taken there by something that stays. Default: nothing.
   */
  claimOn(request: RequestNode, partitionName: string, otherBytes?: Float64Array): Claim | undefined {
    const atRest = this.#claimAt(request, partitionName, "rest");
    if (atRest === undefined || this.lackWhenEmpty(atRest, otherBytes) === null) return atRest;
    return this.#claimAt(request, partitionName, "any");
  }

  #claimAt(request: RequestNode, partitionName: string, moment: Moment): Claim | undefined {
    const need =
      request.limits === null
        ? this.#sumOfInstances(request.instances, partitionName, moment)
        : this.#limitsClaim(request, request.limits, partitionName, moment);
    return need === undefined ? undefined : { ...need, moment };
  }

  /** Null when the request of an instance can be placed on a partition now, and the instance begin there. */
  lackToPlace(instance: InstanceNode, partitionName: string, claim: Claim): Shortage | null {
    const partition = partitionNamed(instance.template, partitionName);
    if (partition === undefined) throw new RangeError(`its template has no partition ${partitionName}`);
    // Whatever else is there: a partition that could not even hold it alone is out of the question.
    if (this.memorySafety === "predicted") return this.lackWhenEmpty(claim);
    const take = instance.request.growing
      ? instanceNeed(instance, partition, this.#cluster, claim.moment).bytes
      : NOTHING;
    return this.#grants.lackFor(instance.request, { claim: claim.bytes, take, workspaceBytes: claim.workspaceBytes });
  }

  /** Null when an instance of a placed request can begin now. */
  lackToBegin(instance: InstanceNode): Shortage | null {
    const grant = this.#grantTo(instance);
    const { request } = instance;
    if (grant.claim === null || request.begunInstances === 0 || this.memorySafety === "predicted")
      return this.#grants.lackFor(request, grant);
    const accelerator = grant.claim.findIndex((bytes) => bytes > 0);
    const neededBytes = grant.take[accelerator] as number;
    const availableBytes = neededBytes - (grant.claim[accelerator] as number);
    return { accelerator, neededBytes, availableBytes, cause: "claim" };
  }

  /** Null when the claim would fit on accelerators that hold nothing but baseline, weights and so many bytes more. */
  lackWhenEmpty(claim: MemoryNeed, otherBytes: Float64Array = NOTHING): Shortage | null {
    for (const { index: accelerator } of this.#cluster.accelerators) {
      const neededBytes = (claim.bytes[accelerator] as number) + (claim.workspaceBytes[accelerator] as number);
      const availableBytes = this.roomBytes(accelerator) - (otherBytes[accelerator] ?? 0);
      if (neededBytes > 0 && neededBytes > availableBytes)
        return { accelerator, neededBytes, availableBytes, cause: "room" };
    }
    return null;
  }

  /** Of an instance of a placed request: null when it would fit on its partition, were that empty. */
  lackWhenAlone(instance: InstanceNode): Shortage | null {
    const lack = this.lackWhenEmpty(this.needOf(instance));
    const partition = partitionNamed(instance.template, instance.request.partition as string);
    if (lack === null || partition === undefined) return lack;
    return this.lackWhenEmpty(instanceNeed(instance, partition, this.#cluster, "any"));
  }

  /** Null when so many bytes more of weights leave every grant whole and a safe order. */
  lackForWeights(bytes: Float64Array): Shortage | null {
    return this.#grants.lackForOthers(bytes);
  }

  /** Lays the request on the partition with its claim; the caller has seen that it fits. */
  place(request: RequestNode, partitionName: string, claim: Claim): void {
    request.partition = partitionName;
    request.moment = claim.moment;
    this.#grants.grant(request, { claim: claim.bytes, take: NOTHING, workspaceBytes: claim.workspaceBytes });
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

  /** Grows the claim of a placed request without limits for one more instance. Throws CLAIM_TOO_LARGE_NOW. */
  growFor(instance: InstanceNode): void {
    const { request } = instance;
    const { bytes, workspaceBytes } = this.needOf(instance);
    const grant = { claim: bytes, take: NOTHING, workspaceBytes };
    const lack = this.#grants.lackFor(request, grant);
    if (lack !== null) {
      throw new SubmissionError(
        "CLAIM_TOO_LARGE_NOW",
        `request ${request.id} declared no limits and is already running, and another ${lack.neededBytes} bytes on accelerator ` +
          `${this.#name(lack.accelerator)} cannot be guaranteed (${lack.availableBytes} available); open the request with limits, ` +
          "or submit all of its instances before the first one starts",
        { request: request.id, ...lack },
      );
    }
    instance.claimedBytes = bytes;
    this.#grants.grant(request, grant);
  }

  /** Grants the instance what it needs; the caller has seen that nothing is lacking. */
  begin(instance: InstanceNode): void {
    const grant = this.#grantTo(instance);
    instance.needBytes = grant.take;
    this.#grants.grant(instance.request, grant);
    instance.request.begunInstances += 1;
  }

  /** Its operators have ended: from now on only the buffers it left behind count. A second call changes nothing. */
  end(instance: InstanceNode): void {
    const { request, needBytes, claimedBytes } = instance;
    instance.claimedBytes = null;
    this.#epoch += 1;
    if (needBytes === null) {
      if (claimedBytes !== null) this.#grants.unreserve(request, claimedBytes);
      return;
    }
    instance.needBytes = null;
    request.begunInstances -= 1;
    const left = new Float64Array(needBytes.length);
    for (const buffer of instance.buffers) {
      const bytes = buffer.shares.get(instance) ?? 0;
      buffer.shares.delete(instance);
      buffer.endedBytes += bytes;
      left[buffer.accelerator] = (left[buffer.accelerator] as number) + bytes;
    }
    instance.buffers.clear();
    for (let a = 0; a < left.length; a++) {
      this.#giveBack(request, a, (needBytes[a] as number) - (left[a] as number));
    }
  }

  /** A buffer that ended instances left behind has gone. */
  giveBack(request: RequestNode, accelerator: AcceleratorIndex, bytes: number): void {
    this.#giveBack(request, accelerator, bytes);
    this.#epoch += 1;
  }

  /** Where it lay is gone: nothing of it has begun, and its claim is what it holds, until it is placed again. */
  keepOnlyHeld(request: RequestNode): void {
    for (const instance of request.instances) this.end(instance);
    this.#grants.keepOnlyUsed(request);
    this.#epoch += 1;
  }

  /** What could not be granted may be possible now for another reason. */
  changed(): void {
    this.#epoch += 1;
  }

  /**
   * Whether so many bytes will fit once all placed requests have ended that promise to: those that may pause keep what they claim.
   * Linear in the placed requests.
   */
  leavesRoomFor(bytes: Float64Array, asker: RequestNode): boolean {
    const kept = new Float64Array(bytes.length);
    for (const request of this.placed()) {
      if (request !== asker && request.limits !== null && !request.growing) addInto(kept, request.reservedBytes);
    }
    return bytes.every((needed, a) => needed === 0 || needed + (kept[a] as number) <= this.roomBytes(a));
  }

  /** Ids of requests that hold memory on an accelerator, rising: a wait for it ends with them, or before. */
  holdersOn(accelerator: AcceleratorIndex): number[] {
    const ids: number[] = [];
    for (const { id, growing, usedBytes, reservedBytes } of this.placed()) {
      if (((growing ? usedBytes : reservedBytes)[accelerator] as number) > 0) ids.push(id);
    }
    return ids.sort((a, b) => a - b);
  }

  /** Requests that have claims, in no particular order. */
  placed(): IterableIterator<RequestNode> {
    return this.#grants.holders();
  }

  /** For a restored graph: what requests had been granted, in the order in which `placed` told them. */
  restore(epoch: number, grants: readonly (Grant & { readonly request: RequestNode })[]): void {
    for (const { request, ...grant } of grants) this.#grants.grant(request, grant);
    this.#epoch = epoch;
  }

  /** Gives the whole claim back; the request holds nothing any more. */
  remove(request: RequestNode): void {
    if (this.#grants.remove(request)) this.#epoch += 1;
  }

  /** What an instance takes when it begins, and by how much that passes its request's claim. */
  #grantTo(instance: InstanceNode): Grant {
    const { request } = instance;
    const take = instance.claimedBytes ?? this.needOf(instance).bytes;
    const beyond = take.map((bytes, a) =>
      Math.max(0, (request.usedBytes[a] as number) + bytes - (request.reservedBytes[a] as number)),
    );
    return { claim: beyond.some((bytes) => bytes > 0) ? beyond : null, take, workspaceBytes: null };
  }

  /** The claim itself follows, where it is not one for limits on a partition. */
  #giveBack(request: RequestNode, accelerator: AcceleratorIndex, bytes: number): void {
    if (bytes === 0) return;
    this.#grants.giveBack(request, accelerator, bytes);
    if (request.limits !== null && request.partition !== null) return;
    const falls = new Float64Array(this.#cluster.accelerators.length);
    falls[accelerator] = bytes;
    this.#grants.unreserve(request, falls);
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
    return instanceNeed(instance, partition, this.#cluster, instance.request.moment);
  }

  /** Limits never change, so their claims are worked out once. */
  #limitsClaim(
    request: RequestNode,
    limits: readonly Binding[],
    partitionName: string,
    moment: Moment,
  ): MemoryNeed | undefined {
    let claims = this.#claimsOfLimits.get(request);
    if (claims === undefined) {
      claims = new Map();
      this.#claimsOfLimits.set(request, claims);
    }
    const key = `${moment} ${partitionName}`;
    if (!claims.has(key)) claims.set(key, limitsNeed(limits, partitionName, request, this.#cluster, moment));
    return claims.get(key);
  }

  #sumOfInstances(instances: Iterable<InstanceNode>, partitionName: string, moment: Moment): MemoryNeed | undefined {
    const count = this.#cluster.accelerators.length;
    const total: MemoryNeed = { bytes: new Float64Array(count), workspaceBytes: new Float64Array(count) };
    for (const instance of instances) {
      if (instance.state !== "live") continue;
      const partition = partitionNamed(instance.template, partitionName);
      if (partition === undefined) return undefined;
      const need = instanceNeed(instance, partition, this.#cluster, moment);
      addInto(total.bytes, need.bytes);
      maxInto(total.workspaceBytes, need.workspaceBytes);
    }
    return total;
  }

  #name(accelerator: AcceleratorIndex): string {
    return JSON.stringify(this.#cluster.accelerators[accelerator]?.name);
  }
}

/** Read as 0 everywhere. */
const NOTHING = new Float64Array(0);
