import type { ArbitrationOptions } from "@slicescheduler/arbitration";
import type { Executor } from "@slicescheduler/executor";
import type { ClusterSpec, MemorySafety } from "@slicescheduler/gmg";
import type { SchedulerOptions } from "@slicescheduler/scheduler";
import type { MasterEvent } from "./events.ts";
import type { HealthOptions } from "./health.ts";
import type { MetricsOptions } from "./metrics-sink.ts";

export interface SliceSchedulerOptions {
  readonly cluster: ClusterSpec;
  readonly executor: Executor;
  /** Names of the priority classes, the most urgent first. Default `["online", "offline"]`. */
  readonly priorities?: readonly string[];
  readonly scheduling?: Omit<SchedulerOptions, "agingNs" | "reserveNs">;
  readonly arbitration?: ArbitrationOptions;
  /**
   * `"guaranteed"`: nothing can exceed a memory or wait for one for ever, whatever happens. `"predicted"`, as in the paper: candidates that are
   * predicted to exceed one are left out, more starts at the same time, and what goes wrong is repaired or fails. Default `"guaranteed"`.
   */
  readonly memorySafety?: MemorySafety;
  /**
   * How accelerators that fail or keep silent are told from sound ones, and what is tried again. `false`: nobody is suspected of anything, and an operator that
   * fails fails its instance. Default: with the defaults of `HealthOptions`.
   */
  readonly health?: HealthOptions | false;
  /** Nanoseconds of this host, only to measure what rounds cost; never decides anything. Default: not measured. */
  readonly hostNowNs?: () => number;
  /** Where metrics go, see `MetricsSink`; adapters are in `@slicescheduler/metrics`. Default: nothing is measured. */
  readonly metrics?: MetricsOptions;
  /** Gets every event with its time, in order: what replays the run exactly. */
  readonly onEvent?: (event: MasterEvent, nowNs: number) => void;
  /** Gets what a listener threw. Default: it is thrown again on its own, outside the scheduler. */
  readonly onListenerError?: (error: unknown, event: string) => void;
}
