/** Text as it is generated, cut where a stop begins; what may still become the beginning of one is held back. */
export class StopText {
  readonly #stops: readonly string[];
  #held = "";
  #isStopped: boolean = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** What can be told now. */
  add(text: string): string {
    if (this.#isStopped) return "";
    const all = this.#held + text;
    const starts = this.#stops.map((stop) => all.indexOf(stop)).filter((at) => at >= 0);
    if (starts.length > 0) {
      this.#isStopped = true;
      this.#held = "";
      return all.slice(0, Math.min(...starts));
    }
    const keep = Math.max(0, ...this.#stops.map((stop) => overlap(all, stop)));
    this.#held = all.slice(all.length - keep);
    return all.slice(0, all.length - keep);
  }

  /** What was held back when nothing more comes. */
  end(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}

/** Characters at the end of a text that a stop could begin with. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--)
    if (text.endsWith(stop.slice(0, length))) return length;
  return 0;
}
