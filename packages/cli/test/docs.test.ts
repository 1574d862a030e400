/** The files shown in the documentation are files that the loaders take. */
import { readFileSync } from "node:fs";
import { compileCluster } from "@slicescheduler/gmg";
import { rooflineDurations } from "@slicescheduler/workloads";
import { expect, test } from "vitest";
import { parseClusterFile } from "../src/files/cluster-file.ts";
import { parseWorkloadFile } from "../src/files/workload-file.ts";

const text = readFileSync(new URL("../../../docs/cluster-files.md", import.meta.url), "utf8");
const blocks = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");

test("the cluster of docs/cluster-files.md, and its workload", () => {
  const [schema, cluster, workload, ...more] = blocks;
  expect(schema).toContain("schemas/cluster.schema.json");
  expect(more).toEqual([]);
  const { spec, efficiency } = parseClusterFile(cluster ?? "", "cluster-files.md");
  expect(compileCluster(spec).accelerators.map(({ name }) => name)).toEqual([
    "a0",
    "a1",
    "a2",
    "a3",
    "b0",
    "b1",
    "b2",
    "b3",
  ]);
  expect(() => rooflineDurations({ cluster: spec, efficiency })).not.toThrow();
  expect(parseWorkloadFile(workload ?? "", "cluster-files.md")).toMatchObject({ recipe: "B48", seeds: 3 });
});
