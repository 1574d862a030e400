import { firstFit, simulationGuided } from "@slicescheduler/scheduler";
import fc from "fast-check";
import type { SliceSchedulerOptions } from "slicescheduler";
import { type ClusterOptions, clusters } from "./clusters.ts";
import { type DurationOptions, durations } from "./durations.ts";
import type { RunOptions } from "./run-workload.ts";
import { buildTemplates, drawnFamilies, type TemplateOptions } from "./templates.ts";
import { buildWorkload, drawnWorkloads, type WorkloadOptions } from "./workloads.ts";

export interface WorldOptions extends ClusterOptions, TemplateOptions, WorkloadOptions, DurationOptions {
  /** Largest coefficient of variation of the executor's noise. Default 0.5. */
  readonly cvMax?: number;
}

/** Everything that one run needs, for `runWorkload`; drawn at once, so that it shrinks well. */
export function worlds(options: WorldOptions = {}): fc.Arbitrary<RunOptions> {
  const cv = fc.oneof(fc.constant(0), fc.double({ min: 0, max: options.cvMax ?? 0.5, noNaN: true }));
  return fc
    .record({
      cluster: clusters(options),
      family: drawnFamilies(options),
      workload: drawnWorkloads(options),
      durations: durations(options),
      seed: fc.nat(),
      operatorCv: cv,
      transferCv: cv,
      scheduling: schedulings(),
      arbitration: arbitrations(),
    })
    .map(({ cluster, family, workload, ...rest }) => {
      const templates = buildTemplates(family, cluster);
      return { ...rest, cluster, templates, workload: buildWorkload(workload, templates) };
    });
}

/** Options of the scheduling module, from the narrowest to the widest, and both of its policies. */
export function schedulings(): fc.Arbitrary<NonNullable<SliceSchedulerOptions["scheduling"]>> {
  return fc.record(
    {
      policy: fc.constantFrom(simulationGuided, firstFit),
      batchOperatorsMax: fc.integer({ min: 1, max: 8 }),
      operatorsPerAcceleratorMax: fc.integer({ min: 1, max: 6 }),
      memoryPatienceNs: fc.integer({ min: 1, max: 200 }),
    },
    { requiredKeys: [] },
  );
}

/** Waiting that counts within nanoseconds, or not at all; deadlines of transfers that are far too short, short, or ample. */
export function arbitrations(): fc.Arbitrary<NonNullable<SliceSchedulerOptions["arbitration"]>> {
  const ns = fc.integer({ min: 1, max: 60 });
  const ampleNs = { arbitrary: fc.integer({ min: 61, max: 1e9 }), weight: 3 };
  const deadlineMinNs = fc.oneof(ampleNs, { arbitrary: ns, weight: 1 });
  const deadlineFactor = fc.integer({ min: 1, max: 20 });
  return fc.record({ agingNs: ns, reserveNs: ns, deadlineFactor, deadlineMinNs }, { requiredKeys: [] });
}
