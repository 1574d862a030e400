/** A policy's operators, small enough to travel: see `shared/blocks.ts` for the columns. */
import { OPERATOR_OUTCOMES, type RunRecord } from "@slicescheduler/timeline";
import type { NoticeMeta, TimelineMeta } from "../shared/blocks.ts";
import { pack } from "../shared/columns.ts";
import { decisionsMeta } from "./decisions.ts";
import type { Run } from "./run.ts";
import { endOf, type TimelineOrder } from "./timeline-order.ts";

const noticesMax = 1000;

/** @param unitNs Times are rounded to its multiples; 1 keeps them exact. */
export function timelineBlock({ record, order, tenantOf }: Run, unitNs: number): Uint8Array {
  const names = new Directory(record, tenantOf);
  const columns = { ...operatorColumns(record, order, unitNs, names), ...names.columns() };
  const meta: TimelineMeta = {
    unitNs,
    rows: Array.from(
      { length: order.offsets.length - 1 },
      (_, i) => (order.offsets[i + 1] ?? 0) - (order.offsets[i] ?? 0),
    ),
    priorities: record.priorities,
    tenants: names.tenants,
    operatorNames: record.operatorNames,
    outcomes: OPERATOR_OUTCOMES,
    requestLabels: names.requestLabels,
    ...notices(record),
    decisions: decisionsMeta(record),
  };
  return pack(meta, columns);
}

function operatorColumns(
  record: RunRecord,
  { rows, offsets }: TimelineOrder,
  unitNs: number,
  names: Directory,
): Record<string, ArrayLike<number>> {
  const { operators, startNs } = record;
  const count = rows.length;
  const gap = new Float64Array(count);
  const duration = new Float64Array(count);
  const name = new Uint32Array(count);
  const outcome = new Uint8Array(count);
  const instance = new Float64Array(count);
  for (let accelerator = 0; accelerator + 1 < offsets.length; accelerator++) {
    let before = 0;
    for (let i = offsets[accelerator] ?? 0; i < (offsets[accelerator + 1] ?? 0); i++) {
      const row = rows[i] ?? 0;
      const start = Math.round(((operators.startNs[row] ?? 0) - startNs) / unitNs);
      const end = Math.max(start, Math.round((endOf(record, row) - startNs) / unitNs));
      gap[i] = start - before;
      duration[i] = end - start;
      before = end;
      name[i] = operators.name[row] ?? 0;
      outcome[i] = operators.outcome[row] ?? 0;
      instance[i] = names.instance(row);
    }
  }
  return { gap, duration, name, outcome, instance };
}

/** Instances, requests and tenants that operators refer to, told once. */
class Directory {
  readonly tenants: string[] = [];
  readonly requestLabels: string[] = [];
  readonly #record: RunRecord;
  readonly #tenantOf: (row: number) => string;
  readonly #instances = new Map<number, number>();
  /** One operator of each instance. */
  readonly #rowOf: number[] = [];
  readonly #requests = new Map<number, number>();
  readonly #requestRow = new Map<number, number>();
  readonly #tenantIndex = new Map<string, number>();

  constructor(record: RunRecord, tenantOf: (row: number) => string) {
    this.#record = record;
    this.#tenantOf = tenantOf;
    const { requests, operators } = record;
    for (let row = 0; row < requests.count; row++) this.#requestRow.set(requests.id[row] ?? -1, row);
    const first = new Map<number, number>();
    for (let row = 0; row < operators.count; row++) {
      const instance = operators.instance[row] ?? -1;
      if (!first.has(instance)) first.set(instance, row);
    }
    for (const [instance, row] of [...first].sort(([a], [b]) => a - b)) {
      this.#instances.set(instance, this.#rowOf.length);
      this.#rowOf.push(row);
    }
  }

  /** Index of the instance of an operator. */
  instance(row: number): number {
    return this.#instances.get(this.#record.operators.instance[row] ?? -1) ?? 0;
  }

  columns(): Record<string, ArrayLike<number>> {
    const { operators } = this.#record;
    const at = (column: ArrayLike<number>) => this.#rowOf.map((row) => column[row] ?? -1);
    const instanceRequest = this.#rowOf.map((row) => this.#request(operators.request[row] ?? -1));
    return {
      instanceNumber: at(operators.instance),
      instanceRequest,
      instanceRank: at(operators.rank),
      instanceTenant: this.#rowOf.map((row) => this.#tenant(this.#tenantOf(row))),
      requestNumber: [...this.#requests.keys()],
    };
  }

  #request(id: number): number {
    const known = this.#requests.get(id);
    if (known !== undefined) return known;
    const index = this.#requests.size;
    this.#requests.set(id, index);
    this.requestLabels.push(this.#record.requests.labels[this.#requestRow.get(id) ?? -1] ?? "");
    return index;
  }

  #tenant(name: string): number {
    const known = this.#tenantIndex.get(name);
    if (known !== undefined) return known;
    this.#tenantIndex.set(name, this.tenants.length);
    return this.tenants.push(name) - 1;
  }
}

/** Withdrawals are the rule, not an event; of the rest the first so many. */
function notices(record: RunRecord): { notices: NoticeMeta[]; noticesLeftOut: number } {
  const told = record.notices.filter(({ kind }) => kind !== "operatorWithdrawn");
  return {
    notices: told
      .slice(0, noticesMax)
      .map(({ kind, atNs, accelerator, text }) => ({ kind, atNs: atNs - record.startNs, accelerator, text })),
    noticesLeftOut: Math.max(0, told.length - noticesMax),
  };
}
