/** How long each accelerator was busy and absent since the measuring began. Times of one accelerator never overlap. */
export class BusyTimes {
  readonly #sinceNs: number;
  readonly #busyNs: Float64Array;
  readonly #absentNs: Float64Array;
  /** When what is running there started; −1 where nothing is. */
  readonly #runningSinceNs: Float64Array;
  /** Its issue number; −1 where nothing is running. */
  readonly #running: Float64Array;
  /** −1 where it is there. */
  readonly #absentSinceNs: Float64Array;

  /** @param isAbsent Of the accelerators that are not there at the beginning. */
  constructor(accelerators: number, isAbsent: (accelerator: number) => boolean, nowNs: number) {
    this.#sinceNs = nowNs;
    this.#busyNs = new Float64Array(accelerators);
    this.#absentNs = new Float64Array(accelerators);
    this.#runningSinceNs = new Float64Array(accelerators).fill(-1);
    this.#running = new Float64Array(accelerators).fill(-1);
    this.#absentSinceNs = new Float64Array(accelerators).map((_, index) => (isAbsent(index) ? nowNs : -1));
  }

  started(accelerator: number, issueNumber: number, nowNs: number): void {
    this.#end(accelerator, nowNs);
    this.#running[accelerator] = issueNumber;
    this.#runningSinceNs[accelerator] = nowNs;
  }

  ended(accelerator: number, issueNumber: number, nowNs: number): void {
    if (this.#running[accelerator] === issueNumber) this.#end(accelerator, nowNs);
  }

  lost(accelerator: number, nowNs: number): void {
    this.#end(accelerator, nowNs);
    if (this.#absentSinceNs[accelerator] === -1) this.#absentSinceNs[accelerator] = nowNs;
  }

  returned(accelerator: number, nowNs: number): void {
    const sinceNs = this.#absentSinceNs[accelerator] ?? -1;
    if (sinceNs < 0) return;
    this.#absentNs[accelerator] = (this.#absentNs[accelerator] ?? 0) + nowNs - sinceNs;
    this.#absentSinceNs[accelerator] = -1;
  }

  /** Until now; the three add up to the time that has passed. */
  read(
    accelerator: number,
    nowNs: number,
  ): { readonly busyNs: number; readonly idleNs: number; readonly absentNs: number } {
    const runningSinceNs = this.#runningSinceNs[accelerator] ?? -1;
    const absentSinceNs = this.#absentSinceNs[accelerator] ?? -1;
    const busyNs = (this.#busyNs[accelerator] ?? 0) + (runningSinceNs < 0 ? 0 : nowNs - runningSinceNs);
    const absentNs = (this.#absentNs[accelerator] ?? 0) + (absentSinceNs < 0 ? 0 : nowNs - absentSinceNs);
    return { busyNs, absentNs, idleNs: nowNs - this.#sinceNs - busyNs - absentNs };
  }

  #end(accelerator: number, nowNs: number): void {
    const sinceNs = this.#runningSinceNs[accelerator] ?? -1;
    if (sinceNs < 0) return;
    this.#busyNs[accelerator] = (this.#busyNs[accelerator] ?? 0) + nowNs - sinceNs;
    this.#runningSinceNs[accelerator] = -1;
    this.#running[accelerator] = -1;
  }
}
