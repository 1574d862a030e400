import type { Notices } from "slicescheduler";
import { OPERATOR_OUTCOMES, type OperatorColumns, type OperatorOutcome } from "../run-record.ts";
import { GrowingTable } from "./growing-table.ts";
import type { Names } from "./names.ts";
import type { RequestBook } from "./request-book.ts";

const FIELDS = [
  "issueNumber",
  "accelerator",
  "issuedNs",
  "startNs",
  "endNs",
  "name",
  "rank",
  "tenant",
  "request",
  "instance",
  "round",
  "outcome",
] as const;

/** Issues that were not heard of again, as those of a cancelled instance: the oldest are forgotten beyond so many. */
const ISSUED_MAX = 1_000_000;

interface Issued {
  readonly accelerator: number;
  readonly atNs: number;
  readonly round: number;
}

type OperatorNotice = Notices["operatorIssued"];

/** Runs of operators, from their start to their end. */
export class OperatorBook {
  readonly #table: GrowingTable<(typeof FIELDS)[number]>;
  readonly #names: Names;
  readonly #requests: RequestBook;
  /** Of templates, by name: the index of the name of each of their operators. */
  readonly #nameOf = new Map<string, number[]>();
  /** Issued and not started, by issue number. */
  readonly #issued = new Map<number, Issued>();
  /** Rows of those that run, by issue number. */
  readonly #running = new Map<number, number>();

  constructor(rowsMax: number, names: Names, requests: RequestBook) {
    this.#table = new GrowingTable(FIELDS, rowsMax);
    this.#names = names;
    this.#requests = requests;
  }

  get dropped(): number {
    return this.#table.dropped;
  }

  issued({ issueNumber, accelerator, atNs }: OperatorNotice, round: number): void {
    this.#issued.set(issueNumber, { accelerator, atNs, round });
    if (this.#issued.size <= ISSUED_MAX) return;
    for (const oldest of this.#issued.keys()) {
      this.#issued.delete(oldest);
      break;
    }
  }

  withdrawn(issueNumber: number): void {
    this.#issued.delete(issueNumber);
  }

  started(notice: OperatorNotice): void {
    const { issueNumber, accelerator, instance, request, atNs } = notice;
    if (this.#running.has(issueNumber)) return;
    const issued = this.#issued.get(issueNumber);
    this.#issued.delete(issueNumber);
    const table = this.#table;
    const row = table.add();
    table.set(row, "issueNumber", issueNumber);
    table.set(row, "accelerator", accelerator);
    table.set(row, "issuedNs", issued?.atNs ?? Number.NaN);
    table.set(row, "startNs", atNs);
    table.set(row, "name", this.#name(notice));
    table.set(row, "rank", this.#requests.rankOf(request, instance));
    table.set(row, "tenant", this.#requests.tenantOf(request));
    table.set(row, "request", request);
    table.set(row, "instance", instance);
    table.set(row, "round", issued?.round ?? -1);
    table.set(row, "outcome", 0);
    this.#running.set(issueNumber, row);
  }

  /** Of one whose start was not recorded nothing is known but its end: it is left out, and so is what failed before it started. */
  ended({ issueNumber, atNs }: OperatorNotice, outcome: OperatorOutcome): void {
    this.#issued.delete(issueNumber);
    this.#end(issueNumber, outcome, atNs);
  }

  lost(accelerator: number, atNs: number): void {
    for (const [issueNumber, row] of this.#running)
      if (this.#table.get(row, "accelerator") === accelerator) this.#end(issueNumber, "lost", atNs);
    for (const [issueNumber, issued] of this.#issued)
      if (issued.accelerator === accelerator) this.#issued.delete(issueNumber);
  }

  columns(): OperatorColumns {
    const column = (field: (typeof FIELDS)[number]) => this.#table.column(field);
    return {
      count: this.#table.count,
      issueNumber: column("issueNumber"),
      accelerator: Uint16Array.from(column("accelerator")),
      issuedNs: column("issuedNs"),
      startNs: column("startNs"),
      endNs: column("endNs"),
      name: Uint32Array.from(column("name")),
      rank: Int16Array.from(column("rank")),
      tenant: Int32Array.from(column("tenant")),
      request: column("request"),
      instance: column("instance"),
      round: column("round"),
      outcome: Uint8Array.from(column("outcome")),
    };
  }

  #end(issueNumber: number, outcome: OperatorOutcome, atNs: number): void {
    const row = this.#running.get(issueNumber);
    if (row === undefined) return;
    this.#running.delete(issueNumber);
    this.#table.set(row, "endNs", atNs);
    this.#table.set(row, "outcome", OPERATOR_OUTCOMES.indexOf(outcome));
  }

  /** Without putting the two together again for every operator. */
  #name({ template, operator, operatorName }: OperatorNotice): number {
    let names = this.#nameOf.get(template);
    if (names === undefined) {
      names = [];
      this.#nameOf.set(template, names);
    }
    const known = names[operator];
    if (known !== undefined) return known;
    const index = this.#names.of(`${template}/${operatorName}`);
    names[operator] = index;
    return index;
  }
}
