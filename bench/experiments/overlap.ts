/** How much idle time four instances have in common (paper §2.2.2): little, so one instance's idle slice is another's busy time. */
import { colocationShare, idleOverlap, idleSlicesShare, serveSerially } from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { readWorkloadArguments, workloadOf } from "./inputs/workload.ts";

export const measure: Measure = (args) => {
  const given = readWorkloadArguments(args, { share: idleSlicesShare });
  const [seed = 1] = given.seeds;
  // The traces of `idle-slices`, and beside them those of `colocation`, which leave more idle.
  const shares = given.recipe === "C" ? [given.share] : [...new Set([given.share, colocationShare])];
  const points = shares.map((share) => {
    const { workload, generated, label } = workloadOf({ ...given, share }, seed);
    return { share, overlap: idleOverlap(serveSerially(workload), workload.windowNs), generated, workload: label };
  });
  const text = [
    "idle time common to four instances ÷ mean idle time of one (paper: at most 20 %)",
    ...points.map(({ workload, overlap }) => `  ${(100 * overlap).toFixed(1)} %  ${workload}`),
  ].join("\n");
  return { text, json: { overlap: points[0]?.overlap, generated: points[0]?.generated, seeds: [seed], points } };
};
