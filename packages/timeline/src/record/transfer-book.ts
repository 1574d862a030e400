import type { Notices } from "slicescheduler";
import { TRANSFER_OUTCOMES, type TransferColumns } from "../run-record.ts";
import { GrowingTable } from "./growing-table.ts";

const FIELDS = ["transfer", "source", "destination", "bytes", "startNs", "endNs", "tensor", "outcome"] as const;

type Told = Pick<Notices["transferDone"], "transfer" | "source" | "destination" | "bytes" | "tensor" | "atNs">;

/** Transfers that ended, or whose end is overdue. */
export class TransferBook {
  readonly #table: GrowingTable<(typeof FIELDS)[number]>;

  constructor(rowsMax: number) {
    this.#table = new GrowingTable(FIELDS, rowsMax);
  }

  get dropped(): number {
    return this.#table.dropped;
  }

  /** What an executor observed may be anything: a start before the run is put at its beginning, one that no number tells at the end. */
  done(notice: Notices["transferDone"], startNs: number): void {
    const observedNs = Number.isFinite(notice.observedNs) ? Math.max(0, notice.observedNs) : 0;
    this.#add(notice, Math.max(startNs, Math.round(notice.atNs - observedNs)), "done");
  }

  quarantined(notice: Notices["transferQuarantined"]): void {
    this.#add(notice, Number.NaN, "quarantined");
  }

  columns(): TransferColumns {
    const column = (field: (typeof FIELDS)[number]) => this.#table.column(field);
    return {
      count: this.#table.count,
      transfer: column("transfer"),
      source: Uint16Array.from(column("source")),
      destination: Uint16Array.from(column("destination")),
      bytes: column("bytes"),
      startNs: column("startNs"),
      endNs: column("endNs"),
      tensor: column("tensor"),
      outcome: Uint8Array.from(column("outcome")),
    };
  }

  #add(
    { transfer, source, destination, bytes, tensor, atNs }: Told,
    startNs: number,
    outcome: "done" | "quarantined",
  ): void {
    const table = this.#table;
    const row = table.add();
    table.set(row, "transfer", transfer);
    table.set(row, "source", source);
    table.set(row, "destination", destination);
    table.set(row, "bytes", bytes);
    table.set(row, "startNs", startNs);
    table.set(row, "endNs", atNs);
    table.set(row, "tensor", tensor);
    table.set(row, "outcome", TRANSFER_OUTCOMES.indexOf(outcome));
  }
}
