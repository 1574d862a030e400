import { grown } from "./arrays.ts";

/**
 * The running operators and transfers, least (time, key) first: a binary heap. A key is an operator's place in the order of
 * issue numbers, or the number of operators plus a transfer number, so that it orders by kind, then number.
 */
export class EventHeap {
  size = 0;
  #times = new Float64Array(0);
  #keys = new Int32Array(0);

  reserve(events: number): void {
    this.#times = grown(this.#times, events);
    this.#keys = grown(this.#keys, events);
    this.size = 0;
  }

  /** Unset when empty. */
  get firstNs(): number {
    return this.#times[0] as number;
  }

  push(atNs: number, key: number): void {
    const times = this.#times;
    const keys = this.#keys;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const time = times[parent] as number;
      if (time < atNs || (time === atNs && (keys[parent] as number) < key)) break;
      times[at] = time;
      keys[at] = keys[parent] as number;
      at = parent;
    }
    times[at] = atNs;
    keys[at] = key;
  }

  /** Removes the first and returns its key. */
  pop(): number {
    const times = this.#times;
    const keys = this.#keys;
    const first = keys[0] as number;
    const size = --this.size;
    const atNs = times[size] as number;
    const key = keys[size] as number;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const right = child + 1;
      if (right < size) {
        const difference = (times[right] as number) - (times[child] as number);
        if (difference < 0 || (difference === 0 && (keys[right] as number) < (keys[child] as number))) child = right;
      }
      const time = times[child] as number;
      if (time > atNs || (time === atNs && (keys[child] as number) > key)) break;
      times[at] = time;
      keys[at] = keys[child] as number;
      at = child;
    }
    times[at] = atNs;
    keys[at] = key;
    return first;
  }
}

/**
 * The activated operators of every accelerator, least (rank, ready time, place in issue order) first: one binary heap per
 * accelerator, each in its own segment, as long as there are operators on the accelerator.
 */
export class ReadyQueues {
  /** Per accelerator: where its segment starts. */
  #first = new Int32Array(0);
  #size = new Int32Array(0);
  /** Places in issue order. */
  #places = new Int32Array(0);
  #rank = new Float64Array(0);
  #readyNs = new Float64Array(0);

  /** Empties all; `rank` and `readyNs` are by place and are read only, when an operator is queued. */
  reserve(accelerators: number, operators: number, acceleratorOfPlace: Int32Array): void {
    this.#first = grown(this.#first, accelerators + 1).fill(0);
    this.#size = grown(this.#size, accelerators).fill(0);
    this.#places = grown(this.#places, operators);
    this.#rank = grown(this.#rank, operators);
    this.#readyNs = grown(this.#readyNs, operators);
    const first = this.#first;
    for (let place = 0; place < operators; place++) {
      const next = (acceleratorOfPlace[place] as number) + 1;
      first[next] = (first[next] as number) + 1;
    }
    for (let a = 1; a <= accelerators; a++) first[a] = (first[a] as number) + (first[a - 1] as number);
  }

  push(accelerator: number, place: number, rank: number, readyNs: number): void {
    const places = this.#places;
    const base = this.#first[accelerator] as number;
    this.#rank[place] = rank;
    this.#readyNs[place] = readyNs;
    let at = this.#size[accelerator] as number;
    this.#size[accelerator] = at + 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const other = places[base + parent] as number;
      if (!this.#before(place, other)) break;
      places[base + at] = other;
      at = parent;
    }
    places[base + at] = place;
  }

  /** Removes the first and returns its place, or −1 when the queue is empty. */
  pop(accelerator: number): number {
    const size = (this.#size[accelerator] as number) - 1;
    if (size < 0) return -1;
    const places = this.#places;
    const base = this.#first[accelerator] as number;
    const first = places[base] as number;
    const last = places[base + size] as number;
    this.#size[accelerator] = size;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const right = child + 1;
      if (right < size && this.#before(places[base + right] as number, places[base + child] as number)) child = right;
      const other = places[base + child] as number;
      if (this.#before(last, other)) break;
      places[base + at] = other;
      at = child;
    }
    places[base + at] = last;
    return first;
  }

  #before(a: number, b: number): boolean {
    const rankA = this.#rank[a] as number;
    const rankB = this.#rank[b] as number;
    if (rankA !== rankB) return rankA < rankB;
    const readyA = this.#readyNs[a] as number;
    const readyB = this.#readyNs[b] as number;
    return readyA !== readyB ? readyA < readyB : a < b;
  }
}
