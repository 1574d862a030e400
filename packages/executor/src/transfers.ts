import { MemoryExceededError, type ResidencyLedger } from "@slicescheduler/memory";
import type { PresentTransfer } from "./adopt.ts";
import { ExecutorError } from "./errors.ts";
import { checkCounts } from "./recount.ts";
import { type Life, move, TRANSFER_MOVES, type TransferState } from "./states.ts";

/** A transfer that has not ended. */
export interface PendingTransfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
  readonly state: TransferState;
  /** −1 before its send begins. */
  readonly sendNs: number;
}

interface Entry extends Life<TransferState> {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
  sendNs: number;
}

/**
 * The transfers of an executor and what they mean for memory: a planned transfer is a pending send at its source and an
 * expected copy at its destination. There is at most one of a tensor to an accelerator at a time.
 * Errors: ILLEGAL_MOVE with the transfer's history, and those of the ledger.
 */
export class TransferTable {
  readonly #ledger: ResidencyLedger;
  readonly #entries = new Map<number, Entry>();
  /** Per source: by tensor, those that are only planned. */
  readonly #planned: readonly Map<number, Entry[]>[];
  /** Per destination: by tensor. */
  readonly #incoming: readonly Map<number, Entry>[];
  #newest = -1;

  constructor(accelerators: number, ledger: ResidencyLedger) {
    this.#ledger = ledger;
    this.#planned = Array.from({ length: accelerators }, () => new Map());
    this.#incoming = Array.from({ length: accelerators }, () => new Map());
  }

  /** Plans a transfer; the source has a copy, at least an expected one, the destination none. */
  plan(transfer: number, tensor: number, source: number, destination: number, nowNs: number): void {
    this.#ledger.expect(tensor, destination);
    this.#ledger.addSend(tensor, source);
    this.#add({ transfer, tensor, source, destination, state: "planned", sendNs: -1 }, nowNs);
    this.#newest = Math.max(this.#newest, transfer);
  }

  /**
   * Takes over those of a table that goes on here; the ledger has their sends and copies already. Returns which are intents from now on.
   * @param newest Number given last.
   */
  adopt(transfers: readonly PresentTransfer[], newest: number, nowNs: number): number[] {
    this.#newest = newest;
    const raised: number[] = [];
    for (const transfer of transfers) this.#add(transfer, nowNs);
    for (const { tensor, source, state } of transfers)
      if (state === "planned" && this.#ledger.isPresent(tensor, source)) this.raise(tensor, source, nowNs, raised);
    return raised;
  }

  /** The tensor is present at the source: its planned transfers become intents. Adds their numbers to `raised`. */
  raise(tensor: number, source: number, nowNs: number, raised: number[]): void {
    const planned = this.#planned[source]?.get(tensor);
    if (planned === undefined) return;
    this.#planned[source]?.delete(tensor);
    for (const entry of planned) {
      this.#move(entry, "intent", nowNs);
      raised.push(entry.transfer);
    }
  }

  /** Takes the receive buffer. Returns why it does not fit, and then the transfer is an intent still; otherwise null. */
  receive(transfer: number, bytes: number, nowNs: number): string | null {
    const entry = this.#at(transfer);
    if (entry.state !== "intent") this.#move(entry, "receiving", nowNs);
    try {
      this.#ledger.allocate(entry.tensor, entry.destination, bytes);
    } catch (error) {
      if (error instanceof MemoryExceededError) return error.message;
      throw error;
    }
    this.#move(entry, "receiving", nowNs);
    return null;
  }

  send(transfer: number, nowNs: number): PendingTransfer {
    const entry = this.#at(transfer);
    this.#move(entry, "sending", nowNs);
    entry.sendNs = nowNs;
    return entry;
  }

  /** The send has ended and, when done, the copy is present; when failed, the caller loses the copy. */
  end(transfer: number, to: "done" | "failed", nowNs: number): PendingTransfer {
    const entry = this.#at(transfer);
    this.#move(entry, to, nowNs);
    this.#remove(entry);
    this.#ledger.endSend(entry.tensor, entry.source);
    if (to === "done") this.#ledger.markPresent(entry.tensor, entry.destination);
    return entry;
  }

  /** A transfer whose data do not move yet will not take place; the caller loses the copy at the destination, its buffer included. */
  cancel(transfer: number, nowNs: number): void {
    const entry = this.#at(transfer);
    const isPlanned = entry.state === "planned";
    this.#move(entry, "cancelled", nowNs);
    this.#remove(entry);
    if (isPlanned) this.#forgetPlanned(entry);
    this.#ledger.endSend(entry.tensor, entry.source);
  }

  /** The copy at the source was lost with its pending sends: its planned transfers end. Returns them. */
  cancelFrom(tensor: number, source: number, nowNs: number): readonly PendingTransfer[] {
    const planned = this.#planned[source]?.get(tensor) ?? [];
    this.#planned[source]?.delete(tensor);
    for (const entry of planned) {
      this.#move(entry, "cancelled", nowNs);
      this.#remove(entry);
    }
    return planned;
  }

  /**
   * An accelerator is lost: transfers from and to it end at whatever step they are, and so do their pending sends at sources
   * that are still there. Returns them in the order in which they were planned; the caller loses the copies of those from it
   * at their destinations, and its memory. Costs O(pending transfers).
   */
  loseAccelerator(accelerator: number, nowNs: number): readonly PendingTransfer[] {
    const lost = Array.from(this.#entries.values()).filter(
      ({ source, destination }) => source === accelerator || destination === accelerator,
    );
    for (const entry of lost) {
      const isPlanned = entry.state === "planned";
      this.#move(entry, "lost", nowNs);
      this.#remove(entry);
      if (entry.source === accelerator) continue;
      if (isPlanned) this.#forgetPlanned(entry);
      this.#ledger.endSend(entry.tensor, entry.source);
    }
    this.#planned[accelerator]?.clear();
    return lost;
  }

  get(transfer: number): PendingTransfer | undefined {
    return this.#entries.get(transfer);
  }

  /** Whether the number was, or may have been, given to a transfer that has ended. */
  isPast(transfer: number): boolean {
    return transfer <= this.#newest && !this.#entries.has(transfer);
  }

  incoming(tensor: number, destination: number): PendingTransfer | undefined {
    return this.#incoming[destination]?.get(tensor);
  }

  all(): IterableIterator<PendingTransfer> {
    return this.#entries.values();
  }

  /** Checks the sends and the expected copies that the ledger has against a recount. Throws INVARIANT_BROKEN. */
  validate(): void {
    const sends = this.#planned.map(() => new Map<number, number>());
    for (const { transfer, tensor, source, destination } of this.#entries.values()) {
      const here = sends[source];
      here?.set(tensor, (here.get(tensor) ?? 0) + 1);
      if (this.#ledger.has(tensor, destination) && !this.#ledger.isPresent(tensor, destination)) continue;
      const found = `transfer ${transfer} is to bring tensor ${tensor} to accelerator ${destination}, which does not expect it`;
      throw new ExecutorError("INVARIANT_BROKEN", found);
    }
    sends.forEach((counts, accelerator) => {
      checkCounts(this.#ledger, accelerator, "sends", counts);
    });
  }

  #add({ transfer, tensor, source, destination, state, sendNs }: PendingTransfer, nowNs: number): void {
    const entry: Entry = { transfer, tensor, source, destination, state, history: [{ state, atNs: nowNs }], sendNs };
    this.#entries.set(transfer, entry);
    this.#incoming[destination]?.set(tensor, entry);
    if (state !== "planned") return;
    const planned = this.#planned[source]?.get(tensor);
    if (planned === undefined) this.#planned[source]?.set(tensor, [entry]);
    else planned.push(entry);
  }

  #forgetPlanned(entry: Entry): void {
    const planned = this.#planned[entry.source];
    const others = planned?.get(entry.tensor)?.filter((other) => other !== entry) ?? [];
    if (others.length === 0) planned?.delete(entry.tensor);
    else planned?.set(entry.tensor, others);
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.transfer);
    this.#incoming[entry.destination]?.delete(entry.tensor);
  }

  #at(transfer: number): Entry {
    const entry = this.#entries.get(transfer);
    if (entry === undefined) throw new ExecutorError("UNKNOWN_TRANSFER", `there is no pending transfer ${transfer}`);
    return entry;
  }

  #move(entry: Entry, to: TransferState, nowNs: number): void {
    move(TRANSFER_MOVES, entry, to, nowNs, nameOf);
  }
}

function nameOf({ transfer, tensor, source, destination }: Entry): string {
  return `transfer ${transfer} of tensor ${tensor} from accelerator ${source} to ${destination}`;
}
