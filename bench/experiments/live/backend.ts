/** What the experiments on real accelerators share: is the backend there, and how a machine's CPUs are declared. */
import { availableParallelism } from "node:os";
import { libtorchAvailable } from "@slicescheduler/executor-libtorch";
import type { ClusterSpec } from "@slicescheduler/gmg";

/** Ends the process with 2 where the backend has not been built. */
export function requireBackend(): void {
  if (libtorchAvailable()) return;
  console.error("This experiment runs on LibTorch, which is not set up here: run `npm run setup:libtorch`.");
  process.exit(2);
}

/** Virtual accelerators on the CPUs of this machine, a thread each; rates are of the order of one core's. */
export function cpuCluster(count: number, hbmBytes: number): ClusterSpec {
  return {
    accelerators: Array.from({ length: count }, (_, index) => ({
      name: `cpu${index}`,
      kind: "cpu",
      hbmBytes,
      flopsPerSecond: 30e9,
      hbmBytesPerSecond: 8e9,
    })),
    defaultLink: { latencyNs: 20_000, bytesPerSecond: 4e9 },
  };
}

/** "4 accelerators on 2 cores". */
export function machine(accelerators: number): string {
  const cores = availableParallelism();
  return `${accelerators} accelerator${accelerators === 1 ? "" : "s"} on ${cores} core${cores === 1 ? "" : "s"}`;
}
