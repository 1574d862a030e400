/** The HTML report of replays that were recorded. */
import { type Fact, htmlReport } from "@slicescheduler/report";
import { packageVersion } from "../assets.ts";
import type { SavedReplay } from "../saved/saved-replay.ts";
import type { ReplayReport, WorkloadSummary } from "./json.ts";
import { clusterWords, loadWords, sourceWords } from "./table.ts";

/** Errors: those of `htmlReport`. */
export function reportPage({ replays, report, command }: SavedReplay): string {
  const { workload, slo } = report;
  return htmlReport({
    title: titleOf(
      replays.map(({ policy }) => policy),
      workload,
    ),
    workload: workloadFacts(report),
    provenance: provenance(report, command),
    policies: replays.map(({ policy, ...rest }) => ({ name: policy, ...rest, tenantOf: serviceOf })),
    slo,
    windowNs: workload.minutes * 60e9,
  });
}

const namedMax = 3;

/** What was tried on what, for somebody who sees nothing but the page. */
function titleOf(policies: readonly string[], { cluster, minutes }: WorkloadSummary): string {
  const named = policies.length > namedMax ? [`${policies.length} policies`] : policies;
  const last = named.at(-1) ?? "";
  const names = named.length > 1 ? `${named.slice(0, -1).join(", ")} and ${last}` : last;
  return `${names} on ${cluster.name ?? `${cluster.accelerators} accelerators`}: ${spanWords(minutes)} of requests, replayed`;
}

function spanWords(minutes: number): string {
  return minutes < 2 ? `${Number((minutes * 60).toFixed(1))} seconds` : `${Number(minutes.toFixed(2))} minutes`;
}

/** The service that a request of a replay belongs to, by the label that the driver gives it. */
export function serviceOf(label: string): string {
  const [, service] = /^(?:online|offline) (.*)$/s.exec(label) ?? [];
  return service ?? label;
}

export function workloadFacts({ workload }: ReplayReport): Fact[] {
  const { online, offline } = loadWords(workload);
  return [
    { name: "Online", value: online },
    { name: "Offline", value: offline },
    { name: "Cluster", value: clusterWords(workload.cluster) },
  ];
}

/** By name; a saved replay may have been written by a release that knows others. */
const recipeWords: Readonly<Record<string, string | undefined>> = {
  B48: "recipe B48: four services of half an hour cut out of a trace, with outputs of at most 48 tokens",
  B: "recipe B: four services of half an hour cut out of a trace",
  plain: "recipe plain: every request as it is",
};

function provenance({ workload, seeds }: ReplayReport, command: string): Fact[] {
  return [
    { name: "Requests", value: `${sourceWords(workload)}; ${recipeWords[workload.recipe] ?? workload.recipe}` },
    ...(workload.profile === null ? [] : [{ name: "Attribution", value: workload.profile.attribution }]),
    { name: "Seed", value: String(seeds[0]) },
    { name: "Version", value: `@slicescheduler/cli ${packageVersion()}` },
    { name: "Command", value: command },
  ];
}
