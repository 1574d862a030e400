import { ArbitrationError } from "./errors.ts";
import { IntentOrder } from "./intent-order.ts";
import { checkedOptions } from "./options.ts";
import { PortTable } from "./port-table.ts";
import { SlotLists } from "./slot-lists.ts";
import type { ArbitrationOptions, Topology } from "./types.ts";

/** More pending intents than this is a fault of the caller; the queue refuses them with TOO_MANY_INTENTS. */
export const MAX_PENDING_INTENTS: number = 1 << 22;

const NONE = -1;
const FIRST_SLOTS = 64;

/**
 * Pending intents and the ports they compete for: the selection rule of docs/execution-model.md, once, for the arbiter
 * and the simulator. Arguments are trusted (see PortTable); calls allocate nothing except when the queue doubles.
 *
 * An intent that does not fit is parked on one port that has nothing left, and is not looked at again before that port is
 * freed. One that fits asks, per port of its way, whether an older one before it in order wants the port. So a selection
 * costs O(intents woken + intents that want the ports of those that fit), not O(pending).
 */
export class IntentQueue {
  /** What is claimed. Free ports through `release`, which wakes who waits for them. */
  readonly ports: PortTable;
  readonly agingNs: number;
  readonly reserveNs: number;
  /** Numbers of the transfers the last `select` admitted, in order; valid up to its returned count. */
  selected: Float64Array = new Float64Array(FIRST_SLOTS);

  #size = 0;
  /** Slots ever used, and the first of those given back (chained by `#nextFree`). */
  #slots = 0;
  #freeSlot = NONE;
  /** Nobody pending reserves before this instant; a lower bound. */
  #reserveFromNs = Number.POSITIVE_INFINITY;

  // Per slot, valid while it is pending.
  #source = new Int32Array(FIRST_SLOTS);
  #destination = new Int32Array(FIRST_SLOTS);
  readonly #order: IntentOrder;
  /** Per slot: 1 while it is pending. */
  #pending = new Uint8Array(FIRST_SLOTS);
  #nextFree = new Int32Array(FIRST_SLOTS);
  /** Slots looked at in the pass at hand. */
  #batch = new Int32Array(FIRST_SLOTS);

  /** Per port those parked on it, and as the last list those that are awake: each pending slot is in one. */
  readonly #parked: SlotLists;
  /** Per port all those that want it. A slot takes part with one member per port of its way: slot × width + place. */
  readonly #wanting: SlotLists;
  readonly #width: number;

  /** Throws INVALID_TOPOLOGY and INVALID_OPTIONS. Give another queue's `ports` to share its compiled routes. */
  constructor(topology: Topology | PortTable, options: ArbitrationOptions = {}) {
    const { agingNs, reserveNs } = checkedOptions(options);
    this.agingNs = agingNs;
    this.reserveNs = reserveNs;
    this.ports = new PortTable(topology);
    this.#width = this.ports.portCountMax;
    this.#order = new IntentOrder(FIRST_SLOTS, agingNs);
    this.#parked = new SlotLists(this.ports.ports + 1, FIRST_SLOTS);
    this.#wanting = new SlotLists(this.ports.ports, FIRST_SLOTS * this.#width);
  }

  /** Pending intents. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds a pending intent and returns its slot. `transfer` breaks ties and must be unique; `rank` ≥ 0, 0 the most urgent;
   * it has waited since `sinceNs`. Throws TOO_MANY_INTENTS.
   */
  add(transfer: number, source: number, destination: number, rank: number, sinceNs: number): number {
    const { ports } = this;
    const slot = this.#takeSlot();
    this.#source[slot] = source;
    this.#destination[slot] = destination;
    this.#order.set(slot, transfer, rank, sinceNs);
    this.#parked.insert(ports.ports, slot);
    const count = ports.portCount(source, destination);
    for (let at = 0; at < count; at++) {
      this.#wanting.insert(ports.portAt(source, destination, at), slot * this.#width + at);
    }
    if (sinceNs + this.reserveNs < this.#reserveFromNs) this.#reserveFromNs = sinceNs + this.reserveNs;
    return slot;
  }

  /** Withdraws the pending intent in a slot. Throws UNKNOWN_TRANSFER. */
  remove(slot: number): void {
    if (this.#pending[slot] !== 1) failSlot(slot);
    const { ports } = this;
    const count = ports.portCount(this.#source[slot] as number, this.#destination[slot] as number);
    for (let at = 0; at < count; at++) this.#wanting.remove(slot * this.#width + at);
    this.#parked.remove(slot);
    this.#pending[slot] = 0;
    this.#nextFree[slot] = this.#freeSlot;
    this.#freeSlot = slot;
    this.#size--;
    if (this.#size === 0) this.#reserveFromNs = Number.POSITIVE_INFINITY;
  }

  /** Takes the ports of a transfer that is already under way. Throws PORT_EXHAUSTED when they are not free. */
  occupy(source: number, destination: number): void {
    this.ports.claim(source, destination);
  }

  /** A selected or occupying transfer ended: frees its ports and wakes who waits for them. Throws PORT_NOT_CLAIMED. */
  release(source: number, destination: number): void {
    const { ports } = this;
    ports.free(source, destination);
    const count = ports.portCount(source, destination);
    for (let at = 0; at < count; at++) this.#parked.moveAll(ports.portAt(source, destination, at), ports.ports);
  }

  /** Claims ports for a maximal set of pending intents and removes these; see `selected`. Returns how many. */
  select(nowNs: number): number {
    const { ports } = this;
    const batch = this.#batch;
    const parked = this.#parked;
    let count = 0;
    for (let slot = parked.first(ports.ports); slot !== NONE; slot = parked.after(slot)) batch[count++] = slot;
    if (count === 0) return 0;
    if (this.selected.length < count) this.selected = new Float64Array(batch.length);
    this.#order.sort(batch, count, nowNs);
    const mayReserve = nowNs >= this.#reserveFromNs;
    let admitted = 0;
    for (let at = 0; at < count; at++) {
      const slot = batch[at] as number;
      const source = this.#source[slot] as number;
      const destination = this.#destination[slot] as number;
      const port = ports.exhausted(source, destination);
      if (port !== NONE) {
        parked.remove(slot);
        parked.insert(port, slot);
      } else if (!mayReserve || !this.#isReserved(slot, nowNs)) {
        ports.claim(source, destination);
        this.selected[admitted++] = this.#order.transfer(slot);
        this.remove(slot);
      }
    }
    return admitted;
  }

  /**
   * True when an intent before this one in order, still pending, has waited `reserveNs` and wants one of its ports. It need
   * not be in the batch: who is parked cannot be admitted now, but reserves all the same.
   */
  #isReserved(slot: number, nowNs: number): boolean {
    const { ports } = this;
    const order = this.#order;
    const wanting = this.#wanting;
    const width = this.#width;
    const sinceMaxNs = nowNs - this.reserveNs;
    const source = this.#source[slot] as number;
    const destination = this.#destination[slot] as number;
    const count = ports.portCount(source, destination);
    for (let at = 0; at < count; at++) {
      const port = ports.portAt(source, destination, at);
      for (let member = wanting.first(port); member !== NONE; member = wanting.after(member)) {
        const other = Math.floor(member / width);
        if (order.sinceNs(other) <= sinceMaxNs && order.precedes(other, slot, nowNs)) return true;
      }
    }
    return false;
  }

  #takeSlot(): number {
    let slot = this.#freeSlot;
    if (slot !== NONE) {
      this.#freeSlot = this.#nextFree[slot] as number;
    } else {
      if (this.#slots === this.#pending.length) this.#grow();
      slot = this.#slots++;
    }
    this.#pending[slot] = 1;
    this.#size++;
    return slot;
  }

  #grow(): void {
    const slots = this.#pending.length * 2;
    if (slots > MAX_PENDING_INTENTS) failTooMany(this.#size);
    this.#source = widened(this.#source, slots);
    this.#destination = widened(this.#destination, slots);
    this.#nextFree = widened(this.#nextFree, slots);
    this.#batch = widened(this.#batch, slots);
    const pending = new Uint8Array(slots);
    pending.set(this.#pending);
    this.#pending = pending;
    this.#order.grow(slots);
    this.#parked.grow(slots);
    this.#wanting.grow(slots * this.#width);
  }

  /** No intents, all ports free: as new, at the cost of filling the port arrays. */
  clear(): void {
    this.ports.reset();
    this.#parked.clear();
    this.#wanting.clear();
    this.#pending.fill(0, 0, this.#slots);
    this.#size = 0;
    this.#slots = 0;
    this.#freeSlot = NONE;
    this.#reserveFromNs = Number.POSITIVE_INFINITY;
  }
}

function widened(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(length);
  wider.set(array);
  return wider;
}

function failSlot(slot: number): never {
  throw new ArbitrationError("UNKNOWN_TRANSFER", `No intent is pending in slot ${slot}.`, { slot });
}

function failTooMany(size: number): never {
  throw new ArbitrationError(
    "TOO_MANY_INTENTS",
    `${size} intents are pending, the most a queue takes is ${MAX_PENDING_INTENTS}. Submit less at once.`,
    { size },
  );
}
