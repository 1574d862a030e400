import { mean, median, variation } from "../live/statistics.ts";

/** One operator or transfer: what was expected of it just before it was submitted, and what it took. */
export interface Sample {
  /** What it has in common with its repeats: operator and symbols, or link and bytes. */
  readonly group: string;
  readonly predictedNs: number;
  readonly observedNs: number;
}

export interface Accuracy {
  readonly samples: number;
  /** Mean absolute percentage error of the estimates. */
  readonly mape: number;
  /** Coefficient of variation of repeats, averaged over the samples. */
  readonly cv: number;
  /** The error that is left to whoever knows the median of all repeats beforehand. */
  readonly floor: number;
}

/** Groups of a single sample have no variation and are left out. */
export function accuracyOf(samples: readonly Sample[]): Accuracy {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) groups.set(sample.group, [...(groups.get(sample.group) ?? []), sample]);
  const errors: number[] = [];
  const floors: number[] = [];
  const variations: number[] = [];
  for (const group of groups.values()) {
    if (group.length < 2) continue;
    const observed = group.map(({ observedNs }) => observedNs);
    const [middle, cv] = [median(observed), variation(observed)];
    for (const { predictedNs, observedNs } of group) {
      errors.push(Math.abs(predictedNs - observedNs) / observedNs);
      floors.push(Math.abs(middle - observedNs) / observedNs);
      variations.push(cv);
    }
  }
  return { samples: errors.length, mape: mean(errors), cv: mean(variations), floor: mean(floors) };
}
