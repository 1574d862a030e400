/** The virtual cluster of the `colocation` experiment, and the true durations on it. */
import type { ClusterSpec } from "@slicescheduler/gmg";
import { InvalidOptionError } from "../errors.ts";

export interface ColocationClusterOptions {
  /** HBM of each accelerator in bytes, above 0. Default 64 GB. */
  readonly hbmBytes?: number;
  /** How many accelerators, at least 1. Default 8. */
  readonly accelerators?: number;
}

export const linkLatencyNs = 20_000;
export const linkBytesPerSecond = 12e9;

/** Eight accelerators `a0` … `a7` of 64 GB, every two joined by a link of 20 µs and 12 GB/s. Errors: INVALID_OPTION. */
export function colocationCluster(options: ColocationClusterOptions = {}): ClusterSpec {
  const { hbmBytes = 64e9, accelerators = 8 } = options;
  if (!(Number.isSafeInteger(hbmBytes) && hbmBytes > 0)) {
    throw new InvalidOptionError("hbmBytes", hbmBytes, "a whole number of bytes above 0");
  }
  if (!(Number.isInteger(accelerators) && accelerators >= 1)) {
    throw new InvalidOptionError("accelerators", accelerators, "a whole number from 1");
  }
  return {
    accelerators: Array.from({ length: accelerators }, (_, index) => ({
      name: `a${index}`,
      kind: "virtual-a16",
      hbmBytes,
      granularityBytes: 512,
      // Data-sheet peaks, from which the prior starts; the true durations are far from them, and are learned.
      flopsPerSecond: 71.6e12,
      hbmBytesPerSecond: 800e9,
    })),
    defaultLink: { latencyNs: linkLatencyNs, bytesPerSecond: linkBytesPerSecond },
  };
}
