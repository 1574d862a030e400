/** Operators remembered at most; the oldest is forgotten first, and would begin again with attempt 0. */
const ATTEMPTS_MAX = 65_536;

/** How often an operator of an instance was issued in vain: withdrawn or failed. It is forgotten when the operator is done. */
export class Attempts {
  readonly #inVain = new Map<string, number>();

  of(instance: number, operator: number): number {
    return this.#inVain.size === 0 ? 0 : (this.#inVain.get(`${instance}/${operator}`) ?? 0);
  }

  inVain(instance: number, operator: number): void {
    const attempts = this.of(instance, operator) + 1;
    if (attempts === 1 && this.#inVain.size === ATTEMPTS_MAX) this.#forgetOldest();
    this.#inVain.set(`${instance}/${operator}`, attempts);
  }

  done(instance: number, operator: number): void {
    if (this.#inVain.size > 0) this.#inVain.delete(`${instance}/${operator}`);
  }

  #forgetOldest(): void {
    const [oldest] = this.#inVain.keys();
    if (oldest !== undefined) this.#inVain.delete(oldest);
  }
}
