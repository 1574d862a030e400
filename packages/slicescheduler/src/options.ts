import type { ArbitrationOptions } from "@slicescheduler/arbitration";
import type { Executor } from "@slicescheduler/executor";
import type { ClusterSpec, MemorySafety } from "@slicescheduler/gmg";
import type { SchedulerOptions } from "@slicescheduler/scheduler";
import { InvalidOptionsError } from "./errors.ts";
import type { MasterEvent } from "./events.ts";
import { HEALTH_OPTIONS, type HealthOptions, healthFaults } from "./health.ts";

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
  /** Gets every event with its time, in order: what replays the run exactly. */
  readonly onEvent?: (event: MasterEvent, nowNs: number) => void;
  /** Gets what a listener threw. Default: it is thrown again on its own, outside the scheduler. */
  readonly onListenerError?: (error: unknown, event: string) => void;
}

/** Every option there is, so that a misspelt one is not silently without effect. */
const KNOWN = {
  "": [
    "cluster",
    "executor",
    "priorities",
    "scheduling",
    "arbitration",
    "memorySafety",
    "health",
    "hostNowNs",
    "onEvent",
    "onListenerError",
  ],
  "scheduling.": [
    "policy",
    "estimators",
    "batchOperatorsMax",
    "memoryPatienceNs",
    "decisionsKept",
    "turnMsMax",
    "preemptionsPerRequestMax",
    "queuedRequestsMax",
    "slices",
    "tenants",
    "starvationBoundNs",
    "timeliness",
    "simulatedOperatorsPerMs",
    "operatorsPerAcceleratorMax",
  ],
  "arbitration.": ["agingNs", "reserveNs", "deadlineFactor", "deadlineMinNs"],
} as const;

const KNOWN_OF_TENANT = [
  "weight",
  "placedRequestsMax",
  "claimedBytesMax",
  "issuedOperatorsMax",
  "queuedRequestsMax",
] as const;

const KNOWN_OF_SLICES = ["toleranceShare", "toleranceNs"] as const;

/** Throws INVALID_OPTIONS naming everything wrong at once. */
export function checkOptions(options: SliceSchedulerOptions): void {
  const { priorities, scheduling = {}, arbitration = {} } = options;
  const faults: string[] = [];
  const unknown = (prefix: string, given: object, known: readonly string[]) => {
    for (const name of Object.keys(given)) {
      if (!known.includes(name))
        faults.push(`${prefix}${name}: there is no such option; there are ${known.join(", ")}`);
    }
  };
  const notNegative = (name: string, value: unknown) => {
    if (!(typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY))
      faults.push(`${name}: ${value} is not a number from 0`);
  };
  for (const [prefix, given] of [
    ["", options],
    ["scheduling.", scheduling],
    ["arbitration.", arbitration],
  ] as const) {
    unknown(prefix, given, KNOWN[prefix]);
  }
  const { memorySafety = "guaranteed", health = false } = options;
  if (health !== false) {
    unknown("health.", health, HEALTH_OPTIONS);
    faults.push(...healthFaults(health));
  }
  if (memorySafety !== "guaranteed" && memorySafety !== "predicted")
    faults.push(`memorySafety: ${memorySafety} is neither "guaranteed" nor "predicted"`);
  if (priorities !== undefined) {
    if (priorities.length === 0) faults.push("priorities: name at least one class");
    if (new Set(priorities).size < priorities.length)
      faults.push(`priorities: ${priorities.join(", ")} names one twice`);
  }
  const positive = (name: string, value: number | undefined, whole: boolean) => {
    if (
      value === undefined ||
      (value > 0 && value < Number.POSITIVE_INFINITY && (!whole || Number.isSafeInteger(value)))
    )
      return;
    faults.push(`${name}: ${value} is not a ${whole ? "whole " : ""}number above 0`);
  };
  positive("scheduling.timeliness", scheduling.timeliness, false);
  positive("scheduling.simulatedOperatorsPerMs", scheduling.simulatedOperatorsPerMs, false);
  positive("scheduling.operatorsPerAcceleratorMax", scheduling.operatorsPerAcceleratorMax, true);
  positive("scheduling.batchOperatorsMax", scheduling.batchOperatorsMax, true);
  positive("scheduling.memoryPatienceNs", scheduling.memoryPatienceNs, true);
  positive("scheduling.preemptionsPerRequestMax", scheduling.preemptionsPerRequestMax, true);
  positive("scheduling.queuedRequestsMax", scheduling.queuedRequestsMax, true);
  positive("scheduling.starvationBoundNs", scheduling.starvationBoundNs, true);
  positive("scheduling.decisionsKept", scheduling.decisionsKept, true);
  positive("scheduling.turnMsMax", scheduling.turnMsMax, false);
  for (const [name, tenant] of Object.entries(scheduling.tenants ?? {})) {
    const prefix = `scheduling.tenants.${name}.`;
    if (name === "") faults.push("scheduling.tenants: a tenant needs a name");
    unknown(prefix, tenant, KNOWN_OF_TENANT);
    for (const limit of KNOWN_OF_TENANT) positive(`${prefix}${limit}`, tenant[limit], limit !== "weight");
  }
  if (scheduling.slices !== undefined && scheduling.slices !== false) {
    unknown("scheduling.slices.", scheduling.slices, KNOWN_OF_SLICES);
    for (const [name, value] of Object.entries(scheduling.slices)) notNegative(`scheduling.slices.${name}`, value);
  }
  positive("arbitration.agingNs", arbitration.agingNs, true);
  positive("arbitration.reserveNs", arbitration.reserveNs, true);
  positive("arbitration.deadlineMinNs", arbitration.deadlineMinNs, true);
  const { deadlineFactor = 1 } = arbitration;
  if (!(deadlineFactor >= 1 && deadlineFactor < Number.POSITIVE_INFINITY))
    faults.push(`arbitration.deadlineFactor: ${deadlineFactor} is not a number from 1`);
  if (faults.length > 0) throw new InvalidOptionsError(faults);
}
