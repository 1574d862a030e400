/**
 * What really happens on the virtual cluster. Only the virtual executor may ask; the scheduler has to learn it.
 */
import { linkBytesPerSecond, linkLatencyNs } from "./cluster.ts";

/** One decode step through eight layers. */
const decodeNsPerEightLayers = 10_575_000;
/** One prompt token through eight layers. */
const prefillNsPerTokenPerEightLayers = 225_000;
/** Coefficients of variation of the noise (paper §5.4.1). */
export const operatorNoiseCv = 0.0062;
export const transferNoiseCv = 0.0163;

export interface ColocationDurations {
  /** True nanoseconds of one operator of the named template under these symbols, before noise. */
  operatorNs(template: string, symbols: Readonly<Record<string, number>>): number;
  /** True nanoseconds of a transfer, before noise. */
  transferNs(bytes: number): number;
}

export interface ColocationDurationsOptions {
  /** Names of the templates: prefill, decode, and prefill in further pieces if there is one. */
  readonly prefill: string;
  readonly decode: string;
  readonly extend?: string;
  /** Default 8. */
  readonly layersPerOperator?: number;
}

/** The true durations for one model; linear in layers. Throws a TypeError for a template it was not told of. */
export function colocationDurations(options: ColocationDurationsOptions): ColocationDurations {
  const layers = (options.layersPerOperator ?? 8) / 8;
  const decodeNs = Math.round(layers * decodeNsPerEightLayers);
  return {
    operatorNs(template, symbols) {
      if (template === options.decode) return decodeNs;
      if (template !== options.prefill && template !== options.extend)
        throw new TypeError(`no true duration is known for template "${template}"`);
      return Math.max(1, Math.round(layers * prefillNsPerTokenPerEightLayers * (symbols["tokens"] ?? 0)));
    },
    transferNs: colocationTransferNs,
  };
}

/** True nanoseconds of a transfer between any two accelerators, before noise. */
export function colocationTransferNs(bytes: number): number {
  return linkLatencyNs + Math.ceil(bytes / (linkBytesPerSecond / 1e9));
}
