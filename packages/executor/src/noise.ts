import { ExecutorError } from "./errors.ts";
import { philox4x32, type Words } from "./philox.ts";

const OPERATOR_STREAM = 0;
const TRANSFER_STREAM = 1;
const WORD = 2 ** 32;

/** Which run of an operator it is. */
export interface OperatorDraw {
  readonly instance: number;
  readonly operator: number;
  /** How often it was issued in vain before. */
  readonly attempt: number;
}

/**
 * Multiplicative noise: log-normal factors of mean 1 and the given coefficients of variation, so that durations stay
 * positive and, on average, what they are without noise. Coefficients are from 0 (none) to 10.
 *
 * The factor of an operator depends on the seed, its instance, its index and the attempt, that of a transfer on the seed and
 * its number, and on nothing else: it is the same in whatever order they are asked for.
 */
export class Noise {
  readonly #key0: number;
  readonly #key1: number;
  readonly #operatorSigma: number;
  readonly #transferSigma: number;

  /** Throws INVALID_OPTION. */
  constructor(seed: number, operatorCv: number, transferCv: number) {
    if (!Number.isSafeInteger(seed) || seed < 0)
      throw new ExecutorError("INVALID_OPTION", `seed is ${seed}; give a whole number from 0 to 2^53 − 1`);
    this.#key0 = lowWord(seed);
    this.#key1 = highWord(seed);
    this.#operatorSigma = sigmaOf("operatorCv", operatorCv);
    this.#transferSigma = sigmaOf("transferCv", transferCv);
  }

  operatorFactor({ instance, operator, attempt }: OperatorDraw): number {
    if (this.#operatorSigma === 0) return 1;
    const counter: Words = [lowWord(instance), operator, attempt, highWord(instance) * 2 + OPERATOR_STREAM];
    return logNormal(this.#operatorSigma, philox4x32(counter, this.#key0, this.#key1));
  }

  transferFactor(transfer: number): number {
    if (this.#transferSigma === 0) return 1;
    const counter: Words = [lowWord(transfer), 0, 0, highWord(transfer) * 2 + TRANSFER_STREAM];
    return logNormal(this.#transferSigma, philox4x32(counter, this.#key0, this.#key1));
  }
}

const CV_MAX = 10;

/** The logarithm of a log-normal number of coefficient of variation cv has the variance ln(1 + cv²). */
function sigmaOf(name: string, cv: number): number {
  if (!(cv >= 0 && cv <= CV_MAX))
    throw new ExecutorError("INVALID_OPTION", `${name} is ${cv}; give a coefficient of variation from 0 to ${CV_MAX}`);
  return Math.sqrt(Math.log1p(cv * cv));
}

/** Its mean is exp(−σ²/2 + σ²/2) = 1. */
function logNormal(sigma: number, words: Words): number {
  return Math.exp(sigma * standardNormal(words) - (sigma * sigma) / 2);
}

/** Box and Muller's transform of two uniform numbers of 53 bits, the first from (0, 1]. */
function standardNormal([w0, w1, w2, w3]: Words): number {
  const radius = Math.sqrt(-2 * Math.log(1 - unit(w0, w1)));
  return radius * Math.cos(2 * Math.PI * unit(w2, w3));
}

function unit(high: number, low: number): number {
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

function lowWord(value: number): number {
  return value % WORD;
}

function highWord(value: number): number {
  return Math.floor(value / WORD);
}
