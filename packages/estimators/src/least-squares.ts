/**
 * Recursive least squares that forgets only in the direction of what it sees. Its covariance P, in units of the noise's
 * variance, is kept as U·D·Uᵀ (Bierman), which cannot lose positive definiteness to rounding.
 *
 * Plain exponential forgetting divides all of P by λ at each sample: while the same regressors repeat, P grows without
 * bound in every other direction ("wind-up"), and the next different sample throws the coefficients about. Here (Kulhavý's
 * restricted forgetting) P changes along P·z alone: it shrinks while z is news and grows back once zᵀPz is below (1 − λ)/λ,
 * where the gain is that of exponential forgetting.
 */
export class LeastSquares {
  readonly size: number;
  readonly coefficients: Float64Array;
  /** size × size, row by row; only what is above the diagonal is used, the diagonal is 1. */
  readonly upper: Float64Array;
  /** 0 for a coefficient that takes no part yet: its regressor was never anything but 0. */
  readonly diagonal: Float64Array;
  readonly #forgetting: number;
  readonly #gain: Float64Array;

  constructor(size: number, forgetting: number) {
    this.size = size;
    this.#forgetting = forgetting;
    this.coefficients = new Float64Array(size);
    this.upper = new Float64Array(size * size);
    this.diagonal = new Float64Array(size);
    this.#gain = new Float64Array(size);
  }

  value(regressors: Float64Array): number {
    let value = 0;
    for (let index = 0; index < this.size; index++) {
      value += (this.coefficients[index] as number) * (regressors[index] as number);
    }
    return value;
  }

  /** Variance of `value(regressors)` in units of the noise's variance, at least 0. */
  variance(regressors: Float64Array): number {
    let variance = 0;
    for (let column = 0; column < this.size; column++) {
      const projected = this.#project(regressors, column);
      variance += (this.diagonal[column] as number) * projected * projected;
    }
    return variance;
  }

  learn(regressors: Float64Array, target: number): void {
    const variance = this.variance(regressors);
    if (!(variance > 0)) return;
    const innovation = target - this.value(regressors);
    this.#updateCovariance(regressors, this.#noiseVariance(variance));
    const step = innovation / (1 + variance);
    for (let index = 0; index < this.size; index++) {
      this.coefficients[index] = (this.coefficients[index] as number) + (this.#gain[index] as number) * step;
    }
  }

  /** Multiplies what is predicted; relative uncertainty stays. */
  rescale(factor: number): void {
    for (let index = 0; index < this.size; index++) {
      this.coefficients[index] = (this.coefficients[index] as number) * factor;
      this.diagonal[index] = (this.diagonal[index] as number) * factor * factor;
    }
  }

  /**
   * The noise with which an ordinary update has the effect of update and forgetting together; negative where forgetting
   * prevails, and then larger than `variance`, so that P stays positive.
   */
  #noiseVariance(variance: number): number {
    const weight = this.#forgetting - (1 - this.#forgetting) / variance;
    return 1 / (Math.abs(weight) < 1e-9 ? 1e-9 : weight);
  }

  /** Bierman's update; leaves P·z, of P before it, in `#gain`. */
  #updateCovariance(regressors: Float64Array, noiseVariance: number): void {
    const { size, upper, diagonal } = this;
    const gain = this.#gain;
    let sum = noiseVariance;
    for (let column = 0; column < size; column++) {
      const projected = this.#project(regressors, column);
      const scaled = (diagonal[column] as number) * projected;
      const nextSum = sum + projected * scaled;
      diagonal[column] = (diagonal[column] as number) * (sum / nextSum);
      const factor = -projected / sum;
      gain[column] = scaled;
      for (let row = 0; row < column; row++) {
        const at = row * size + column;
        const entry = upper[at] as number;
        upper[at] = entry + (gain[row] as number) * factor;
        gain[row] = (gain[row] as number) + entry * scaled;
      }
      sum = nextSum;
    }
  }

  /** One entry of Uᵀz. */
  #project(regressors: Float64Array, column: number): number {
    let projected = regressors[column] as number;
    for (let row = 0; row < column; row++) {
      projected += (this.upper[row * this.size + column] as number) * (regressors[row] as number);
    }
    return projected;
  }
}
