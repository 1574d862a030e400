import type { Recorder, Series } from "./metrics-sink.ts";

/** Label values by index, so many at most; the last one stands for all the others. */
export class Labels {
  readonly #max: number;
  readonly #indices = new Map<string, number>();
  readonly #values: string[] = [];

  /** @param known Values that are there from the beginning. */
  constructor(max: number, known: readonly string[] = []) {
    this.#max = max;
    for (const value of known) this.indexOf(value);
  }

  /** The same for all that came when there was no room left. */
  indexOf(value: string): number {
    const known = this.#indices.get(value);
    if (known !== undefined) return known;
    if (this.#indices.size >= this.#max) return this.#max;
    const index = this.#values.length;
    this.#indices.set(value, index);
    this.#values.push(value);
    return index;
  }

  valueOf(index: number): string {
    return this.#values[index] ?? OTHER;
  }

  /** Values that have a series, `"other"` included where it is needed. */
  get size(): number {
    return this.#values.length;
  }
}

const OTHER = "other";

/** The series of a metric by class, or by class and tenant: found by two small numbers. */
export class ClassSeries {
  readonly #series: Series;
  readonly #classes: Labels;
  readonly #tenants: Labels;
  readonly #more: readonly string[];
  readonly #recorders: Recorder[][] = [];

  /** @param more Values of the labels that follow class and tenant. */
  constructor(series: Series, classes: Labels, tenants: Labels, more: readonly string[] = []) {
    this.#series = series;
    this.#classes = classes;
    this.#tenants = tenants;
    this.#more = more;
  }

  record({ rank, tenant }: Payer, value: number): void {
    const known = this.#recorders[rank]?.[tenant];
    if (known !== undefined) {
      known(value);
      return;
    }
    const recorder = this.#series([this.#classes.valueOf(rank), this.#tenants.valueOf(tenant), ...this.#more]);
    while (this.#recorders.length <= rank) this.#recorders.push([]);
    const ofRank = this.#recorders[rank];
    if (ofRank !== undefined) ofRank[tenant] = recorder;
    recorder(value);
  }
}

/** Whose work something is: class and tenant, by their index in the labels. */
export interface Payer {
  readonly rank: number;
  readonly tenant: number;
}

/** Series of a metric by the values of one label, each asked for when it is first needed. */
export class LabelSeries {
  readonly #series: Series;
  readonly #recorders = new Map<string, Recorder>();
  readonly #before: readonly string[];

  /** @param before Values of the labels before it. */
  constructor(series: Series, before: readonly string[] = []) {
    this.#series = series;
    this.#before = before;
  }

  record(label: string, value: number): void {
    let recorder = this.#recorders.get(label);
    if (recorder === undefined) {
      recorder = this.#series([...this.#before, label]);
      this.#recorders.set(label, recorder);
    }
    recorder(value);
  }
}
