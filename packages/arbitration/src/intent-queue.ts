import { ArbitrationError } from "./errors.ts";
import { IntentOrder } from "./intent-order.ts";
import { checkedOptions } from "./options.ts";
import { PortTable } from "./port-table.ts";
import type { ArbitrationOptions, Topology } from "./types.ts";

/** More pending intents than this is a fault of the caller; the queue refuses them with TOO_MANY_INTENTS. */
export const MAX_PENDING_INTENTS = 1 << 22;

const NONE = -1;
const FIRST_SLOTS = 64;

/**
 * Pending intents and the ports they compete for: the selection rule of docs/execution-model.md, once, for the arbiter
 * and the simulator. Arguments are trusted (see PortTable); calls allocate nothing except when the queue doubles.
 *
 * An intent that does not fit is parked on one port that has nothing left and is not looked at again until that port is
 * freed; so a selection costs O(intents woken), not O(pending). While some intent is old enough to reserve, every pending
 * intent is looked at, in order.
 */
export class IntentQueue {
  /** What is claimed. Free ports through `release`, which wakes who waits for them. */
  readonly ports: PortTable;
  readonly agingNs: number;
  readonly reserveNs: number;
  /** Numbers of the transfers the last `select` admitted, in order; valid up to its returned count. */
  selected = new Float64Array(FIRST_SLOTS);

  #size = 0;
  #slots = 0;
  #freeSlot = NONE;
  /** A lower bound on the instant at which the first pending intent starts to reserve. */
  #reserveFromNs = Number.POSITIVE_INFINITY;

  // Per slot, valid while it is pending.
  #source = new Int32Array(FIRST_SLOTS);
  #destination = new Int32Array(FIRST_SLOTS);
  readonly #order: IntentOrder;

  // Lists of slots: one per port holds those parked on it, the last one those that are awake.
  readonly #head: Int32Array;
  /** Per slot: the list it is in, NONE for a free slot. */
  #list = new Int32Array(FIRST_SLOTS).fill(NONE);
  /** Per slot: its neighbours in the list; `next` chains the free slots as well. */
  #next = new Int32Array(FIRST_SLOTS);
  #previous = new Int32Array(FIRST_SLOTS);
  /** Slots looked at in the pass at hand. */
  #batch = new Int32Array(FIRST_SLOTS);

  /** Throws INVALID_TOPOLOGY and INVALID_OPTIONS. Give another queue's `ports` to share its compiled routes. */
  constructor(topology: Topology | PortTable, options: ArbitrationOptions = {}) {
    const { agingNs, reserveNs } = checkedOptions(options);
    this.agingNs = agingNs;
    this.reserveNs = reserveNs;
    this.ports = new PortTable(topology);
    this.#order = new IntentOrder(FIRST_SLOTS, agingNs);
    this.#head = new Int32Array(this.ports.ports + 1).fill(NONE);
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
    const slot = this.#takeSlot();
    this.#source[slot] = source;
    this.#destination[slot] = destination;
    this.#order.set(slot, transfer, rank, sinceNs);
    this.#link(slot, this.ports.ports);
    this.#size++;
    if (sinceNs + this.reserveNs < this.#reserveFromNs) this.#reserveFromNs = sinceNs + this.reserveNs;
    return slot;
  }

  /** Withdraws the pending intent in a slot. */
  remove(slot: number): void {
    if ((this.#list[slot] ?? NONE) === NONE) failSlot(slot);
    this.#unlink(slot);
    this.#giveSlot(slot);
  }

  /** Takes the ports of a transfer that is already under way. Throws PORT_EXHAUSTED when they are not free. */
  occupy(source: number, destination: number): void {
    this.ports.claim(source, destination);
  }

  /** A selected or occupying transfer ended: frees its ports and wakes who waits for them. Throws PORT_NOT_CLAIMED. */
  release(source: number, destination: number): void {
    const ports = this.ports;
    ports.free(source, destination);
    const count = ports.portCount(source, destination);
    for (let at = 0; at < count; at++) this.#wake(ports.portAt(source, destination, at));
  }

  /** Claims ports for a maximal set of pending intents and removes these; see `selected`. Returns how many. */
  select(nowNs: number): number {
    if (this.#size === 0) return 0;
    if (this.selected.length < this.#source.length) this.selected = new Float64Array(this.#source.length);
    return nowNs < this.#reserveFromNs ? this.#selectAwake(nowNs) : this.#selectAll(nowNs);
  }

  /** Nobody reserves: only those who woke since the last pass can be admitted. */
  #selectAwake(nowNs: number): number {
    const { ports } = this;
    const batch = this.#batch;
    const next = this.#next;
    let count = 0;
    for (let slot = this.#head[ports.ports] as number; slot !== NONE; slot = next[slot] as number)
      batch[count++] = slot;
    this.#order.sort(batch, count, nowNs);
    let admitted = 0;
    for (let at = 0; at < count; at++) {
      const slot = batch[at] as number;
      const port = ports.exhausted(this.#source[slot] as number, this.#destination[slot] as number);
      if (port < 0) this.#admit(slot, admitted++);
      else this.#park(slot, port);
    }
    return admitted;
  }

  /** Somebody may reserve: all pending intents are looked at in order, and those old enough keep their ports from the rest. */
  #selectAll(nowNs: number): number {
    const { ports, reserveNs } = this;
    const order = this.#order;
    const count = order.sortAll(nowNs, this.#list);
    const all = order.all;
    ports.beginPass();
    let admitted = 0;
    let oldestNs = Number.POSITIVE_INFINITY;
    for (let at = 0; at < count; at++) {
      const slot = all[at] as number;
      const source = this.#source[slot] as number;
      const destination = this.#destination[slot] as number;
      const port = ports.exhausted(source, destination);
      if (port < 0 && ports.reserved(source, destination) < 0) {
        this.#admit(slot, admitted++);
        continue;
      }
      this.#park(slot, port < 0 ? ports.ports : port);
      const sinceNs = order.sinceNs(slot);
      if (sinceNs < oldestNs) oldestNs = sinceNs;
      if (nowNs - sinceNs >= reserveNs) ports.reserve(source, destination);
    }
    this.#reserveFromNs = oldestNs + reserveNs;
    return admitted;
  }

  #admit(slot: number, at: number): void {
    this.ports.claim(this.#source[slot] as number, this.#destination[slot] as number);
    this.selected[at] = this.#order.transfer(slot);
    this.#unlink(slot);
    this.#giveSlot(slot);
  }

  #park(slot: number, list: number): void {
    if (this.#list[slot] === list) return;
    this.#unlink(slot);
    this.#link(slot, list);
  }

  /** Moves everybody parked on the port to the awake ones. */
  #wake(port: number): void {
    while (this.#head[port] !== NONE) this.#park(this.#head[port] as number, this.ports.ports);
  }

  #link(slot: number, list: number): void {
    const first = this.#head[list] as number;
    this.#list[slot] = list;
    this.#next[slot] = first;
    this.#previous[slot] = NONE;
    if (first !== NONE) this.#previous[first] = slot;
    this.#head[list] = slot;
  }

  #unlink(slot: number): void {
    const next = this.#next[slot] as number;
    const previous = this.#previous[slot] as number;
    if (next !== NONE) this.#previous[next] = previous;
    if (previous !== NONE) this.#next[previous] = next;
    else this.#head[this.#list[slot] as number] = next;
  }

  #takeSlot(): number {
    const slot = this.#freeSlot;
    if (slot !== NONE) {
      this.#freeSlot = this.#next[slot] as number;
      return slot;
    }
    if (this.#slots === this.#source.length) this.#grow();
    return this.#slots++;
  }

  #giveSlot(slot: number): void {
    this.#list[slot] = NONE;
    this.#next[slot] = this.#freeSlot;
    this.#freeSlot = slot;
    this.#size--;
  }

  #grow(): void {
    const slots = this.#source.length * 2;
    if (slots > MAX_PENDING_INTENTS) failTooMany(this.#size);
    this.#source = widened(this.#source, slots);
    this.#destination = widened(this.#destination, slots);
    this.#list = widened(this.#list, slots);
    this.#list.fill(NONE, this.#slots);
    this.#next = widened(this.#next, slots);
    this.#previous = widened(this.#previous, slots);
    this.#batch = widened(this.#batch, slots);
    this.#order.grow(slots);
  }

  /** No intents, all ports free: as new, at the cost of copying the port arrays. */
  clear(): void {
    this.ports.reset();
    this.#head.fill(NONE);
    this.#list.fill(NONE, 0, this.#slots);
    this.#order.clear();
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
