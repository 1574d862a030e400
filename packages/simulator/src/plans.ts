import { runFailed } from "./errors.ts";
import { Evaluation } from "./evaluation.ts";
import type { Mark } from "./mark.ts";
import { dropOverlay, planOverlay } from "./overlay.ts";
import { planAll } from "./plan.ts";
import { Planned } from "./planned.ts";
import type { Problem } from "./problem.ts";
import type { SimulatorOptions } from "./types.ts";

/** A plan and what runs of it found. */
class Side {
  readonly planned: Planned;
  readonly evaluation: Evaluation;
  isPlanned = false as boolean;

  constructor(planned: Planned) {
    this.planned = planned;
    this.evaluation = new Evaluation(planned);
  }

  /** @param firstTarget Operators from this handle on count for the score. */
  plan(declared: Mark, firstTarget: number): void {
    this.isPlanned = false;
    planAll(this.planned, declared, firstTarget);
    this.evaluation.replanned();
    this.isPlanned = true;
  }

  /** A run that failed midway leaves counters and queues as they were then: nothing of it is used again. */
  fail(error: unknown): never {
    this.planned.intents.clear();
    this.isPlanned = false;
    throw runFailed(error);
  }
}

/**
 * Plans what is declared and runs it. What was declared before the mark is planned and run once, and overlays are planned upon it. A
 * candidate that is no mere overlay is planned as a whole, apart, so that it costs the others nothing.
 */
export class Plans {
  readonly #options: SimulatorOptions;
  readonly #problem: Problem;
  /** What is declared up to the mark, or all without one, with an overlay or not. */
  readonly #base: Side;
  /** Made for the first candidate that is no overlay. */
  #whole: Side | null = null;
  /** The side that ran last. */
  #shown: Side;
  #mark: Mark | null = null;
  /** What is declared since the mark is planned upon the base; null = not tried yet. */
  #isOverlay: boolean | null = null;

  constructor(options: SimulatorOptions, problem: Problem) {
    this.#options = options;
    this.#problem = problem;
    this.#base = new Side(new Planned(options, problem));
    this.#shown = this.#base;
  }

  /** Accelerators and their states, valid also before anything is planned. */
  get base(): Planned {
    return this.#base.planned;
  }

  /** Of the last run. */
  get planned(): Planned {
    return this.#shown.planned;
  }

  /** Of the last run. */
  get evaluation(): Evaluation {
    return this.#shown.evaluation;
  }

  get mark(): Mark | null {
    return this.#mark;
  }

  /** It moves; null: there is none. */
  set mark(mark: Mark | null) {
    this.#mark = mark;
    this.#base.isPlanned = false;
  }

  /** Before every change of what is declared. */
  edit(): void {
    if (this.#isOverlay === true) dropOverlay(this.#base.planned);
    this.#isOverlay = null;
    if (this.#mark === null) this.#base.isPlanned = false;
    if (this.#whole !== null) this.#whole.isPlanned = false;
  }

  /** Plans what is not planned yet, and runs it. */
  run(abandonAboveScore: number, timeline: boolean): void {
    const mark = this.#mark;
    const isCandidate = mark !== null && this.#isLaidOver(mark);
    if (isCandidate && this.#isOverlay === null) this.#isOverlay = this.#overlay(mark);
    const side = isCandidate && this.#isOverlay !== true ? this.#planWhole(mark) : this.#planBase();
    this.#shown = side;
    try {
      if (isCandidate && side === this.#base) side.evaluation.evaluateOverlay(abandonAboveScore, timeline);
      else side.evaluation.evaluateAll(abandonAboveScore, timeline);
    } catch (error) {
      this.#fail(side, error);
    }
  }

  /** Before times and bytes of the last run are read. */
  settle(): void {
    try {
      this.#shown.evaluation.settle();
    } catch (error) {
      this.#fail(this.#shown, error);
    }
  }

  #isLaidOver({ operators, copies }: Mark): boolean {
    const problem = this.#problem;
    return problem.operators > operators || problem.copies > copies || problem.changedHolds > 0;
  }

  #overlay(mark: Mark): boolean {
    const { evaluation, planned } = this.#planBase();
    try {
      evaluation.evaluateBase();
    } catch (error) {
      this.#fail(this.#base, error);
    }
    return planOverlay(planned, mark);
  }

  #planBase(): Side {
    const base = this.#base;
    if (base.isPlanned) return base;
    const problem = this.#problem;
    const mark = this.#mark;
    // With the holds that it had when the mark was set.
    problem.swapHolds();
    try {
      base.plan(mark ?? problem.mark(), mark?.operators ?? 0);
    } finally {
      problem.swapHolds();
    }
    return base;
  }

  #planWhole({ operators }: Mark): Side {
    this.#whole ??= new Side(new Planned(this.#options, this.#problem, this.#base.planned));
    const whole = this.#whole;
    if (whole.isPlanned) return whole;
    whole.planned.beginNs = this.#base.planned.beginNs;
    whole.plan(this.#problem.mark(), operators);
    return whole;
  }

  #fail(side: Side, error: unknown): never {
    if (side === this.#base) this.#isOverlay = null;
    side.fail(error);
  }
}
