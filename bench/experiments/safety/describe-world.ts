import type { safetyWorld } from "@slicescheduler/testing";

type World = ReturnType<typeof safetyWorld>;

/** A world in a few lines, for people. */
export function describeWorld(world: World): string {
  const { cluster, templates, workload } = world;
  const { faults, delays, outages, surprises, givesBackAfterNs } = world;
  const lines = cluster.accelerators.map(
    ({ name, hbmBytes, externalBaselineBytes = 0, marginBytes = 0, granularityBytes = 1 }) =>
      `${name}: ${hbmBytes} bytes, baseline ${externalBaselineBytes}, margin ${marginBytes}, granularity ${granularityBytes}`,
  );
  for (const { name, operators, partitions } of templates) {
    const laid = partitions.map((it) => `${it.name} on ${it.accelerators.join("+")} as ${it.layout.join("")}`);
    lines.push(`template ${name}: ${operators.length} operators; ${laid.join("; ")}`);
  }
  const limits = workload.requests.filter((request) => request.limits !== null).length;
  const cancelled = workload.instances.filter(({ cancelAtNs }) => cancelAtNs !== null).length;
  lines.push(
    `${workload.requests.length} requests (${limits} with limits), ${workload.instances.length} instances, ${cancelled} to be cancelled`,
    `faults ${JSON.stringify(faults ?? null)}, delays ${JSON.stringify(delays ?? null)}, outages ${JSON.stringify(outages ?? [])}, durations ${surprises?.kind ?? "as expected"}, gives back after ${givesBackAfterNs ?? 0} ns`,
  );
  return lines.map((line) => `  ${line}`).join("\n");
}
