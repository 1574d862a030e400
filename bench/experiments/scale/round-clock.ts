import { simulationGuided } from "@slicescheduler/scheduler";
import type { ReplayScheduling } from "@slicescheduler/workloads";

/** One event that led to decisions. */
export interface TimedRounds {
  readonly hostNs: number;
  readonly rounds: number;
  readonly operators: number;
  /** Most candidates among its rounds. */
  readonly candidates: number;
}

/**
 * Times rounds from outside: the master asks for the host's time before and after each event that led to decisions, and the
 * policy, wrapped, counts what was decided between the two. Everything a round does is in it: frontier, candidates, simulation, issue.
 */
export class RoundClock {
  readonly timed: TimedRounds[] = [];
  readonly #fromNs: number;
  readonly #untilNs: number;
  readonly #nowNs: () => number;
  #lastNs = 0;
  #rounds = 0;
  #operators = 0;
  #candidates = 0;
  #counts: boolean = false;

  /** Only rounds within this stretch of simulated time are kept. */
  constructor(fromNs: number, untilNs: number, nowNs: () => number) {
    this.#fromNs = fromNs;
    this.#untilNs = untilNs;
    this.#nowNs = nowNs;
  }

  readonly policy: NonNullable<ReplayScheduling["policy"]> = {
    name: simulationGuided.name,
    choose: (round) => {
      this.#rounds++;
      this.#operators += round.batch.length;
      this.#candidates = Math.max(this.#candidates, round.candidates.length);
      this.#counts = round.nowNs >= this.#fromNs && round.nowNs < this.#untilNs;
      return simulationGuided.choose(round);
    },
  };

  readonly hostNowNs = (): number => {
    const nowNs = this.#nowNs();
    if (this.#rounds > 0 && this.#counts) {
      this.timed.push({
        hostNs: nowNs - this.#lastNs,
        rounds: this.#rounds,
        operators: this.#operators,
        candidates: this.#candidates,
      });
    }
    this.#rounds = 0;
    this.#operators = 0;
    this.#candidates = 0;
    this.#lastNs = nowNs;
    return nowNs;
  };
}
