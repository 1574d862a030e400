/**
 * Memory claims: what each placed request holds on each accelerator and may come to hold. What begins is granted all that it
 * can need, so that whatever the order and timing it runs to its end without waiting for memory that another one holds.
 *
 * A request that declared limits claims for the largest instances it may submit, once, and takes of it instance by instance, unless it
 * may pause: then, as for one that declared no limits, everything it claims is set aside (grants.ts). Without limits the claim is
 * for the instances it has submitted; it falls as they end and must grow for each further one.
 */
import {
  type AcceleratorIndex,
  type Binding,
  type Cluster,
  InvariantBrokenError,
  partitionNamed,
} from "@slicescheduler/templates";
import { instanceNeed, type MemoryNeed } from "./bounds.ts";
import { bytesOn, gather, NO_BYTES, sparseOf } from "./byte-vectors.ts";
import { ClaimNeeds, type SparseNeed, sparseNeed, workspaceOf } from "./claim-needs.ts";
import type { ClaimingInstance, ClaimingRequest } from "./claimants.ts";
import type { Moment } from "./cover-order.ts";
import { type Grant, GrantBook, type Shortage } from "./grants.ts";

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
export interface Claim extends SparseNeed {
  readonly moment: Moment;
}

/** What a request was granted when its graph was saved, per accelerator of the cluster. */
interface GrantedBytes<R> {
  readonly request: R;
  readonly claim: Float64Array;
  readonly take: Float64Array;
  readonly workspaceBytes: Float64Array;
}

/** @typeParam R The requests of whoever keeps the book. */
export class ClaimBook<R extends ClaimingRequest<R>> {
  readonly memorySafety: MemorySafety;
  readonly #cluster: Cluster;
  readonly #roomBytes: Float64Array;
  readonly #needs: ClaimNeeds;
  readonly #grants: GrantBook<R>;
  #epoch = 0;

  constructor(cluster: Cluster, memorySafety: MemorySafety) {
    this.memorySafety = memorySafety;
    this.#cluster = cluster;
    this.#roomBytes = Float64Array.from(cluster.accelerators, ({ capacityBytes, baselineBytes }) => {
      return capacityBytes - baselineBytes;
    });
    this.#needs = new ClaimNeeds(cluster);
    this.#grants = new GrantBook<R>(
      cluster.accelerators.length,
      (accelerator) => this.roomBytes(accelerator),
      memorySafety === "guaranteed",
    );
  }

  /** Rises whenever a claim, or what is taken of one, falls: what did not fit need not be tried again until it does. */
  get epoch(): number {
    return this.#epoch;
  }

  /** What an accelerator has beside baseline and weights: also of one that is down, whose weights come back with it. */
  roomBytes(accelerator: AcceleratorIndex): number {
    return this.#roomBytes[accelerator] ?? 0;
  }

  /** So many bytes more of weights, rounded, per accelerator; the caller has seen that they fit. */
  addWeights(bytes: Float64Array): void {
    for (let a = 0; a < bytes.length; a++) this.#roomBytes[a] = (this.#roomBytes[a] as number) - (bytes[a] as number);
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
   * What an unplaced request would claim on a partition, beside what it holds: results that stayed when it had to leave its place; undefined
   * when a template of its own has no such partition.
   * @param otherBytes Taken there by something that stays. Default: nothing.
   */
  claimOn(request: R, partitionName: string, otherBytes?: Float64Array): Claim | undefined {
    const atRest = this.#claimAt(request, partitionName, "rest");
    if (atRest === undefined || this.lackWhenEmpty(atRest, otherBytes) === null) return atRest;
    return this.#claimAt(request, partitionName, "any");
  }

  #claimAt(request: R, partitionName: string, moment: Moment): Claim | undefined {
    const need =
      request.limits === null
        ? this.#needs.ofInstances(request.instances, partitionName, moment)
        : this.#limitsClaimBeside(request, request.limits, partitionName, moment);
    if (need === undefined) return undefined;
    const { accelerators, bytes, workspaceBytes } = need;
    return { accelerators, bytes, workspaceBytes, moment };
  }

  /** Null when the request of an instance can be placed on a partition now, and the instance begin there. */
  lackToPlace(instance: ClaimingInstance<R>, partitionName: string, claim: Claim): Shortage | null {
    const need = this.#needs.ofInstance(instance, partitionName, claim.moment);
    if (need === undefined) throw new RangeError(`its template has no partition ${partitionName}`);
    // Whatever else is there: a partition that could not even hold it alone is out of the question.
    if (this.memorySafety === "predicted") return this.lackWhenEmpty(claim);
    const take = instance.request.growing ? need : NO_BYTES;
    return this.#grants.lackFor(instance.request, { claim, take, workspaceBytes: workspaceOf(claim) });
  }

  /** Null when an instance of a placed request can begin now. */
  lackToBegin(instance: ClaimingInstance<R>): Shortage | null {
    const grant = this.#grantTo(instance);
    const { request } = instance;
    if (grant.claim === null || request.begunInstances === 0 || this.memorySafety === "predicted")
      return this.#grants.lackFor(request, grant);
    const { claim } = grant;
    const accelerator = Math.min(...claim.accelerators.filter((a) => bytesOn(claim, a) > 0));
    const neededBytes = bytesOn(grant.take, accelerator);
    const availableBytes = neededBytes - bytesOn(claim, accelerator);
    return { accelerator, neededBytes, availableBytes, cause: "claim" };
  }

  /** Null when the claim would fit on accelerators that hold nothing but baseline, weights and so many bytes more. */
  lackWhenEmpty(need: MemoryNeed | SparseNeed, otherBytes: Float64Array = NOTHING): Shortage | null {
    const { accelerators, bytes, workspaceBytes } = "accelerators" in need ? need : sparseNeed(need);
    let first: Shortage | null = null;
    for (let i = 0; i < bytes.length; i++) {
      const accelerator = accelerators[i] as number;
      const neededBytes = (bytes[i] as number) + (workspaceBytes[i] as number);
      if (neededBytes === 0) continue;
      const availableBytes = this.roomBytes(accelerator) - (otherBytes[accelerator] ?? 0);
      if (neededBytes <= availableBytes || (first !== null && accelerator > first.accelerator)) continue;
      first = { accelerator, neededBytes, availableBytes, cause: "room" };
    }
    return first;
  }

  /** Of an instance of a placed request: null when it would fit on its partition, were that empty. */
  lackWhenAlone(instance: ClaimingInstance<R>): Shortage | null {
    const lack = this.lackWhenEmpty(this.needOf(instance));
    const partition = partitionNamed(instance.template, instance.request.partition as string);
    if (lack === null || partition === undefined) return lack;
    return this.lackWhenEmpty(instanceNeed(instance, partition, this.#cluster, "any"));
  }

  /** Null when so many bytes more of weights leave every grant whole and a safe order. */
  lackForWeights(bytes: Float64Array): Shortage | null {
    return this.#grants.lackForOthers(sparseOf(bytes));
  }

  /** Lays the request on the partition with its claim; the caller has seen that it fits. */
  place(request: R, partitionName: string, claim: Claim): void {
    request.partition = partitionName;
    request.moment = claim.moment;
    this.#grants.grant(request, { claim, take: NO_BYTES, workspaceBytes: workspaceOf(claim) });
    if (request.limits !== null) return;
    for (const instance of request.instances) {
      if (instance.state === "live") instance.claimedBytes = this.needOf(instance).bytes;
    }
  }

  /** What an instance needs under its request's partition, worked out once. The request is placed. */
  needOf(instance: ClaimingInstance<R>): MemoryNeed {
    instance.need ??= this.#needOf(instance);
    return instance.need;
  }

  /** Grows the claim of a placed request without limits for one more instance; or tells what is lacking, and changes nothing. */
  growFor(instance: ClaimingInstance<R>): Shortage | null {
    const { request } = instance;
    const { bytes, workspaceBytes } = this.needOf(instance);
    const used = this.#usedBy(instance);
    const grant = { claim: gather(bytes, used), take: NO_BYTES, workspaceBytes: gather(workspaceBytes, used) };
    const lack = this.#grants.lackFor(request, grant);
    if (lack !== null) return lack;
    instance.claimedBytes = bytes;
    this.#grants.grant(request, grant);
    return null;
  }

  /** Grants the instance what it needs; the caller has seen that nothing is lacking. */
  begin(instance: ClaimingInstance<R>): void {
    const grant = this.#grantTo(instance);
    instance.needBytes = instance.claimedBytes ?? this.needOf(instance).bytes;
    this.#grants.grant(instance.request, grant);
    instance.request.begunInstances += 1;
  }

  /** Its operators have ended: from now on only the buffers it left behind count. A second call changes nothing. */
  end(instance: ClaimingInstance<R>): void {
    const { request, needBytes, claimedBytes } = instance;
    instance.claimedBytes = null;
    this.#epoch += 1;
    if (needBytes === null) {
      if (claimedBytes !== null) this.#grants.unreserve(request, gather(claimedBytes, request.accelerators));
      return;
    }
    instance.needBytes = null;
    request.begunInstances -= 1;
    const left = new Map<AcceleratorIndex, number>();
    for (const buffer of instance.buffers) {
      const bytes = buffer.shares.get(instance) ?? 0;
      buffer.shares.delete(instance);
      buffer.endedBytes += bytes;
      left.set(buffer.accelerator, (left.get(buffer.accelerator) ?? 0) + bytes);
    }
    instance.buffers.clear();
    // What it took is within the claim. Where giving back makes that fall, the request gets a new list.
    for (const a of request.accelerators) {
      this.#giveBack(request, a, (needBytes[a] as number) - (left.get(a) ?? 0));
    }
  }

  /** A buffer that ended instances left behind has gone. */
  giveBack(request: R, accelerator: AcceleratorIndex, bytes: number): void {
    this.#giveBack(request, accelerator, bytes);
    this.#epoch += 1;
  }

  /** Where it lay is gone: nothing of it has begun, and its claim is what it holds, until it is placed again. */
  keepOnlyHeld(request: R): void {
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
  leavesRoomFor(need: MemoryNeed | SparseNeed, asker: R): boolean {
    const { accelerators, bytes } = "accelerators" in need ? need : sparseNeed(need);
    const kept = new Float64Array(bytes.length);
    for (const request of this.placed()) {
      if (request === asker || request.limits === null || request.growing) continue;
      for (let i = 0; i < kept.length; i++) {
        kept[i] = (kept[i] as number) + (request.reservedBytes[accelerators[i] as number] as number);
      }
    }
    return bytes.every((needed, i) => {
      return needed === 0 || needed + (kept[i] as number) <= this.roomBytes(accelerators[i] as number);
    });
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
  placed(): IterableIterator<R> {
    return this.#grants.holders();
  }

  /** For a restored graph: what requests had been granted, in the order in which `placed` told them. */
  restore(epoch: number, grants: readonly GrantedBytes<R>[]): void {
    for (const { request, claim, take, workspaceBytes } of grants) {
      const grant = { claim: sparseOf(claim), take: sparseOf(take), workspaceBytes: sparseOf(workspaceBytes) };
      this.#grants.grant(request, grant);
    }
    this.#epoch = epoch;
  }

  /** Gives the whole claim back; the request holds nothing any more. */
  remove(request: R): void {
    if (this.#grants.remove(request)) this.#epoch += 1;
  }

  /** What an instance takes when it begins, and by how much that passes its request's claim. */
  #grantTo(instance: ClaimingInstance<R>): Grant {
    const { request } = instance;
    const take = gather(instance.claimedBytes ?? this.needOf(instance).bytes, this.#usedBy(instance));
    const claim = { accelerators: take.accelerators, bytes: new Float64Array(take.bytes.length) };
    let isBeyond = false;
    for (let i = 0; i < claim.bytes.length; i++) {
      const a = take.accelerators[i] as number;
      const beyond =
        (request.usedBytes[a] as number) + (take.bytes[i] as number) - (request.reservedBytes[a] as number);
      if (beyond <= 0) continue;
      claim.bytes[i] = beyond;
      isBeyond = true;
    }
    return { claim: isBeyond ? claim : null, take, workspaceBytes: null };
  }

  /** Accelerators that an instance of a placed request will use; it needs nothing on any other. */
  #usedBy({ template, request }: ClaimingInstance<R>): readonly AcceleratorIndex[] {
    return partitionNamed(template, request.partition as string)?.used ?? [];
  }

  /** The claim itself follows, where it is not one for limits on a partition. */
  #giveBack(request: R, accelerator: AcceleratorIndex, bytes: number): void {
    if (bytes === 0) return;
    const isCovered = this.#isWithinLimits(request, accelerator);
    this.#grants.giveBack(request, accelerator, bytes);
    if (isCovered) return;
    this.#grants.unreserve(request, { accelerators: [accelerator], bytes: Float64Array.of(bytes) });
  }

  /** Whether limits claim something there, on the request's partition: what was left elsewhere claims for itself alone. */
  #isWithinLimits(request: R, accelerator: AcceleratorIndex): boolean {
    const { limits, partition, moment, usedBytes, reservedBytes } = request;
    if (limits === null || partition === null) return false;
    if (reservedBytes[accelerator] !== usedBytes[accelerator]) return true;
    const claim = this.#needs.ofLimits(request, limits, partition, moment);
    return claim !== undefined && bytesOn(claim, accelerator) > 0;
  }

  #needOf(instance: ClaimingInstance<R>): MemoryNeed {
    const name = instance.request.partition as string;
    const partition = partitionNamed(instance.template, name);
    // Nobody is placed where a template of its instances is not laid.
    if (partition === undefined) {
      throw new InvariantBrokenError(
        `template ${JSON.stringify(instance.template.name)} has no partition ${JSON.stringify(name)}, on which request ` +
          `${instance.request.id} is laid`,
        { template: instance.template.name, partition: name, request: instance.request.id },
      );
    }
    return instanceNeed(instance, partition, this.#cluster, instance.request.moment);
  }

  /**
   * Limits cover results that are kept, wherever on the partition they are: what is held is a part of the claim, as if it had never been laid
   * anywhere else. Where more is held than they cover, the claim is raised so that any of its instances can begin beside it.
   */
  #limitsClaimBeside(
    request: R,
    limits: readonly Binding[],
    partitionName: string,
    moment: Moment,
  ): SparseNeed | undefined {
    const claim = this.#needs.ofLimits(request, limits, partitionName, moment);
    if (claim === undefined || request.accelerators.length === 0) return claim;
    const { accelerators, workspaceBytes } = claim;
    const bytes = claim.bytes.map((most, i) => {
      return Math.max(0, most - (request.usedBytes[accelerators[i] as number] as number));
    });
    for (const instance of request.instances) {
      if (instance.state !== "live") continue;
      const need = this.#needs.ofInstance(instance, partitionName, moment);
      if (need === undefined) continue;
      accelerators.forEach((a, i) => {
        bytes[i] = Math.max(bytes[i] as number, bytesOn(need, a));
      });
    }
    return { accelerators, bytes, workspaceBytes };
  }
}

/** Read as 0 everywhere. */
const NOTHING = new Float64Array(0);
