import type { ApplicationEvent } from "slicescheduler";
import { REQUEST_OUTCOMES, type RequestColumns, type RequestOutcomeName } from "../run-record.ts";
import { GrowingTable } from "./growing-table.ts";
import type { Names } from "./names.ts";

const FIELDS = [
  "id",
  "rank",
  "tenant",
  "submittedNs",
  "startedNs",
  "firstDoneNs",
  "firstTokenNs",
  "lastTokenNs",
  "tokens",
  "endNs",
  "instancesDone",
  "outcome",
  "liveInstances",
] as const;

/** Requests and what became of them. */
export class RequestBook {
  readonly #table: GrowingTable<(typeof FIELDS)[number]>;
  readonly #tenants: Names;
  /** Rows by number of the request, those of rows that have gone among them until they are swept. */
  readonly #rowOf = new Map<number, number>();
  /** Of the rows kept, by their order. */
  #labels: string[] = [];
  #swept = 0;
  /** Numbers of requests rise: what comes again of those up to this one, whose rows have gone, is not recorded anew. */
  #goneId = -1;
  /** Of instances that have not ended and are of another class than their request. */
  readonly #ranks = new Map<number, number>();

  constructor(rowsMax: number, tenants: Names) {
    this.#table = new GrowingTable(FIELDS, rowsMax);
    this.#tenants = tenants;
  }

  get dropped(): number {
    return this.#table.dropped;
  }

  opened({ request, rank, tenant, label }: Extract<ApplicationEvent, { type: "requestOpened" }>): void {
    const row = this.#row(request);
    this.#table.set(row, "rank", rank);
    this.#table.set(row, "tenant", this.#tenants.of(tenant));
    const index = row - this.#table.dropped;
    if (index >= 0) this.#labels[index] = label;
  }

  submitted({ instance, request, rank }: Extract<ApplicationEvent, { type: "instanceSubmitted" }>, atNs: number): void {
    const row = this.#row(request);
    if (rank !== null && rank !== this.#table.get(row, "rank")) this.#ranks.set(instance, rank);
    this.#first(row, "submittedNs", atNs);
    this.#add(row, "liveInstances", 1);
    this.#outcome(row, "open");
  }

  started(request: number, atNs: number): void {
    this.#first(this.#row(request), "startedNs", atNs);
  }

  ended(request: number, instance: number, how: Exclude<RequestOutcomeName, "open">, atNs: number): void {
    const row = this.#row(request);
    this.#ranks.delete(instance);
    this.#table.set(row, "endNs", atNs);
    if (how === "done") {
      this.#first(row, "firstDoneNs", atNs);
      this.#add(row, "instancesDone", 1);
    }
    const live = Math.max(0, this.#table.get(row, "liveInstances") - 1);
    this.#table.set(row, "liveInstances", live);
    this.#outcome(row, live > 0 ? "open" : how);
  }

  token(request: number, atNs: number): void {
    const row = this.#row(request);
    this.#first(row, "firstTokenNs", atNs);
    this.#table.set(row, "lastTokenNs", atNs);
    this.#add(row, "tokens", 1);
  }

  /** −1 where it is not known. */
  rankOf(request: number, instance: number): number {
    return this.#ranks.get(instance) ?? this.#known(request, "rank");
  }

  /** −1 where it is not known. */
  tenantOf(request: number): number {
    return this.#known(request, "tenant");
  }

  columns(): RequestColumns {
    const column = (field: (typeof FIELDS)[number]) => this.#table.column(field);
    return {
      count: this.#table.count,
      id: column("id"),
      labels: [...this.#labels],
      rank: Int16Array.from(column("rank")),
      tenant: Int32Array.from(column("tenant")),
      submittedNs: column("submittedNs"),
      startedNs: column("startedNs"),
      firstDoneNs: column("firstDoneNs"),
      firstTokenNs: column("firstTokenNs"),
      lastTokenNs: column("lastTokenNs"),
      tokens: column("tokens"),
      endNs: column("endNs"),
      instancesDone: Uint32Array.from(column("instancesDone")),
      outcome: Uint8Array.from(column("outcome")),
    };
  }

  /** Of the request, which may be new; −1 where it has gone. */
  #row(request: number): number {
    const known = this.#rowOf.get(request);
    if (known !== undefined) return known;
    if (request <= this.#goneId) return -1;
    const row = this.#table.add();
    this.#rowOf.set(request, row);
    this.#sweep();
    this.#labels.push("");
    this.#table.set(row, "id", request);
    for (const field of ["rank", "tenant"] as const) this.#table.set(row, field, -1);
    for (const field of ["tokens", "instancesDone", "outcome", "liveInstances"] as const)
      this.#table.set(row, field, 0);
    return row;
  }

  /** Forgets what belongs to rows that have gone. */
  #sweep(): void {
    const { dropped } = this.#table;
    if (dropped === this.#swept) return;
    this.#labels = this.#labels.slice(dropped - this.#swept);
    this.#swept = dropped;
    for (const [request, row] of this.#rowOf) {
      if (row >= dropped) continue;
      this.#rowOf.delete(request);
      this.#goneId = Math.max(this.#goneId, request);
    }
  }

  #known(request: number, field: "rank" | "tenant"): number {
    const row = this.#rowOf.get(request);
    const value = row === undefined ? Number.NaN : this.#table.get(row, field);
    return Number.isNaN(value) ? -1 : value;
  }

  #first(row: number, field: (typeof FIELDS)[number], atNs: number): void {
    if (Number.isNaN(this.#table.get(row, field))) this.#table.set(row, field, atNs);
  }

  #add(row: number, field: (typeof FIELDS)[number], by: number): void {
    this.#table.set(row, field, this.#table.get(row, field) + by);
  }

  #outcome(row: number, outcome: RequestOutcomeName): void {
    this.#table.set(row, "outcome", REQUEST_OUTCOMES.indexOf(outcome));
  }
}
