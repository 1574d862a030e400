import { describe, expect, test } from "vitest";
import { loadCluster } from "./load.ts";
import { parseTemplateFile } from "./template-file.ts";
import { parseWorkloadFile } from "./workload-file.ts";

describe("parseWorkloadFile", () => {
  test("every setting; paths count from the file's folder", () => {
    const file = parseWorkloadFile(
      `
trace: [conv.csv, "/abs/code.csv"]
recipe: B
minutes: 12.5
share: 0.1
seed: 3
seeds: 2
offline: { requestsPerSecond: 0.5, inputTokens: 100, outputTokens: 10 }
instanceAccelerators: 4
policies: [slicescheduler, dual-share]
`,
      "sub/w.yaml",
      "/base",
    );
    expect(file).toEqual({
      trace: ["/base/sub/conv.csv", "/abs/code.csv"],
      recipe: "B",
      minutes: 12.5,
      share: 0.1,
      seed: 3,
      seeds: 2,
      offline: { requestsPerSecond: 0.5, inputTokens: 100, outputTokens: 10 },
      instanceAccelerators: 4,
      policies: ["slicescheduler", "dual-share"],
    });
    expect(parseWorkloadFile("offline: false\nprofile: azure-llm-2023", "w.yaml")).toEqual({
      offline: null,
      profile: "azure-llm-2023",
    });
  });

  test.each<[string, RegExp]>([
    ["minuts: 5", /w\.yaml:1:1: minuts: is no field here; did you mean "minutes"\?/],
    ["minutes: 31", /w\.yaml:1:10: minutes: is 31; recipes B48 and B have at most 30/],
    ["recipe: plain", /needs a trace/],
    ["offline: true", /offline: must have false, or an object|offline: is true; allowed: false/],
    ["offline: { requestsPerSecond: 1 }", /offline: lacks "inputTokens"/],
    ["policies: [slice-scheduler]", /w\.yaml:1:12: policies\[0\]: unknown policy "slice-scheduler"; did you mean/],
    ["trace: a\nprofile: b", /must have trace or profile, not both/],
    ["share: 0", /share: is 0; allowed: a number above 0 and at most 0\.25/],
    ["seed: 9007199254740991\nseeds: 2", /go beyond 2\^53/],
    ["{}", /allowed: an object of settings/],
  ])("%s", (text, expected) => {
    expect(() => parseWorkloadFile(text, "w.yaml")).toThrowError(expected);
  });
});

describe("parseTemplateFile", () => {
  const good = `
name: forward
symbols: [tokens]
operators:
  - name: layers
    outputs: { hidden: { shape: [tokens, 4096], dtype: bfloat16 } }
    weights: { w: 1000000000 }
outputs: { hidden: layers.hidden }
partitions: [{ name: one, accelerators: [gpu], layout: [0] }]
`;

  test("a template on ample accelerators of its own, and on a cluster", () => {
    expect(parseTemplateFile(good, "t.yaml")).toMatchObject({ name: "forward" });
    expect(parseTemplateFile(good, "t.yaml", loadCluster("h100", "/").spec)).toMatchObject({ name: "forward" });
    expect(() => parseTemplateFile(good, "t.yaml", loadCluster("h100-node", "/").spec)).toThrowError(
      /t\.yaml:9:\d+: partitions\[0\]\.accelerators\[0\]: .*gpu/,
    );
  });

  test.each<[string, string, RegExp]>([
    [
      "dtype: bfloat16",
      "dtype: bf16",
      /t\.yaml:6:\d+: operators\[0\]\.outputs\.hidden\.dtype: is "bf16"; allowed: one of float64/,
    ],
    ["tokens, 4096", "tokns, 4096", /t\.yaml:6:\d+: operators\[0\]\.outputs\.hidden\.shape\[0\]: .*tokns/],
    ["layers.hidden", "layers.hiden", /t\.yaml:8:\d+: outputs\.hidden: .*hiden/],
    ["layout: [0]", "layout: [3]", /t\.yaml:9:\d+: partitions\[0\]\.layout/],
  ])("%s → %s", (from, to, expected) => {
    expect(() => parseTemplateFile(good.replace(from, to), "t.yaml")).toThrowError(expected);
  });
});
