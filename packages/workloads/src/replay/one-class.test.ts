/** Workloads of online requests alone, and of offline ones alone. */
import { describe, expect, test } from "vitest";
import { colocationCluster } from "../colocation/cluster.ts";
import { InvalidOptionError } from "../errors.ts";
import type { WorkloadRequest } from "../recipes/types.ts";
import { type ReplayOptions, replay } from "./driver.ts";
import { fittingInstanceAccelerators } from "./instance-size.ts";
import { partitionNames } from "./passes.ts";
import { policyNames, replayPolicy } from "./policy.ts";

const cluster = colocationCluster();
const requests: WorkloadRequest[] = [0, 1e8, 2e8].map((arrivalNs) => ({
  tenant: 0,
  arrivalNs,
  inputTokens: 300,
  outputTokens: 3,
}));
const windowNs = 20e9;
const onlyOffline = { cluster, online: { windowNs, tenants: [] }, offline: requests, seed: 1 };
const onlyOnline = { cluster, online: { windowNs, tenants: [requests] }, offline: [], seed: 1 };
const served = (options: ReplayOptions): string[] => replay(options).records.map(({ outcome }) => outcome);

describe.each(policyNames)("%s", (policy) => {
  test.each([
    ["offline", onlyOffline],
    ["online", onlyOnline],
  ])("with %s requests alone serves them all", (_, options) => {
    expect(served({ ...options, policy })).toEqual(requests.map(() => "completed"));
    expect(fittingInstanceAccelerators(cluster, [policy], options)).toBeGreaterThan(0);
  });
});

test("without online work Static-Online's places are all for offline work, at once", () => {
  const terms = { partitions: partitionNames(cluster), tenants: 0 };
  const { online, offline, summary } = replayPolicy("static-online", terms);
  expect([online.lanes, offline?.lanes.length]).toEqual([[], 4]);
  expect(summary).toContain("there is no online work");
  const { records } = replay({ ...onlyOffline, policy: "static-online" });
  // None waited for another one.
  expect(records.map(({ startedNs, request }) => (startedNs ?? 0) - request.arrivalNs)).toEqual([0, 0, 0]);
});

test("a policy of one's own without a lane for requests that there are is refused", () => {
  const terms = { partitions: partitionNames(cluster), tenants: 1 };
  const policy = { ...replayPolicy("slicescheduler", terms), online: { assign: "byTenant", lanes: [] } as const };
  expect(() => replay({ ...onlyOnline, policy })).toThrowError(InvalidOptionError);
  expect(served({ ...onlyOffline, policy })).toEqual(requests.map(() => "completed"));
});
