/** Observations of features that came again exactly, the last few of each, for a bounded number of distinct features. */
import { median } from "./median.ts";

/** Observations kept per features: five of a new level outvote the rest. */
export const HISTORY_SAMPLES = 8;
/** Fewer cannot outvote one wild one. */
const ANSWER_SAMPLES_MIN = 3;
/** Mean absolute deviation of a normal law, per median absolute deviation. */
const MEAN_PER_MEDIAN_DEVIATION = 1.183;

export interface Remembered {
  readonly features: readonly number[];
  /** Oldest first, at most `HISTORY_SAMPLES`. */
  readonly observedNs: number[];
  /** 0 until there are enough samples. */
  medianNs: number;
  /** Expected |next − median| / median. */
  relativeError: number;
}

export class History {
  readonly #keysMax: number;
  /** By hash, observed longest ago first. Two feature vectors of one hash displace each other: rare, and only costs memory. */
  readonly #entries = new Map<number, Remembered>();

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What is known of exactly these features, when it is enough to answer. */
  find(features: readonly number[]): Remembered | undefined {
    const entry = this.#entries.get(hash(features));
    return entry !== undefined && entry.medianNs > 0 && same(entry.features, features) ? entry : undefined;
  }

  add(features: readonly number[], observedNs: number): void {
    if (this.#keysMax === 0) return;
    const key = hash(features);
    const found = this.#entries.get(key);
    const entry =
      found !== undefined && same(found.features, features)
        ? found
        : { features: [...features], observedNs: [], medianNs: 0, relativeError: 1 };
    if (entry.observedNs.length === HISTORY_SAMPLES) entry.observedNs.shift();
    entry.observedNs.push(observedNs);
    summarise(entry);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > this.#keysMax) this.#evictOldest();
  }

  clear(): void {
    this.#entries.clear();
  }

  entries(): IterableIterator<Remembered> {
    return this.#entries.values();
  }

  #evictOldest(): void {
    for (const key of this.#entries.keys()) {
      this.#entries.delete(key);
      return;
    }
  }
}

function summarise(entry: Remembered): void {
  const count = entry.observedNs.length;
  if (count < ANSWER_SAMPLES_MIN) return;
  const medianNs = median(entry.observedNs);
  const deviation = median(entry.observedNs.map((value) => Math.abs(value - medianNs)));
  entry.medianNs = medianNs;
  // Few samples may agree by chance, and their median errs too: at three, twice their spread.
  entry.relativeError = ((MEAN_PER_MEDIAN_DEVIATION * deviation) / medianNs) * (1 + ANSWER_SAMPLES_MIN / count);
}

function same(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (a[index] !== b[index]) return false;
  }
  return true;
}

const asNumber = new Float64Array(1);
const asWords = new Uint32Array(asNumber.buffer);

/** 0 and −0 are the same feature, and hash alike. */
function hash(features: readonly number[]): number {
  let value = features.length;
  for (let index = 0; index < features.length; index++) {
    asNumber[0] = (features[index] as number) + 0;
    value = Math.imul(value ^ (asWords[0] as number), 0x9e3779b1);
    value = Math.imul(value ^ (value >>> 15) ^ (asWords[1] as number), 0x85ebca6b);
    value ^= value >>> 13;
  }
  return value;
}
