/** What travels inside the page, packed: one overview for the charts, one timeline per policy, each inflated when it is needed. */

/** Meta of the overview block. Times count from the start of each run, in ns. */
export interface OverviewMeta {
  /** Of the longest run. */
  readonly spanNs: number;
  /** Those of the policies, each once. */
  readonly sloTtftMs: readonly number[];
  readonly policies: readonly PolicyMeta[];
  /** Index of the policy that the answer is about: the one that serves the most, or the first where workloads differ. */
  readonly first: number;
  /** Load buckets over the span, the same for all policies. */
  readonly loadBuckets: number;
  /** Points of each distribution, or null where there is nothing to show. Columns hold shares in millionths. */
  readonly distributions: Readonly<Record<DistributionName, GridMeta | null>>;
  /** Names that have colours of their own, alike in all policies: those that took the most time. */
  readonly colours: ColourNames;
}

export interface ColourNames {
  readonly tenants: readonly string[];
  readonly operators: readonly string[];
}

/** How many names have a colour of their own; all others share one. */
export const namedColours = 7;

export interface PolicyMeta {
  readonly name: string;
  readonly endNs: number;
  readonly accelerators: readonly AcceleratorMeta[];
  readonly hbmBuckets: number;
}

interface AcceleratorMeta {
  readonly name: string;
  readonly kind: string;
  readonly capacityBytes: number;
}

export type DistributionName = "ttft" | "tpot" | "idleCount" | "idleTime";

/** Values from `fromMs` to `toMs`, evenly spaced in their logarithms; each policy's column tells the share of values up to there. */
export interface GridMeta {
  readonly fromMs: number;
  readonly toMs: number;
  readonly points: number;
}

/** Names of the overview's columns; `policy` and `accelerator` are indices. */
export const overviewColumn = {
  /** Most bytes in use within each of `hbmBuckets` buckets over the span. */
  hbm: (policy: number, accelerator: number): string => `hbm ${policy} ${accelerator}`,
  /** Mean share of the accelerators that an operator ran on, in millionths, per load bucket. */
  busy: (policy: number): string => `busy ${policy}`,
  /** Most requests at once that were submitted and not done, per load bucket. */
  open: (policy: number): string => `open ${policy}`,
  /** Requests that ended in each load bucket. */
  done: (policy: number): string => `done ${policy}`,
  distribution: (name: DistributionName, policy: number): string => `${name} ${policy}`,
};

/**
 * Meta of a timeline block. Its columns are, per operator, by accelerator, then by start: `gap` since the end before, `duration`, `name`, `outcome`,
 * `instance`; per instance, by number: `instanceNumber`, `instanceRequest`, `instanceRank`, `instanceTenant`; per request, as first met: `requestNumber`.
 */
export interface TimelineMeta {
  /** Times of the columns are whole multiples of it. */
  readonly unitNs: number;
  /** Operators per accelerator. */
  readonly rows: readonly number[];
  readonly priorities: readonly string[];
  /** By index; the empty name is nobody's. */
  readonly tenants: readonly string[];
  readonly operatorNames: readonly string[];
  /** Names of the outcomes, by index. */
  readonly outcomes: readonly string[];
  /** By index; empty where a request has none. */
  readonly requestLabels: readonly string[];
  readonly notices: readonly NoticeMeta[];
  readonly noticesLeftOut: number;
  readonly decisions: DecisionsMeta;
}

export interface NoticeMeta {
  readonly kind: string;
  readonly atNs: number;
  /** Index, or −1. */
  readonly accelerator: number;
  readonly text: string;
}

export interface DecisionsMeta {
  /** How many were made, and how many of them rejected a candidate. */
  readonly seen: number;
  readonly rejectingSeen: number;
  readonly shown: readonly DecisionMeta[];
}

export interface DecisionMeta {
  readonly round: number;
  readonly atNs: number;
  readonly instance: number;
  /** Operators that were placed, in words. */
  readonly batch: string;
  readonly partition: string;
  readonly candidates: readonly CandidateMeta[];
}

export interface CandidateMeta {
  readonly partition: string;
  readonly verdict: "chosen" | "slower" | "rejected" | "not simulated";
  /** Predicted average completion from the decision on, in ns; null where it was not simulated to its end. */
  readonly scoreNs: number | null;
  readonly movedBytes: number;
  /** Why, in words. */
  readonly why: string;
}
