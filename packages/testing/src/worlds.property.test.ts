import { compileCluster, compileTemplate } from "@slicescheduler/gmg";
import fc from "fast-check";
import { expect, test } from "vitest";
import { clusters } from "./clusters.ts";
import { templates } from "./templates.ts";
import { workloads } from "./workloads.ts";
import { worlds } from "./worlds.ts";

test("everything drawn is legal: clusters and templates compile, symbols bind, instances read from earlier ones", () => {
  const seen = {
    sharedLinks: 0,
    tight: 0,
    stateful: 0,
    spread: 0,
    workspace: 0,
    weights: 0,
    continued: 0,
    chained: 0,
    limits: 0,
  };
  fc.assert(
    fc.property(worlds({ cancels: true }), ({ cluster, templates: specs, workload }) => {
      const compiled = compileCluster(cluster);
      const byName = new Map(specs.map((spec) => [spec.name, compileTemplate(spec, compiled)]));
      const { requests, instances } = workload;
      instances.forEach(({ template, symbols, inputs, atNs, request, cancelAtNs }, index) => {
        byName.get(template)?.bind(symbols);
        expect(atNs).toBeGreaterThanOrEqual(instances[index - 1]?.atNs ?? 0);
        expect(cancelAtNs ?? atNs).toBeGreaterThanOrEqual(atNs);
        expect(requests[request ?? 0]?.atNs ?? 0).toBeLessThanOrEqual(
          request === null ? Number.POSITIVE_INFINITY : atNs,
        );
        for (const [name, { instance, output }] of Object.entries(inputs)) {
          expect(instance).toBeLessThan(index);
          expect(specs.find((spec) => spec.name === template)?.inputs).toHaveProperty(name);
          expect(specs.find((spec) => spec.name === instances[instance]?.template)?.outputs).toHaveProperty(output);
        }
        seen.chained += Object.keys(inputs).length > 0 ? 1 : 0;
      });
      const operators = specs.flatMap((spec) => spec.operators);
      seen.sharedLinks += (cluster.links ?? []).some(({ connects }) => connects.length > 1) ? 1 : 0;
      seen.tight += cluster.accelerators.every(({ hbmBytes }) => hbmBytes < 1e6) ? 1 : 0;
      seen.stateful += specs.some(({ inputs }) => "state" in (inputs ?? {})) ? 1 : 0;
      seen.spread += [...byName.values()].some(({ partitions }) =>
        partitions.some((p) => new Set(p.acceleratorOf).size > 1),
      )
        ? 1
        : 0;
      seen.workspace += operators.some(({ workspaceBytes }) => workspaceBytes !== undefined) ? 1 : 0;
      seen.weights += operators.some(({ weights }) => weights !== undefined) ? 1 : 0;
      seen.continued += operators.some(({ outputs }) => outputs["extra"]?.aliases !== undefined) ? 1 : 0;
      seen.limits += requests.some(({ limits }) => limits !== null) ? 1 : 0;
    }),
    { numRuns: 200 },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(15);
});

test("the parts can be drawn one by one", () => {
  const parts = clusters({ acceleratorsMax: 2, hbm: "tight", sharedLinks: false }).chain((cluster) =>
    templates(cluster, { templatesMax: 1, operatorsMax: 2, partitionsMax: 1 }).chain((specs) =>
      workloads(specs, { groupsMax: 1, instancesMax: 2 }).map((workload) => ({ cluster, specs, workload })),
    ),
  );
  fc.assert(
    fc.property(parts, ({ cluster, specs, workload }) => {
      expect(cluster.accelerators.length).toBeLessThanOrEqual(2);
      expect(cluster.links).toEqual([]);
      expect(specs).toHaveLength(1);
      expect(specs[0]?.operators.length).toBeLessThanOrEqual(2);
      expect(specs[0]?.partitions).toHaveLength(1);
      expect(workload.requests.length).toBeLessThanOrEqual(1);
      expect(workload.instances.length).toBeLessThanOrEqual(2);
    }),
  );
});
