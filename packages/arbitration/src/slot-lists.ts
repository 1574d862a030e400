const NONE = -1;

/**
 * Doubly linked lists of small whole numbers in typed arrays: each member is in at most one list, every call is O(1)
 * except `moveAll`. The order within a list means nothing.
 */
export class SlotLists {
  /** Per list: a member, or −1 for none. */
  #head: Int32Array;
  // Per member, valid while it is in a list.
  #list: Int32Array;
  #next: Int32Array;
  #previous: Int32Array;

  constructor(lists: number, members: number) {
    this.#head = new Int32Array(lists).fill(NONE);
    this.#list = new Int32Array(members);
    this.#next = new Int32Array(members);
    this.#previous = new Int32Array(members);
  }

  /** A member of the list, or −1. */
  first(list: number): number {
    return this.#head[list] as number;
  }

  /** The member after this one, or −1. */
  after(member: number): number {
    return this.#next[member] as number;
  }

  /** Puts a member that is in no list into one. */
  insert(list: number, member: number): void {
    const first = this.#head[list] as number;
    this.#list[member] = list;
    this.#next[member] = first;
    this.#previous[member] = NONE;
    if (first !== NONE) this.#previous[first] = member;
    this.#head[list] = member;
  }

  /** Takes a member out of the list it is in. */
  remove(member: number): void {
    const next = this.#next[member] as number;
    const previous = this.#previous[member] as number;
    if (next !== NONE) this.#previous[next] = previous;
    if (previous !== NONE) this.#next[previous] = next;
    else this.#head[this.#list[member] as number] = next;
  }

  /** Moves every member of one list to another. O(members moved). */
  moveAll(from: number, to: number): void {
    for (let member = this.first(from); member !== NONE; member = this.first(from)) {
      this.remove(member);
      this.insert(to, member);
    }
  }

  grow(lists: number, members: number): void {
    const from = this.#head.length;
    this.#head = widened(this.#head, lists).fill(NONE, from);
    this.#list = widened(this.#list, members);
    this.#next = widened(this.#next, members);
    this.#previous = widened(this.#previous, members);
  }

  /** Empties every list. */
  clear(): void {
    this.#head.fill(NONE);
  }
}

function widened(array: Int32Array, length: number): Int32Array {
  const wider = new Int32Array(length);
  wider.set(array);
  return wider;
}
