import { ExecutorError } from "./errors.ts";
import { philox4x32 } from "./philox.ts";

/** Which of many are struck: by chance, by number, or in more than one way. */
export interface Strike {
  /** Share that is struck, from 0 to 1, by the seed. Default 0. */
  readonly rate?: number;
  /** Every so many-th number is struck in any case: those that leave `every − 1` when divided by it. A whole number from 1. */
  readonly every?: number;
  /** Numbers that are struck in any case. */
  readonly numbers?: readonly number[];
}

/** A time in which something is wrong with an accelerator. */
export interface FaultyTime {
  /** Its name, or its index in the cluster. */
  readonly accelerator: string | number;
  /** Nanoseconds of the clock: whole, from 0. */
  readonly fromNs: number;
  /** After `fromNs`. Default: for ever. */
  readonly untilNs?: number;
}

/** How often each kind of fault struck; `lost`, `late`, `doubled`, `reordered` and `cut` are messages. */
export type FaultKind =
  | "operatorAllocation"
  | "recvAllocation"
  | "operator"
  | "transfer"
  | "operatorStraggles"
  | "transferStraggles"
  | "slowLinks"
  | "broken"
  | "hung"
  | "lost"
  | "late"
  | "doubled"
  | "reordered"
  | "cut";

export type FaultCounts = Readonly<Partial<Record<FaultKind, number>>>;

/** Counts by kind. */
export class FaultTally {
  readonly #counts = new Map<FaultKind, number>();

  count(kind: FaultKind): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  get counts(): FaultCounts {
    return Object.fromEntries(this.#counts);
  }
}

/** A number from 0 to 1, 1 excluded, of a seed, a stream and two numbers. */
export function unitOf(seed: number, stream: number, number: number, other = 0): number {
  const [word = 0] = philox4x32(
    [number % WORD, Math.floor(number / WORD), other, stream],
    seed % WORD,
    Math.floor(seed / WORD),
  );
  return word / WORD;
}

const WORD = 2 ** 32;

export function isStruck(strike: Strike | undefined, draw: () => number, number: number): boolean {
  if (strike === undefined) return false;
  const { rate = 0, every, numbers } = strike;
  if (every !== undefined && number % every === every - 1) return true;
  return (rate > 0 && draw() < rate) || (numbers?.includes(number) ?? false);
}

/** Throws INVALID_OPTION. */
export function checkStrike(name: string, strike: Strike | undefined): void {
  checkShare(`${name}.rate`, strike?.rate ?? 0);
  const every = strike?.every ?? 1;
  if (!Number.isSafeInteger(every) || every < 1) refuse(`${name}.every`, every, "a whole number from 1");
}

/** Throws INVALID_OPTION. */
export function checkTime(name: string, fromNs: number, untilNs: number | undefined): void {
  if (!Number.isSafeInteger(fromNs) || fromNs < 0)
    refuse(`${name}.fromNs`, fromNs, "whole nanoseconds from 0 to 2^53 − 1");
  if (untilNs !== undefined && !(Number.isSafeInteger(untilNs) && untilNs > fromNs))
    refuse(`${name}.untilNs`, untilNs, `whole nanoseconds after ${fromNs}`);
}

export function checkShare(name: string, share: number): void {
  if (!(share >= 0 && share <= 1)) refuse(name, share, "a share from 0 to 1");
}

export function refuse(name: string, found: number, wanted: string): never {
  throw new ExecutorError("INVALID_OPTION", `faults.${name} is ${found}; give ${wanted}`);
}
