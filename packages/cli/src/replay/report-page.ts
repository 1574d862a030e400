/** The HTML report of replays that were recorded. */
import { type Fact, htmlReport } from "@slicescheduler/report";
import { packageVersion } from "../assets.ts";
import type { SavedReplay } from "../saved/saved-replay.ts";
import type { ReplayReport } from "./json.ts";
import { clusterWords, loadWords, sourceWords } from "./table.ts";

/** Errors: those of `htmlReport`. */
export function reportPage({ replays, report, command }: SavedReplay): string {
  const { workload, slo } = report;
  return htmlReport({
    title: `Replay of ${workload.recipe} over ${Number(workload.minutes.toFixed(2))} min`,
    workload: workloadFacts(report),
    provenance: provenance(report, command),
    policies: replays.map(({ policy, ...rest }) => ({ name: policy, ...rest, tenantOf: serviceOf })),
    slo,
    windowNs: workload.minutes * 60e9,
  });
}

/** The service that a request of a replay belongs to, by the label that the driver gives it. */
export function serviceOf(label: string): string {
  return label.startsWith("online ") ? label.slice("online ".length) : label;
}

function workloadFacts({ workload }: ReplayReport): Fact[] {
  const { online, offline } = loadWords(workload);
  return [
    { name: "Online", value: online },
    { name: "Offline", value: offline },
    { name: "Cluster", value: clusterWords(workload.cluster) },
  ];
}

function provenance({ workload, seeds }: ReplayReport, command: string): Fact[] {
  return [
    { name: "Requests", value: `recipe ${workload.recipe}, ${sourceWords(workload)}` },
    ...(workload.profile === null ? [] : [{ name: "Attribution", value: workload.profile.attribution }]),
    { name: "Seed", value: String(seeds[0]) },
    { name: "Version", value: `@slicescheduler/cli ${packageVersion()}` },
    { name: "Command", value: command },
  ];
}
