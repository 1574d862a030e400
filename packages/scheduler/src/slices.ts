import type { AcceleratorIndex, GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";
import { bestFill, type Piece } from "./fill.ts";
import type { UrgentForecast } from "./forecast.ts";
import type { Predictor } from "./predictor.ts";

/** How less urgent work is fitted into the time that more urgent work leaves (DESIGN §10, slice fitting). */
export interface SliceOptions {
  /** An operator may be predicted to end later than a more urgent one is to start by this share of its own duration. Default 0.02. */
  readonly toleranceShare?: number;
  /** And by so many nanoseconds more. Default 0. */
  readonly toleranceNs?: number;
}

/** Predictions that turned out wrong are looked at again no sooner than after this time, and each time that nothing has come of it twice as much. */
const LOOK_AGAIN_NS = 100_000;
/** So often: then it is not looked at before something happens. */
const LOOKS_IN_VAIN_MAX = 24;

interface Queue {
  /** Issued and not activated. */
  readonly held: Set<OperatorNode>;
  /** Activated and not started. */
  readonly open: Set<OperatorNode>;
  running: OperatorNode | null;
}

/**
 * Decides when operators that are not of the most urgent class are activated. One is let go on an idle accelerator when it is
 * predicted to end before a more urgent one is to start there, within a tolerance, with as much to spare as the estimate is off on
 * average; among the ready ones the one whose slice can be filled best. Reads the graph; changes nothing in it.
 */
export class SliceGate {
  readonly #predictor: Predictor;
  readonly #forecast: UrgentForecast;
  readonly #toleranceShare: number;
  readonly #toleranceNs: number;
  readonly #queues: readonly Queue[];
  /** Where something may be activated that could not be before. */
  readonly #dirty = new Set<AcceleratorIndex>();
  /** Idle accelerators where nothing that is ready fits, and when the more urgent operator is to start there. */
  readonly #refused = new Map<AcceleratorIndex, number>();
  /** When a forecast was last found wrong, and how often since anything has started or ended. */
  #lookedNs = Number.NEGATIVE_INFINITY;
  #looksInVain = 0;

  constructor(graph: GlobalMappingGraph, predictor: Predictor, forecast: UrgentForecast, options: SliceOptions) {
    this.#predictor = predictor;
    this.#forecast = forecast;
    this.#toleranceShare = options.toleranceShare ?? 0.02;
    this.#toleranceNs = options.toleranceNs ?? 0;
    this.#queues = graph.cluster.accelerators.map(() => ({ held: new Set(), open: new Set(), running: null }));
  }

  /** Goes on where another one is, over a copy of its graph. */
  continueFrom(other: SliceGate, graph: GlobalMappingGraph): void {
    this.#forecast.continueFrom(other.#forecast);
    this.#lookedNs = other.#lookedNs;
    this.#looksInVain = other.#looksInVain;
    for (const [accelerator, { held, open, running }] of other.#queues.entries()) {
      const queue = this.#at(accelerator);
      for (const operator of held) queue.held.add(graph.issued(operator.issueNumber) as OperatorNode);
      for (const operator of open) queue.open.add(graph.issued(operator.issueNumber) as OperatorNode);
      queue.running = running === null ? null : (graph.issued(running.issueNumber) ?? null);
    }
    for (const accelerator of other.#dirty) this.#dirty.add(accelerator);
    for (const [accelerator, startNs] of other.#refused) this.#refused.set(accelerator, startNs);
  }

  isHeldBack(operator: OperatorNode): boolean {
    return this.#queues[operator.accelerator]?.held.has(operator) ?? false;
  }

  /** Takes note of an issue. Returns whether the operator may run as soon as it is ready. */
  issued(operator: OperatorNode): boolean {
    const { held, open } = this.#at(operator.accelerator);
    this.#forecastChanged(operator.rank);
    const isActivated = operator.rank === 0;
    (isActivated ? open : held).add(operator);
    if (!isActivated) this.#dirty.add(operator.accelerator);
    return isActivated;
  }

  started(operator: OperatorNode): void {
    const queue = this.#at(operator.accelerator);
    queue.held.delete(operator);
    queue.open.delete(operator);
    queue.running = operator;
    this.#looksInVain = 0;
  }

  /** It is done, has failed or was given back: to be called while it still knows its accelerator. */
  ended(operator: OperatorNode): void {
    const queue = this.#at(operator.accelerator);
    queue.held.delete(operator);
    queue.open.delete(operator);
    if (queue.running === operator) queue.running = null;
    this.#looksInVain = 0;
    this.#forecastChanged(operator.rank);
    this.#dirty.add(operator.accelerator);
  }

  /** A copy has arrived there. */
  arrived(accelerator: AcceleratorIndex): void {
    this.#dirty.add(accelerator);
  }

  /** All that was there is gone. */
  lost(accelerator: AcceleratorIndex): void {
    const queue = this.#at(accelerator);
    queue.held.clear();
    queue.open.clear();
    queue.running = null;
    this.#refused.delete(accelerator);
    this.#forecastChanged(0);
  }

  /** Its class has changed. Tells whether it was let go for the sake of one that does not need it any more. */
  reranked(operator: OperatorNode): boolean {
    this.#forecastChanged(0);
    this.#dirty.add(operator.accelerator);
    return operator.rank > 0 && this.#at(operator.accelerator).open.has(operator);
  }

  /** When to look again at the latest; Infinity for when something changes. */
  wakeNs(nowNs: number): number {
    if (this.#looksInVain === LOOKS_IN_VAIN_MAX) return Number.POSITIVE_INFINITY;
    let earliest = Number.POSITIVE_INFINITY;
    for (const startNs of this.#refused.values()) earliest = Math.min(earliest, startNs);
    return Math.max(earliest, nowNs, this.#lookedNs + LOOK_AGAIN_NS * 2 ** this.#looksInVain);
  }

  /** Operators to activate now. */
  activate(nowNs: number): OperatorNode[] {
    this.#lookAgain(nowNs);
    const activated: OperatorNode[] = [];
    for (const accelerator of this.#dirty) {
      this.#dirty.delete(accelerator);
      this.#refused.delete(accelerator);
      const queue = this.#at(accelerator);
      const chosen = [...queue.held].filter((operator) => operator.rank === 0);
      const fitting = chosen.length === 0 && isIdle(queue) ? this.#choose(accelerator, queue, nowNs) : null;
      if (fitting !== null) chosen.push(fitting);
      for (const operator of chosen) {
        queue.held.delete(operator);
        queue.open.add(operator);
      }
      activated.push(...chosen);
    }
    return activated;
  }

  /** Where the more urgent operator was to start by now and nothing has told of it, the forecast was wrong. */
  #lookAgain(nowNs: number): void {
    let isLate = false;
    for (const startNs of this.#refused.values()) if (startNs <= nowNs) isLate = true;
    if (!isLate || nowNs < this.#lookedNs + LOOK_AGAIN_NS) return;
    this.#lookedNs = nowNs;
    this.#looksInVain += 1;
    this.#forecastChanged(0);
  }

  /** Of the most urgent class of which something fits; null where nothing does. */
  #choose(accelerator: AcceleratorIndex, { held }: Queue, nowNs: number): OperatorNode | null {
    const ready = [...held].filter(({ missingInputs, recalled, state }) => {
      return missingInputs === 0 && !recalled && state === "issued";
    });
    if (ready.length === 0) return null;
    ready.sort(inOrder);
    let nextNs = Number.POSITIVE_INFINITY;
    for (let from = 0; from < ready.length; ) {
      const rank = (ready[from] as OperatorNode).rank;
      let to = from;
      while (to < ready.length && (ready[to] as OperatorNode).rank === rank) to++;
      nextNs = this.#forecast.nextStartNs(accelerator, rank, nowNs);
      if (nextNs === Number.POSITIVE_INFINITY) return ready[from] as OperatorNode;
      const pieces = ready.slice(from, to).map((operator) => this.#pieceOf(operator));
      const best = bestFill(pieces, nextNs - nowNs);
      if (best >= 0) return ready[from + best] as OperatorNode;
      from = to;
    }
    this.#refused.set(accelerator, nextNs);
    return null;
  }

  /** How long an operator takes, and how much of it has to be before the more urgent one starts. */
  #pieceOf(operator: OperatorNode): Piece {
    const { durationNs, confidence } = this.#predictor.operatorEstimate(operator, operator.accelerator);
    const neededNs = durationNs * (2 - confidence - this.#toleranceShare) - this.#toleranceNs;
    return { durationNs, neededNs };
  }

  /** Of less urgent classes than this one. */
  #forecastChanged(rank: number): void {
    if (!this.#forecast.changed(rank)) return;
    for (const accelerator of this.#refused.keys()) this.#dirty.add(accelerator);
  }

  #at(accelerator: AcceleratorIndex): Queue {
    return this.#queues[accelerator] as Queue;
  }
}

function isIdle({ open, running }: Queue): boolean {
  if (running !== null) return false;
  for (const { missingInputs } of open) if (missingInputs === 0) return false;
  return true;
}

/** As in an executor's queue. */
function inOrder(a: OperatorNode, b: OperatorNode): number {
  return a.rank - b.rank || a.readyNs - b.readyNs || a.issueNumber - b.issueNumber;
}
