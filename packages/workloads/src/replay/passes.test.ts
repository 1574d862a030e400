import { describe, expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { weightBytesPerAccelerator } from "./fit.ts";
import { partitionNames, passSpecs, templatesOf } from "./passes.ts";
import { policyNames, type ReplayPolicy, replayPolicy } from "./policy.ts";

const cluster = colocationCluster();
const terms = { partitions: partitionNames(cluster), tenants: 4 };
const gigabytesOf = (policy: ReplayPolicy): number[] =>
  [...weightBytesPerAccelerator(cluster, passSpecs(cluster, policy).flatMap(templatesOf)).values()].map(
    (bytes) => Math.round(bytes / 1e7) / 100,
  );

test("partition names: pipelines of 1, 2, 4 and 8, and the spread ones", () => {
  expect(partitionNames(cluster)).toEqual([
    ...Array.from({ length: 8 }, (_, i) => `single${i}`),
    ...["pair0", "pair1", "pair2", "pair3", "quad0", "quad1", "spread0", "spread1", "eight0"],
  ]);
  expect(partitionNames(colocationCluster({ accelerators: 1 }))).toEqual(["single0"]);
});

describe("templates of a policy", () => {
  test("are laid only where its lanes may use them", () => {
    for (const name of policyNames) {
      const policy = replayPolicy(name, terms);
      const used = new Set(
        [policy.online, policy.offline].flatMap((group) => group?.lanes.flatMap((lane) => lane.partitions) ?? []),
      );
      const laid = passSpecs(cluster, policy).flatMap(({ prefill }) =>
        prefill.partitions.map((partition) => partition.name),
      );
      expect(new Set(laid)).toEqual(used);
    }
  });

  test("Static-Online: half a model on each accelerator", () => {
    expect(gigabytesOf(replayPolicy("static-online", terms))).toEqual(new Array(8).fill(8.03));
  });

  test("operators of four layers share the weights that lie there for operators of eight", () => {
    const policy = replayPolicy("full-share-deep", terms);
    expect(passSpecs(cluster, policy).map((it) => it.layersPerOperator)).toEqual([8, 4]);
    // Layers 0 to 3 lie on a0 with the pair's front half; 4 to 7 come to a1, which has the back half.
    expect(gigabytesOf(policy).slice(0, 2)).toEqual([8.03, 9.78]);
  });

  test("the extend template is there only when prompts come in pieces", () => {
    const policy = replayPolicy("slicescheduler", terms);
    expect(passSpecs(cluster, policy).map((it) => it.extend)).toEqual([null]);
    const offline = policy.offline === null ? null : { ...policy.offline, prefillTokensMax: 256 };
    expect(passSpecs(cluster, { ...policy, offline })[0]?.extend?.name).toBe("llama3-8b/extend");
  });
});
