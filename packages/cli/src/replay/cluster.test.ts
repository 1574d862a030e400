/** What the policies need of a cluster is told before the first of them is replayed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { neverReplay } from "../main.fixture.ts";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const rates = "kind: nvidia-l4, hbm: 24GB, flops: 121 TFLOP/s, hbmBandwidth: 300GB/s";
const clusterFile = (name: string, count: number, links: string): void =>
  writeFileSync(join(dir, name), `accelerators: [{ name: g, count: ${count}, ${rates} }]\n${links}\n`);
const replayOn = (cluster: string, ...more: string[]) =>
  run([...tinyReplay, "--cluster", cluster, ...more], { replay: neverReplay });

describe("links", () => {
  test("none at all: the cluster file's words, and nothing is replayed though the first policy would do", async () => {
    clusterFile("bare.yaml", 2, "");
    expect((await run(["validate", "bare.yaml"])).code).toBe(0);
    const { code, err, out } = await replayOn("bare.yaml");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toBe(
      'error: the cluster needs a defaultLink, or links both ways between g0 and g1: policy "slicescheduler" lays model instances over them\n',
    );
  });

  test("one way only, of several pairs, for several policies", async () => {
    clusterFile("oneway.yaml", 4, "links: [{ name: up, latency: 20us, bandwidth: 32 GB/s, from: [g0], to: ['*'] }]");
    const { err } = await replayOn("oneway.yaml", "--instance-accelerators", "2");
    expect(err.split("\n")).toEqual([
      expect.stringMatching(/^error: .*between g0 and g1 and 1 more pair\(s\): policy "static-online" lays/),
      expect.stringMatching(/^error: .*between g0 and g1 and 3 more pair\(s\): policy "slicescheduler" lays/),
      "",
    ]);
  });

  test("enough of them", async () => {
    clusterFile("linked.yaml", 2, "links: [{ name: l, latency: 20us, bandwidth: 32 GB/s, between: ['*'] }]");
    expect((await run([...tinyReplay, "--cluster", "linked.yaml"])).code).toBe(0);
    clusterFile("one.yaml", 1, "");
    expect((await run([...tinyReplay, "--cluster", "one.yaml"])).code).toBe(0);
  });
});

test("too few accelerators for one of several policies, in their number", async () => {
  const { code, err } = await replayOn("l4", "--policy", "static-online,full-share,dual-share");
  expect([code, err]).toEqual([
    2,
    expect.stringContaining('cluster must be one of eight accelerators for policy "full-share", not one of 1\n'),
  ]);
  const sized = await replayOn("l4", "--policy", "full-share,dual-share", "--instance-accelerators", "1");
  expect(sized.err.match(/^error: .* for policy "(?:full|dual)-share", not one of 1$/gm)).toHaveLength(2);
});
