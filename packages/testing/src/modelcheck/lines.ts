/** Lines of messages as numbers: equal lines, equal numbers, whatever came and went before. Line 0 is empty. */
export class Lines {
  readonly #ids = new Map<string, number>([["", 0]]);
  readonly #messages: (readonly number[])[] = [[]];
  /** By line, then by message. */
  readonly #pushed: Map<number, number>[] = [new Map()];
  readonly #popped: number[] = [-1];

  push(line: number, message: number): number {
    const pushed = this.#pushed[line] as Map<number, number>;
    let longer = pushed.get(message);
    if (longer === undefined) {
      longer = this.#idOf([...this.messages(line), message]);
      pushed.set(message, longer);
    }
    return longer;
  }

  /** The first message of a line that is not empty. */
  head(line: number): number {
    return this.messages(line)[0] as number;
  }

  /** The line without its first message. */
  pop(line: number): number {
    const known = this.#popped[line] as number;
    if (known >= 0) return known;
    const rest = this.#idOf(this.messages(line).slice(1));
    this.#popped[line] = rest;
    return rest;
  }

  messages(line: number): readonly number[] {
    return this.#messages[line] as readonly number[];
  }

  #idOf(messages: readonly number[]): number {
    const key = messages.join();
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#messages.push(messages) - 1;
    this.#ids.set(key, id);
    this.#pushed.push(new Map());
    this.#popped.push(-1);
    return id;
  }
}
