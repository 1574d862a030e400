import type { GlobalMappingGraph, InstanceNode, OperatorNode, RequestNode } from "@slicescheduler/gmg";
import { SchedulerError } from "./errors.ts";

/** What a tenant may have, and its share of what all of them have. Everything that is left out has no limit. */
export interface TenantOptions {
  /** Its share within a class is in proportion to it. A number above 0. Default 1. */
  readonly weight?: number;
  /** Requests placed at a time. */
  readonly placedRequestsMax?: number;
  /** Bytes that its placed requests claim, all accelerators together. */
  readonly claimedBytesMax?: number;
  /** Operators that executors have at a time. */
  readonly issuedOperatorsMax?: number;
  /** Requests that wait for a place; a further one is refused. */
  readonly queuedRequestsMax?: number;
}

/** A limit that a tenant has reached. */
export interface QuotaReached {
  readonly tenant: string;
  readonly quota: "placedRequestsMax" | "claimedBytesMax" | "issuedOperatorsMax";
  readonly found: number;
  readonly limit: number;
}

class Tenant {
  readonly name: string;
  readonly options: TenantOptions;
  readonly #graph: GlobalMappingGraph;
  /** Requests that were opened; those that have gone are dropped when they are counted. */
  readonly #requests = new Set<RequestNode>();
  issuedOperators = 0;
  #held: { readonly version: string; readonly placed: number; readonly bytes: number } = {
    version: "",
    placed: 0,
    bytes: 0,
  };
  /** By class: where, in virtual time, what it has submitted ends. */
  readonly finishes: number[] = [];

  constructor(name: string, options: TenantOptions, graph: GlobalMappingGraph) {
    this.name = name;
    this.options = options;
    this.#graph = graph;
  }

  opened(request: RequestNode): void {
    if (this.#isCounted) this.#requests.add(request);
  }

  get #isCounted(): boolean {
    const { placedRequestsMax, claimedBytesMax, queuedRequestsMax } = this.options;
    return placedRequestsMax !== undefined || claimedBytesMax !== undefined || queuedRequestsMax !== undefined;
  }

  get queuedRequests(): number {
    let queued = 0;
    // One without instances asks for no place.
    for (const { partition, instances } of this.#present()) if (partition === null && instances.size > 0) queued += 1;
    return queued;
  }

  /** The limit that keeps an operator from being issued; null where none does. */
  reached({ instance }: OperatorNode, version: string): QuotaReached | null {
    const { issuedOperatorsMax = Number.POSITIVE_INFINITY } = this.options;
    if (this.issuedOperators >= issuedOperatorsMax) {
      return this.#quota("issuedOperatorsMax", this.issuedOperators, issuedOperatorsMax);
    }
    return instance.request.partition === null ? this.#reachedByPlacing(version) : null;
  }

  /** @param version Changes whenever a request may have been placed, or have given something back. */
  #reachedByPlacing(version: string): QuotaReached | null {
    const { placedRequestsMax, claimedBytesMax } = this.options;
    if (placedRequestsMax === undefined && claimedBytesMax === undefined) return null;
    const { placed, bytes } = this.#holding(version);
    if (placed >= (placedRequestsMax ?? Number.POSITIVE_INFINITY)) {
      return this.#quota("placedRequestsMax", placed, placedRequestsMax as number);
    }
    // What the next one claims depends on its place: it is let in while the limit is not reached.
    if (bytes >= (claimedBytesMax ?? Number.POSITIVE_INFINITY)) {
      return this.#quota("claimedBytesMax", bytes, claimedBytesMax as number);
    }
    return null;
  }

  #holding(version: string): { readonly placed: number; readonly bytes: number } {
    if (this.#held.version === version) return this.#held;
    let placed = 0;
    let bytes = 0;
    for (const { partition, reservedBytes } of this.#present()) {
      if (partition === null) continue;
      placed += 1;
      for (const reserved of reservedBytes) bytes += reserved;
    }
    this.#held = { version, placed, bytes };
    return this.#held;
  }

  #quota(quota: QuotaReached["quota"], found: number, limit: number): QuotaReached {
    return { tenant: this.name, quota, found, limit };
  }

  *#present(): IterableIterator<RequestNode> {
    for (const request of this.#requests) {
      if (this.#graph.hasRequest(request)) yield request;
      else this.#requests.delete(request);
    }
  }
}

/**
 * Who has what, and whose turn it is: start-time fair queueing. What a tenant submits begins, in virtual time, where what it submitted
 * before ends, but not before what is being issued now, and lasts as long as its operators are predicted to, over the tenant's weight; within a class and
 * deadline the earliest beginning goes first. With one tenant that is the order of submission.
 */
export class Tenants {
  readonly #graph: GlobalMappingGraph;
  readonly #options: Readonly<Record<string, TenantOptions>>;
  readonly #everybody: Tenant;
  readonly #tenants = new Map<string, Tenant>();
  readonly #tenantOf = new WeakMap<RequestNode, Tenant>();
  /** By class: the beginning, in virtual time, of what was issued last. */
  readonly #nows: number[] = [];
  /** Issues so far. */
  #issues = 0;
  /** What instances of which nothing was issued yet are charged, in virtual time. */
  readonly #charges = new WeakMap<InstanceNode, number>();

  /** @param queuedRequestsMax Of all tenants together. Default: no limit. */
  constructor(
    graph: GlobalMappingGraph,
    options: Readonly<Record<string, TenantOptions>>,
    queuedRequestsMax: number | undefined,
  ) {
    this.#graph = graph;
    this.#options = options;
    this.#everybody = new Tenant("", queuedRequestsMax === undefined ? {} : { queuedRequestsMax }, graph);
  }

  /** Goes on where another one is. `twins` are the requests of its graph, each with its copy. */
  continueFrom(other: Tenants, twins: ReadonlyMap<RequestNode, RequestNode>): void {
    for (const [request, twin] of twins) {
      this.opened(twin, other.nameOf(request));
    }
    for (const [name, { issuedOperators, finishes }] of other.#tenants) {
      const twin = this.#named(name);
      twin.issuedOperators = issuedOperators;
      twin.finishes.push(...finishes);
    }
    this.#nows.push(...other.#nows);
  }

  /** Whether there is more than one to share. */
  get areTold(): boolean {
    return Object.keys(this.#options).length > 0;
  }

  /** Throws UNKNOWN_TENANT, QUEUE_FULL. */
  requireRoom(name: string): void {
    if (name !== "" && !Object.hasOwn(this.#options, name)) failUnknown(name, Object.keys(this.#options));
    for (const tenant of [this.#everybody, this.#named(name)]) {
      const { queuedRequestsMax: limit } = tenant.options;
      if (limit !== undefined && tenant.queuedRequests >= limit) failFull(tenant.name, tenant.queuedRequests, limit);
    }
  }

  /** As `requireRoom`, for an unplaced request that is to get its first instance. */
  requireRoomFor(request: RequestNode): void {
    this.requireRoom(this.nameOf(request));
  }

  /** The empty name for a request without a tenant, or unknown. */
  nameOf(request: RequestNode): string {
    return this.#tenantOf.get(request)?.name ?? "";
  }

  opened(request: RequestNode, name: string): void {
    this.#everybody.opened(request);
    if (!this.areTold) return;
    const tenant = this.#named(name);
    tenant.opened(request);
    this.#tenantOf.set(request, tenant);
  }

  /** Where an instance of a class submitted now begins in virtual time. */
  beginning(request: RequestNode, rank: number): number {
    const finish = this.#tenantOf.get(request)?.finishes[rank] ?? 0;
    return Math.max(finish, this.#nows[rank] ?? 0);
  }

  /** @param durationNs Of all its operators, as predicted. */
  submitted(instance: InstanceNode, durationNs: number): void {
    const { request, rank, order } = instance;
    const tenant = this.#tenantOf.get(request);
    if (tenant === undefined) return;
    while (tenant.finishes.length <= rank) tenant.finishes.push(0);
    const charge = durationNs / (tenant.options.weight ?? 1);
    tenant.finishes[rank] = order + charge;
    this.#charges.set(instance, charge);
  }

  /** It was settled: what was never issued is not charged. */
  settled(instance: InstanceNode): void {
    const charge = this.#charges.get(instance);
    const tenant = this.#tenantOf.get(instance.request);
    if (charge === undefined || tenant === undefined) return;
    this.#charges.delete(instance);
    tenant.finishes[instance.rank] = Math.max(0, (tenant.finishes[instance.rank] ?? 0) - charge);
  }

  issued({ instance }: OperatorNode): void {
    const tenant = this.#tenantOf.get(instance.request);
    if (tenant === undefined) return;
    this.#issues += 1;
    tenant.issuedOperators += 1;
    this.#charges.delete(instance);
    const { rank, order } = instance;
    while (this.#nows.length <= rank) this.#nows.push(0);
    this.#nows[rank] = Math.max(this.#nows[rank] as number, order);
  }

  /** An executor has it no longer. */
  ended({ instance }: OperatorNode): void {
    const tenant = this.#tenantOf.get(instance.request);
    if (tenant !== undefined) tenant.issuedOperators -= 1;
  }

  /** What executors have, counted anew: some of it has vanished. */
  recount(): void {
    for (const tenant of this.#tenants.values()) tenant.issuedOperators = 0;
    for (const { instance } of this.#graph.issuedOperators()) {
      const tenant = this.#tenantOf.get(instance.request);
      if (tenant !== undefined) tenant.issuedOperators += 1;
    }
  }

  /** The limit that keeps an operator from being issued now; null where none does. */
  reached(operator: OperatorNode): QuotaReached | null {
    const version = `${this.#graph.claims.epoch} ${this.#issues}`;
    return this.#tenantOf.get(operator.instance.request)?.reached(operator, version) ?? null;
  }

  #named(name: string): Tenant {
    const known = this.#tenants.get(name);
    if (known !== undefined) return known;
    const options = Object.hasOwn(this.#options, name) ? this.#options[name] : undefined;
    const tenant = new Tenant(name, options ?? {}, this.#graph);
    this.#tenants.set(name, tenant);
    return tenant;
  }
}

function failUnknown(tenant: string, known: readonly string[]): never {
  const names = known.length === 0 ? "no tenants are declared" : `the tenants are ${known.join(", ")}`;
  throw new SchedulerError("UNKNOWN_TENANT", `there is no tenant ${JSON.stringify(tenant)}; ${names}`, { tenant });
}

function failFull(tenant: string, queued: number, limit: number): never {
  throw new SchedulerError(
    "QUEUE_FULL",
    `${queued} requests${tenant === "" ? "" : ` of tenant ${JSON.stringify(tenant)}`} wait for a place, and ${limit} may; submit again when ` +
      "one was placed",
    { tenant, queued, limit },
  );
}
