/**
 * What SliceScheduler loses when durations are not what they were predicted to be: biased, with heavy tails, on a slow device, with
 * estimators that know nothing. Static-Online meets the same, so that a loss of the cluster is told from one of the scheduler.
 */
import { EstimatorBank } from "@slicescheduler/estimators";
import {
  type Comparison,
  colocationCluster,
  colocationOffline,
  colocationShare,
  medianComparison,
  offlineRequests,
  type PolicyResult,
  policyResult,
  type ReplayOptions,
  type ReplayOutcome,
  replay,
} from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { readWorkloadArguments, type WorkloadArguments, workloadOf } from "./inputs/workload.ts";
import { type Case, cases, copyOf, undisturbed } from "./robustness/cases.ts";

/** What estimators that are loaded have seen. */
const TRAINING_NS = 300e9;

export const measure: Measure = (args) => {
  const given = readWorkloadArguments(args, { share: colocationShare });
  const perSeed = given.seeds.map((seed) => comparisonOf(given, seed));
  const { policies, spread } = medianComparison(perSeed.map((it) => it.comparison));
  const results = cases.map(({ name, summary }) => {
    const ours = resultOf(policies, name);
    const staticOnline = resultOf(policies, `${name}, static-online`);
    return {
      name,
      summary,
      ...against(ours, resultOf(policies, undisturbed.name)),
      slicescheduler: ours,
      staticOnline,
    };
  });
  const { label = "", generated = false } = perSeed[0] ?? {};
  const text = [
    `${label}, seeds ${given.seeds.join(", ")}`,
    "SLO: TTFT below the p90 of Static-Online undisturbed; × and points against the undisturbed run",
    ...results.map(line),
  ].join("\n");
  return { text, json: { workload: label, generated, seeds: given.seeds, cases: results, spread } };
};

/** Every case of both policies as one comparison, the case in the place of the policy's name. */
function comparisonOf(
  given: WorkloadArguments,
  seed: number,
): { comparison: Comparison; label: string; generated: boolean } {
  const { workload: online, generated, label } = workloadOf(given, seed);
  const cluster = colocationCluster();
  const offline = offlineRequests(colocationOffline, online.windowNs);
  const options = { cluster, online, offline, seed };
  const outcomes = new Map<string, ReplayOutcome>();
  const learned = bankOf(options);
  for (const it of cases) {
    const change = it.change(online.windowNs, learned);
    const { scheduling: _, ...truth } = change;
    outcomes.set(it.name, replay({ ...options, policy: "slicescheduler", ...change }));
    outcomes.set(`${it.name}, static-online`, replay({ ...options, policy: "static-online", ...truth }));
    process.stderr.write(`seed ${seed}: ${it.name} replayed\n`);
  }
  const reference = outcomes.get(`${undisturbed.name}, static-online`);
  const ttftMs = reference === undefined ? 0 : (policyResult(reference, 0).ttftMs?.p90 ?? 0);
  const policies = Object.fromEntries([...outcomes].map(([name, outcome]) => [name, policyResult(outcome, ttftMs)]));
  return { comparison: { slo: { ttftMs, source: "static-online" }, policies, ratios: {} }, label, generated };
}

/** Estimators that have seen the first minutes with all durations × the factor; a copy for each run. */
function bankOf(options: Pick<ReplayOptions, "cluster" | "online" | "offline" | "seed">) {
  const banks = new Map<number, EstimatorBank>();
  return (factor: number): EstimatorBank => {
    let bank = banks.get(factor);
    if (bank === undefined) {
      bank = new EstimatorBank();
      const windowNs = Math.min(TRAINING_NS, options.online.windowNs);
      const tenants = options.online.tenants.map((requests) => requests.filter((it) => it.arrivalNs < windowNs));
      replay({
        ...options,
        online: { windowNs, tenants },
        offline: options.offline.filter((it) => it.arrivalNs < windowNs),
        policy: "slicescheduler",
        scheduling: { estimators: bank },
        disturbance: { bias: { pass: "all", factor, fromNs: 0 } },
      });
      banks.set(factor, bank);
    }
    return copyOf(bank);
  };
}

function against(ours: PolicyResult, reference: PolicyResult) {
  const over = (pick: (of: PolicyResult) => number | undefined): number => (pick(ours) ?? 0) / (pick(reference) ?? 1);
  return {
    requestsRatio: over((it) => it.requestsPerSecond),
    tokensRatio: over((it) => it.tokensPerSecond),
    sloAttainmentDelta: (ours.sloAttainment ?? 0) - (reference.sloAttainment ?? 0),
    ttftP50: over((it) => it.ttftMs?.p50),
    ttftP99: over((it) => it.ttftMs?.p99),
    tpotP50: over((it) => it.tpotMs?.p50),
    tpotP99: over((it) => it.tpotMs?.p99),
  };
}

function resultOf(policies: Comparison["policies"], name: string): PolicyResult {
  const result = policies[name];
  if (result === undefined) throw new TypeError(`nothing was replayed as "${name}"`);
  return result;
}

type CaseResult = Pick<Case, "name" | "summary"> &
  ReturnType<typeof against> & { readonly slicescheduler: PolicyResult; readonly staticOnline: PolicyResult };

function line(it: CaseResult): string {
  const { slicescheduler: ours, staticOnline: theirs } = it;
  const shown = ({ ttftMs, tpotMs, sloAttainment }: PolicyResult): string =>
    `SLO ${sloAttainment?.toFixed(3)}, TTFT p50 ${ttftMs?.p50.toFixed(0)} p99 ${ttftMs?.p99.toFixed(0)}, TPOT p50 ${tpotMs?.p50.toFixed(1)} ms`;
  return [
    `${it.name}: ${it.summary}`,
    `  requests/s ${ours.requestsPerSecond.toFixed(3)} (×${it.requestsRatio.toFixed(3)}), tokens/s ×${it.tokensRatio.toFixed(3)}, ${shown(ours)}`,
    `  against undisturbed: SLO ${(100 * it.sloAttainmentDelta).toFixed(1)} points, TTFT p50 ×${it.ttftP50.toFixed(2)} p99 ×${it.ttftP99.toFixed(2)}, TPOT p50 ×${it.tpotP50.toFixed(2)} p99 ×${it.tpotP99.toFixed(2)}`,
    `  static-online: requests/s ${theirs.requestsPerSecond.toFixed(3)}, ${shown(theirs)}`,
  ].join("\n");
}
