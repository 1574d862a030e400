/**
 * `colocation` with continuous batching for every policy, offline work without end: what sharing gains where each instance is a
 * serving engine as they are. The paper has no figure for it. Definitions: docs/batched.md.
 */
import { parseArgs } from "node:util";
import {
  type BatchedComparison,
  type BatchedOutcome,
  batchedPolicy,
  batchedPolicyNames,
  colocationCluster,
  colocationOffline,
  compareBatched,
  replayBatched,
} from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { readWorkloadArguments, workloadOf } from "./inputs/workload.ts";

/** Of the arrivals: twice that of `colocation` and a little, so that Static-Online is busy for about .45 of the time. */
const batchedShare = 0.07;

interface BatchedArguments {
  readonly policies: readonly string[];
  readonly onlineStepTokens: number;
  readonly offlineStepTokens: number;
  /** For `readWorkloadArguments`. */
  readonly rest: readonly string[];
}

export const measure: Measure = async (args) => {
  const { policies, onlineStepTokens, offlineStepTokens, rest } = readArguments(args);
  const given = readWorkloadArguments(rest, { share: batchedShare });
  const cluster = colocationCluster();
  const accelerators = cluster.accelerators.length;
  const labels: string[] = [];
  const seeds: BatchedOutcome[][] = [];
  for (const seed of given.seeds) {
    const { workload, label } = workloadOf(given, seed);
    labels.push(label);
    const terms = { tenants: workload.tenants.length, accelerators, onlineStepTokens, offlineStepTokens };
    const outcomes: BatchedOutcome[] = [];
    for (const name of policies) {
      const policy = batchedPolicy(name, terms);
      outcomes.push(replayBatched({ cluster, policy, online: workload, offline: colocationOffline, seed }));
      // What a scheduler has left to tell keeps it in memory; here it is told.
      await Promise.resolve();
    }
    seeds.push(outcomes);
  }
  const comparison = compareBatched(seeds);
  const text = [
    ...new Set(labels),
    `steps of at most ${onlineStepTokens} tokens online and ${offlineStepTokens} offline; offline requests of 2048 tokens in, 15 out, without end`,
    ...table(policies, comparison),
    ...Object.entries(comparison.ratios).map(([baseline, { requestsPerSecond, tokensPerSecond }]) => {
      return `slicescheduler over ${baseline}: requests ×${requestsPerSecond?.toFixed(2)}, tokens ×${tokensPerSecond?.toFixed(2)}`;
    }),
    `strongest baseline: ${comparison.strongestBaseline?.policy ?? "(none replayed)"} (no figure in the paper)`,
  ].join("\n");
  const workload = { label: labels[0], recipe: given.recipe, share: given.share, generated: given.traces === null };
  return { text, json: { workload, seeds: given.seeds, onlineStepTokens, offlineStepTokens, ...comparison } };
};

function readArguments(args: readonly string[]): BatchedArguments {
  const options = {
    policy: { type: "string", multiple: true },
    "online-step": { type: "string", default: "64" },
    "offline-step": { type: "string", default: "92" },
  } as const;
  const { values, tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const mine = new Set<number>();
  for (const token of tokens) {
    if (token.kind !== "option" || !Object.hasOwn(options, token.name)) continue;
    mine.add(token.index);
    if (token.inlineValue === false) mine.add(token.index + 1);
  }
  const named = (values["policy"] ?? []).flatMap((value) => String(value).split(","));
  // Static-Online sets the SLO and the idle time that there is to harvest.
  const policies = named.length === 0 ? batchedPolicyNames : [...new Set(["static-online", ...named])];
  return {
    policies,
    onlineStepTokens: Number(values["online-step"]),
    offlineStepTokens: Number(values["offline-step"]),
    rest: args.filter((_argument, index) => !mine.has(index)),
  };
}

const columns: readonly [string, (name: string, comparison: BatchedComparison) => string][] = [
  ["policy", (name) => name],
  ["requests/s", (name, { policies }) => (policies[name]?.requestsPerSecond ?? 0).toFixed(2)],
  ["tokens/s", (name, { policies }) => (policies[name]?.tokensPerSecond ?? 0).toFixed(1)],
  ["SLO", (name, { policies }) => (policies[name]?.sloAttainment ?? 0).toFixed(3)],
  ["utilisation", (name, { policies }) => (policies[name]?.utilization ?? 0).toFixed(3)],
  ["TTFT p50/p90/p99 ms", (name, { policies }) => latencies(policies[name]?.ttftMs, 0)],
  ["TPOT p50/p90/p99 ms", (name, { policies }) => latencies(policies[name]?.tpotMs, 1)],
  ["harvest", (name, { slices }) => slices[name]?.harvest?.toFixed(3) ?? "-"],
  ["interference TTFT p50/p99, TPOT p50/p99", (name, { slices }) => interference(slices[name]?.interference)],
];

function table(policies: readonly string[], comparison: BatchedComparison): string[] {
  const rows = [
    columns.map(([title]) => title),
    ...policies.map((name) => columns.map(([, cell]) => cell(name, comparison))),
  ];
  const widths = columns.map((_column, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function latencies(of: { p50: number; p90: number; p99: number } | null | undefined, digits: number): string {
  return of ? [of.p50, of.p90, of.p99].map((ms) => ms.toFixed(digits)).join(" / ") : "-";
}

function interference(
  of: { ttftP50: number; ttftP99: number; tpotP50: number; tpotP99: number } | null | undefined,
): string {
  return of ? [of.ttftP50, of.ttftP99, of.tpotP50, of.tpotP99].map((ratio) => ratio.toFixed(3)).join(" / ") : "-";
}
