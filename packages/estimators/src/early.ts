/**
 * The first observations of a model have nothing to be judged by, and the very first is often the wild one: a cold start.
 * So they are kept, and once there are more than the law has coefficients, the law learns anew without the one that
 * contradicts all others, if there is such a one.
 */
import { Regression } from "./regression.ts";
import type { Sample } from "./types.ts";

/** So many observations are kept; a model of more than 8 features never has enough of them to tell. */
export const EARLY_SAMPLES_MAX = 12;
/** Observations beyond one per feature: two for the intercept and the prior, one to contradict, one to be left out. */
const SAMPLES_PER_LAW = 4;
/** The law misses an observation by more than this ratio (in logarithms), e … */
const MISFIT_LOG = 1;
/** … and leaving one out brings the others this much closer: a bent law is not the fault of one observation. */
const MISFIT_GAIN = 4;

/** The law learned without the wild one, and the samples left; undefined when there is no wild one to tell. */
export function withoutWildOne(
  law: Regression,
  samples: readonly Sample[],
  forgetting: number,
): { readonly law: Regression; readonly samples: readonly Sample[] } | undefined {
  if (samples.length < law.features + SAMPLES_PER_LAW) return undefined;
  const misfit = misfitLog(law, samples);
  if (misfit <= MISFIT_LOG) return undefined;
  let best: { law: Regression; samples: readonly Sample[] } | undefined;
  let leastMisfit = misfit / MISFIT_GAIN;
  for (const wild of samples) {
    const others = samples.filter((sample) => sample !== wild);
    const candidate = new Regression(law.features, forgetting);
    for (const { features, observedNs, priorNs } of others) candidate.learn(features, observedNs, priorNs);
    const left = misfitLog(candidate, others);
    if (left >= leastMisfit) continue;
    leastMisfit = left;
    best = { law: candidate, samples: others };
  }
  return best;
}

function misfitLog(law: Regression, samples: readonly Sample[]): number {
  let worst = 0;
  for (const { features, observedNs, priorNs } of samples) {
    worst = Math.max(worst, Math.abs(Math.log(observedNs / law.evaluate(features, priorNs).valueNs)));
  }
  return worst;
}
