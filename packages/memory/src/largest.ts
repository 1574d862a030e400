/** The largest of the numbers that are in it now; each as often as it was added. Costs O(1), or O(distinct numbers) when the largest goes. */
export class Largest {
  readonly #counts = new Map<number, number>();
  #largest = 0;

  /** 0 when there is none. */
  get value(): number {
    return this.#largest;
  }

  add(number: number): void {
    this.#counts.set(number, (this.#counts.get(number) ?? 0) + 1);
    if (number > this.#largest) this.#largest = number;
  }

  /** Of a number that was added. */
  remove(number: number): void {
    const count = this.#counts.get(number) ?? 0;
    if (count > 1) {
      this.#counts.set(number, count - 1);
      return;
    }
    this.#counts.delete(number);
    if (number !== this.#largest) return;
    this.#largest = 0;
    for (const other of this.#counts.keys()) if (other > this.#largest) this.#largest = other;
  }
}
