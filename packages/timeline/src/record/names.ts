/** Texts and the order in which they came up. */
export class Names {
  readonly list: string[] = [];
  readonly #indexOf = new Map<string, number>();

  of(name: string): number {
    let index = this.#indexOf.get(name);
    if (index === undefined) {
      index = this.list.length;
      this.list.push(name);
      this.#indexOf.set(name, index);
    }
    return index;
  }
}
