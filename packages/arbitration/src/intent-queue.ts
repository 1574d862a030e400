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
 * A selection looks only at intents that are awake, new ones for instance. One that does not fit goes to sleep on a port
 * that has nothing left, until that port is freed. One that fits, but wants a port that an older intent before it reserves,
 * goes to sleep on that intent, until it is selected or withdrawn. So a selection costs O(woken · log woken + intents that
 * want the ports of those that fit), not O(pending); the result is that of looking at all of them in order.
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

  /** Those asleep on port p are list p, those awake are `#awake`, those asleep on slot s are `#awake` + 1 + s. */
  readonly #sleep: SlotLists;
  readonly #awake: number;
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
    this.#awake = this.ports.ports;
    this.#sleep = new SlotLists(this.#awake + 1 + FIRST_SLOTS, FIRST_SLOTS);
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
    this.#sleep.insert(this.#awake, slot);
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
    this.#sleep.remove(slot);
    this.#sleep.moveAll(this.#awake + 1 + slot, this.#awake);
    this.#pending[slot] = 0;
    this.#nextFree[slot] = this.#freeSlot;
    this.#freeSlot = slot;
    this.#size--;
    if (this.#size === 0) this.#reserveFromNs = Number.POSITIVE_INFINITY;
  }

  /**
   * Changes the rank of the pending intent in a slot; its age stays. It and those that slept on it wake: either may now go before the
   * other. Throws UNKNOWN_TRANSFER.
   */
  rerank(slot: number, rank: number): void {
    if (this.#pending[slot] !== 1) failSlot(slot);
    this.#order.rerank(slot, rank);
    this.#sleep.remove(slot);
    this.#sleep.insert(this.#awake, slot);
    this.#sleep.moveAll(this.#awake + 1 + slot, this.#awake);
  }

  /**
   * Selects an intent raised while no other is pending, without queueing it: what `add` and `select` would do. False, with
   * nothing changed, when another is pending or it does not fit.
   */
  selectAlone(source: number, destination: number): boolean {
    if (this.#size > 0 || !this.ports.fits(source, destination)) return false;
    this.ports.claim(source, destination);
    return true;
  }

  /** Takes the ports of a transfer that is already under way. Throws PORT_EXHAUSTED when they are not free. */
  occupy(source: number, destination: number): void {
    this.ports.claim(source, destination);
  }

  /** A selected or occupying transfer ended: frees its ports and wakes who waits for them. Throws PORT_NOT_CLAIMED. */
  release(source: number, destination: number): void {
    const { ports } = this;
    ports.free(source, destination);
    if (this.#size === 0) return;
    const count = ports.portCount(source, destination);
    for (let at = 0; at < count; at++) this.#sleep.moveAll(ports.portAt(source, destination, at), this.#awake);
  }

  /** Claims ports for a maximal set of pending intents and removes these; see `selected`. Returns how many. */
  select(nowNs: number): number {
    const sleep = this.#sleep;
    const order = this.#order;
    const awake = this.#awake;
    order.begin(nowNs);
    for (let slot = sleep.first(awake); slot !== NONE; slot = sleep.after(slot)) order.push(slot);
    let admitted = 0;
    for (let slot = order.pop(); slot !== NONE; slot = order.pop()) {
      const list = this.#obstacle(slot, nowNs);
      if (list !== NONE) {
        sleep.remove(slot);
        sleep.insert(list, slot);
        continue;
      }
      // Who slept on it comes after it in order and may still fit: ports can have capacity for several.
      for (let other = sleep.first(awake + 1 + slot); other !== NONE; other = sleep.after(other)) order.push(other);
      this.#admit(slot, admitted++);
    }
    return admitted;
  }

  #admit(slot: number, at: number): void {
    this.ports.claim(this.#source[slot] as number, this.#destination[slot] as number);
    if (at === this.selected.length) {
      const wider = new Float64Array(2 * at);
      wider.set(this.selected);
      this.selected = wider;
    }
    this.selected[at] = this.#order.transfer(slot);
    this.remove(slot);
  }

  /** The list in which to wait, or −1 when the intent can go. */
  #obstacle(slot: number, nowNs: number): number {
    const port = this.ports.exhausted(this.#source[slot] as number, this.#destination[slot] as number);
    if (port !== NONE) return port;
    return nowNs < this.#reserveFromNs ? NONE : this.#reservation(slot, nowNs - this.reserveNs);
  }

  /**
   * A pending intent before this one in order that has waited `reserveNs` and wants one of its ports keeps it out, whether
   * it could be selected now or sleeps. One that comes first only sometimes is no reason to sleep: the order may turn
   * without anything happening.
   */
  #reservation(slot: number, sinceMaxNs: number): number {
    const { ports } = this;
    const order = this.#order;
    const wanting = this.#wanting;
    const source = this.#source[slot] as number;
    const destination = this.#destination[slot] as number;
    const count = ports.portCount(source, destination);
    let list = NONE;
    for (let at = 0; at < count; at++) {
      const port = ports.portAt(source, destination, at);
      for (let member = wanting.first(port); member !== NONE; member = wanting.after(member)) {
        const other = Math.floor(member / this.#width);
        if (order.sinceNs(other) > sinceMaxNs || !order.precedes(other, slot)) continue;
        if (order.alwaysPrecedes(other, slot)) return this.#awake + 1 + other;
        list = this.#awake;
      }
    }
    return list;
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
    const pending = new Uint8Array(slots);
    pending.set(this.#pending);
    this.#pending = pending;
    this.#order.grow(slots);
    this.#sleep.grow(this.#awake + 1 + slots, slots);
    this.#wanting.grow(this.ports.ports, slots * this.#width);
  }

  /** No intents, all ports free: as new, at the cost of filling the port arrays. */
  clear(): void {
    this.ports.reset();
    this.#sleep.clear();
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
