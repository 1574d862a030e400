import type { Clock } from "@slicescheduler/executor";

/** Simulated time as a list that is searched for what comes first. */
export class Agenda implements Clock {
  #nowNs = 0;
  #entries: { readonly atNs: number; readonly act: () => void }[] = [];

  nowNs(): number {
    return this.#nowNs;
  }

  callAt(atNs: number, act: () => void): () => void {
    const entry = { atNs: Math.max(atNs, this.#nowNs), act };
    this.#entries.push(entry);
    return () => {
      this.#entries = this.#entries.filter((other) => other !== entry);
    };
  }

  step(): boolean {
    const [first] = this.#entries.toSorted((a, b) => a.atNs - b.atNs);
    if (first === undefined) return false;
    this.#entries = this.#entries.filter((other) => other !== first);
    this.#nowNs = first.atNs;
    first.act();
    return true;
  }
}
