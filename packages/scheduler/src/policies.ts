import type { Candidate, Choice, Round, SchedulingPolicy } from "./types.ts";

/**
 * The paper's policy (§3.4, Algorithm 1): the candidate with the least predicted average completion time of the batch's
 * operators; equal ones by bytes moved, then by the partition's name. A single candidate is taken without simulating it, and of several
 * only those are simulated that could still be the best, the most promising first: hundreds of idle places cost one simulation.
 */
export const simulationGuided: SchedulingPolicy = {
  name: "simulation-guided",
  choose(round: Round): Choice {
    const { candidates } = round;
    const scoresNs: (number | null)[] = candidates.map(() => null);
    let best = candidates[0] as Candidate;
    if (candidates.length === 1) return { candidate: best, scoresNs };
    let bestNs = Number.POSITIVE_INFINITY;
    for (const { candidate, leastNs, index } of byPromise(round)) {
      // Nor can any after it: they have no less, and with as much they lose the tie as it does.
      if (leastNs > bestNs || (leastNs === bestNs && compareTied(candidate, best) > 0)) break;
      const scoreNs = round.simulate(candidate, bestNs);
      scoresNs[index] = scoreNs;
      if (scoreNs === null || scoreNs > bestNs) continue;
      if (scoreNs < bestNs || compareTied(candidate, best) < 0) best = candidate;
      bestNs = scoreNs;
    }
    return { candidate: best, scoresNs };
  },
};

/** Takes the first partition of the template that has memory: no simulation, the baseline of the baselines. */
export const firstFit: SchedulingPolicy = {
  name: "first-fit",
  choose({ candidates }: Round): Choice {
    return { candidate: candidates[0] as Candidate, scoresNs: candidates.map(() => null) };
  },
};

interface Promising {
  readonly candidate: Candidate;
  readonly leastNs: number;
  /** Among the round's candidates. */
  readonly index: number;
}

function byPromise(round: Round): Promising[] {
  const all = round.candidates.map((candidate, index) => {
    return { candidate, leastNs: round.leastNs?.(candidate) ?? 0, index };
  });
  return all.sort((a, b) => a.leastNs - b.leastNs || compareTied(a.candidate, b.candidate));
}

function compareTied(a: Candidate, b: Candidate): number {
  if (a.movedBytes !== b.movedBytes) return a.movedBytes - b.movedBytes;
  return a.partition.name < b.partition.name ? -1 : 1;
}
