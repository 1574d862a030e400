/** True durations on any described cluster: a roofline of its declared rates, at the shares of them that the A16-like model reaches. */
import type { VirtualOperator, VirtualTransfer } from "@slicescheduler/executor";
import { type ClusterSpec, compileCluster } from "@slicescheduler/gmg";
import { InvalidOptionError } from "../errors.ts";
import { embeddingBytes, layerFlopsPerToken, layerWeightBytes, llama3_8b } from "../llama/shape.ts";
import { colocationCluster } from "./cluster.ts";
import { colocationDurations } from "./durations.ts";

/** Shares of the declared peak rates that operators reach, each above 0 and at most 1. */
export interface Efficiency {
  readonly compute: number;
  readonly memory: number;
}

export interface RooflineDurationsOptions {
  readonly cluster: ClusterSpec;
  /** By kind of accelerator. Default for those left out: `calibratedEfficiency()`. */
  readonly efficiency?: Readonly<Record<string, Efficiency>>;
}

export interface RooflineDurations {
  operatorNs(work: VirtualOperator): number;
  transferNs(work: VirtualTransfer): number;
}

const layers = 8;

/**
 * What the measured durations of the colocation model come to beside the data sheet's rates: 21.7 % of the FLOP/s in a prefill
 * (0.225 ms a token through eight layers), 41.3 % of the bytes/s in a decode step (10.575 ms for the weights of eight layers).
 */
export function calibratedEfficiency(): Efficiency {
  const [accelerator] = colocationCluster({ accelerators: 1 }).accelerators;
  const { flopsPerSecond = 1, hbmBytesPerSecond = 1 } = accelerator ?? {};
  const measured = colocationDurations({ prefill: "prefill", decode: "decode", layersPerOperator: layers });
  const tokens = 1000;
  const computeSeconds = (tokens * layers * layerFlopsPerToken(llama3_8b)) / flopsPerSecond;
  const memorySeconds = (layers * layerWeightBytes(llama3_8b)) / hbmBytesPerSecond;
  return {
    compute: computeSeconds / (measured.operatorNs("prefill", { tokens }) / 1e9),
    memory: memorySeconds / (measured.operatorNs("decode", { past: 1 }) / 1e9),
  };
}

/**
 * An operator takes the longer of its declared FLOPs and its declared bytes, at that share of its accelerator's rates; a transfer
 * takes what the cluster's links declare. Errors: INVALID_OPTION naming every accelerator without rates, CLUSTER_INVALID.
 */
export function rooflineDurations({ cluster, efficiency = {} }: RooflineDurationsOptions): RooflineDurations {
  const compiled = compileCluster(cluster);
  const rates = compiled.accelerators.map(({ name, kind, flopsPerSecond, hbmBytesPerSecond }) => {
    const share = shareOf(efficiency, kind);
    checkShare(`efficiency.${kind}.compute`, share.compute);
    checkShare(`efficiency.${kind}.memory`, share.memory);
    return {
      name,
      flopsPerNs: ((flopsPerSecond ?? Number.NaN) * share.compute) / 1e9,
      bytesPerNs: ((hbmBytesPerSecond ?? Number.NaN) * share.memory) / 1e9,
    };
  });
  const unknown = rates.filter(({ flopsPerNs, bytesPerNs }) => Number.isNaN(flopsPerNs + bytesPerNs));
  if (unknown.length > 0) {
    const names = unknown.slice(0, 5).map(({ name }) => name);
    const more = unknown.length > names.length ? ` and ${unknown.length - names.length} more` : "";
    const wanted = "one that declares flopsPerSecond and hbmBytesPerSecond of every accelerator";
    throw new InvalidOptionError("cluster", `one without them for ${names.join(", ")}${more}`, wanted);
  }
  return {
    operatorNs({ binding, operator, accelerator }) {
      const { flopsPerNs = Number.NaN, bytesPerNs = Number.NaN } = rates[accelerator.index] ?? {};
      return Math.max(
        1,
        Math.ceil(Math.max(binding.flops(operator) / flopsPerNs, binding.movedBytes(operator) / bytesPerNs)),
      );
    },
    transferNs: ({ source, destination, bytes }) => compiled.transferNs(source.index, destination.index, bytes),
  };
}

function checkShare(name: string, share: number): void {
  if (!(share > 0 && share <= 1)) throw new InvalidOptionError(name, share, "above 0 and at most 1");
}

/**
 * What a serial server on the cluster takes, at the rates of its first accelerator: a prompt token through the whole model, and a
 * decode pass that reads all weights. Attention and transfers are left out. Errors: as `rooflineDurations`.
 */
export function rooflineSerialPasses(options: RooflineDurationsOptions): {
  prefillNsPerToken: number;
  decodePassNs: number;
} {
  rooflineDurations(options);
  const [first] = options.cluster.accelerators;
  const { kind = "", flopsPerSecond = 1, hbmBytesPerSecond = 1 } = first ?? {};
  const share = shareOf(options.efficiency ?? {}, kind);
  const flops = llama3_8b.layers * layerFlopsPerToken(llama3_8b);
  const bytes = llama3_8b.layers * layerWeightBytes(llama3_8b) + embeddingBytes(llama3_8b);
  return {
    prefillNsPerToken: (flops / (flopsPerSecond * share.compute)) * 1e9,
    decodePassNs: (bytes / (hbmBytesPerSecond * share.memory)) * 1e9,
  };
}

function shareOf(efficiency: Readonly<Record<string, Efficiency>>, kind: string): Efficiency {
  const own = Object.hasOwn(efficiency, kind) ? efficiency[kind] : undefined;
  return own ?? calibratedEfficiency();
}
