/** What orders entries: time, then kind, number, and the sequence in which they came, which is unique. */
export interface HeapEntry {
  readonly atNs: number;
  readonly kind: number;
  readonly number: number;
  readonly sequence: number;
}

/** Clocks sweep events out that were taken back once they outnumber those that wait by this many: they would wait for their time otherwise. */
export const DEAD_MIN = 64;

/** A binary heap with the earliest entry on top. Cost O(log size) per push and pop. */
export class EventHeap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  peek(): Entry | undefined {
    return this.#entries[0];
  }

  push(entry: Entry): void {
    const entries = this.#entries;
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const parentAt = (at - 1) >>> 1;
      const parent = entries[parentAt];
      if (parent === undefined || !isBefore(entry, parent)) break;
      entries[at] = parent;
      at = parentAt;
    }
    entries[at] = entry;
  }

  /** Takes out all that are not to stay. Cost O(size · log size). */
  keep(isToStay: (entry: Entry) => boolean): void {
    const staying = this.#entries.filter(isToStay);
    this.#entries.length = 0;
    for (const entry of staying) this.push(entry);
  }

  pop(): Entry | undefined {
    const entries = this.#entries;
    const top = entries[0];
    const last = entries.pop();
    if (last === undefined || entries.length === 0) return top;
    let at = 0;
    for (;;) {
      const left = entries[2 * at + 1];
      const right = entries[2 * at + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (!isBefore(child, last)) break;
      entries[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    entries[at] = last;
    return top;
  }
}

function isBefore(a: HeapEntry, b: HeapEntry): boolean {
  if (a.atNs !== b.atNs) return a.atNs < b.atNs;
  if (a.kind !== b.kind) return a.kind < b.kind;
  if (a.number !== b.number) return a.number < b.number;
  return a.sequence < b.sequence;
}
