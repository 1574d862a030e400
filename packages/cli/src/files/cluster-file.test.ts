import { compileCluster } from "@slicescheduler/gmg";
import { colocationCluster } from "@slicescheduler/workloads";
import { describe, expect, test } from "vitest";
import { readyClusters } from "../assets.ts";
import { FileInvalidError } from "../errors.ts";
import { parseClusterFile } from "./cluster-file.ts";
import { isMatch } from "./cluster-links.ts";
import { loadCluster } from "./load.ts";

function faultsOf(text: string): string[] {
  try {
    parseClusterFile(text, "c.yaml");
    return [];
  } catch (error) {
    if (!(error instanceof FileInvalidError)) throw error;
    return error.message.split("\n");
  }
}

describe("ready clusters", () => {
  test("there are at least a dozen; each compiles, has rates, a description and its sources", () => {
    const names = readyClusters();
    expect(names.length).toBeGreaterThanOrEqual(12);
    for (const name of names) {
      const { spec, description } = loadCluster(name, "/");
      expect(description, name).toMatch(/\.$/);
      const { accelerators } = compileCluster(spec);
      for (const accelerator of accelerators) {
        expect(accelerator.flopsPerSecond, name).toBeGreaterThan(1e12);
        expect(accelerator.hbmBytesPerSecond, name).toBeGreaterThan(1e11);
      }
    }
  });

  test("colocation.yaml is the cluster of the experiment", () => {
    expect(loadCluster("colocation", "/").spec).toEqual(colocationCluster());
  });

  test("two nodes: fast inside, slower between", () => {
    const cluster = compileCluster(loadCluster("h100-two-nodes", "/").spec);
    const bytes = 45e9;
    const [a, b, far] = ["node0-gpu0", "node0-gpu7", "node1-gpu3"].map((name) => cluster.indexOf(name));
    expect(cluster.transferNs(a ?? 0, b ?? 0, bytes)).toBe(10_000 + 0.1e9);
    expect(cluster.transferNs(a ?? 0, far ?? 0, bytes)).toBe(30_000 + 0.9e9);
  });

  test("a name that is near is offered", () => {
    expect(() => loadCluster("h10-node", "/")).toThrowError(/no cluster "h10-node".*did you mean "h100-node"/);
    expect(() => loadCluster("./h10.yaml", "/")).toThrowError(expect.objectContaining({ code: "FILE_NOT_FOUND" }));
  });
});

describe("parseClusterFile", () => {
  test("merge keys are told as what they are, each with its place; a quoted one is a field of that name", () => {
    const text = `
accelerators:
  - &base { name: a, kind: k, hbm: 80GB }
  - { <<: *base, name: b }
  - <<: [*base]
    name: c
`;
    expect(faultsOf(text)).toEqual([
      expect.stringMatching(
        /^c\.yaml:4:7: accelerators\[1\]: merge keys \(<<\) are not supported; write the fields out/,
      ),
      expect.stringMatching(/^c\.yaml:5:5: accelerators\[2\]: merge keys \(<<\) are not supported/),
    ]);
    expect(faultsOf('accelerators: [{ name: a, kind: k, hbm: 80GB, "<<": 1 }]')).toEqual([
      expect.stringContaining(`accelerators[0]["<<"]: is no field here`),
    ]);
  });

  test("units, counts, and the library's own names", () => {
    const short = `
accelerators:
  - { name: g, count: 2, kind: k, hbm: 80GB, margin: 2 GB, baseline: 1GiB, granularity: 2MiB, flops: 1 PFLOP/s, hbmBandwidth: 3.35TB/s, copyEngines: 2 }
defaultLink: { latency: 20us, bandwidth: 100 Gbit/s }
efficiency: { k: { compute: 0.5, memory: 0.8 } }
`;
    const long = JSON.stringify({
      accelerators: ["g0", "g1"].map((name) => ({
        name,
        kind: "k",
        hbmBytes: 80e9,
        externalBaselineBytes: 2 ** 30,
        marginBytes: 2e9,
        granularityBytes: 2 ** 21,
        flopsPerSecond: 1e15,
        hbmBytesPerSecond: 3.35e12,
        copyEngines: 2,
      })),
      defaultLink: { latencyNs: 20_000, bytesPerSecond: 12.5e9 },
    });
    const parsed = parseClusterFile(short, "short.yaml");
    expect(parsed.spec).toEqual(parseClusterFile(long, "long.json").spec);
    expect(parsed.efficiency).toEqual({ k: { compute: 0.5, memory: 0.8 } });
  });

  test("links: pairs, patterns between, and one shared from here to there", () => {
    const { spec } = parseClusterFile(
      `
accelerators: [{ name: a, count: 2, kind: k, hbm: 1GB }, { name: b, count: 2, kind: k, hbm: 1GB }]
links:
  - { name: pair, latency: 1us, bandwidth: 1GB/s, connects: [[a0, b0]] }
  - { name: near, latency: 1us, bandwidth: 1GB/s, between: ["a*"] }
  - { name: uplink, latency: 1us, bandwidth: 1GB/s, from: ["a*"], to: ["b*"], capacity: 2 }
`,
      "c.yaml",
    );
    expect(spec.links?.map(({ name, connects }) => [name, connects])).toEqual([
      ["pair", [["a0", "b0"]]],
      ["near a0→a1", [["a0", "a1"]]],
      ["near a1→a0", [["a1", "a0"]]],
      [
        "uplink",
        [
          ["a0", "b0"],
          ["a0", "b1"],
          ["a1", "b0"],
          ["a1", "b1"],
        ],
      ],
    ]);
    expect(spec.links?.at(-1)?.capacity).toBe(2);
  });

  test("tab-indented JSON is read, and its columns stay", () => {
    expect(faultsOf('{\n\t"accelerators": [\n\t\t{ "name": "a", "kind": "k", "hbm": "1XB" }\n\t]\n}')).toEqual([
      expect.stringMatching(/^c\.yaml:3:38: accelerators\[0\]\.hbm: is "1XB"; allowed: a number of bytes, or text/),
    ]);
  });

  test("all faults at once, in the file's order, each with line, column, path, what was found and what was meant", () => {
    const faults = faultsOf(`name: bad
accelerators:
  - name: gpu
    count: 2
    kind: h100
    hmb: 80GB
    margin: 90GB
  - name: gpu1
    kind: h100
    hbm: 80 gigs
  - { name: other, kind: x, hbm: 1GB, margin: 2GB, marginBytes: 5 }
  - { name: full, kind: x, hbm: 1GB, margin: 1GB }
defaultLink: { latency: 20us }
links:
  - name: l
    latency: 1us
    bandwidth: 1GB/s
    connects: [[gpu0, gpuu1], [gpu0, gpu0]]
  - name: m
    latency: 1us
    bandwidth: 1GB/s
    between: ["gq*"]
`);
    const expected = [
      /^c\.yaml:3:5: accelerators\[0\]: lacks one of hbm, hbmBytes$/,
      /^c\.yaml:6:5: accelerators\[0\]\.hmb: is no field here; did you mean "hbm"\? \(known: name, count, /,
      /^c\.yaml:8:11: accelerators\[1\]\.name: "gpu1" is taken by accelerators\[0\]/,
      /^c\.yaml:10:10: accelerators\[1\]\.hbm: is "80 gigs"; allowed: a number of bytes, or text such as 80GB/,
      /^c\.yaml:11:5: accelerators\[2\]: must have margin or marginBytes, not both$/,
      /^c\.yaml:12:5: accelerators\[3\]: .*leave nothing of its 1000000000 bytes of HBM$/,
      /^c\.yaml:13:14: defaultLink: lacks one of bandwidth, bytesPerSecond$/,
      /^c\.yaml:18:23: links\[0\]\.connects\[0\]\[1\]: no accelerator "gpuu1"; did you mean "gpu1"/,
      /^c\.yaml:18:31: links\[0\]\.connects\[1\]: connects "gpu0" to itself$/,
      /^c\.yaml:22:15: links\[1\]\.between\[0\]: "gq\*" matches none of the 5 accelerators "gpu0", "gpu1", "gpu1", "other", …$/,
    ];
    expect(faults).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  });

  test.each<[string, string, RegExp]>([
    ["nothing", "", /^c\.yaml:1:1: is empty/],
    ["a comment only", "# nothing\n", /is empty/],
    ["a text", "hello", /^c\.yaml:1:1: is "hello"; allowed: an object with accelerators/],
    ["broken YAML", "a: [1,\nb: }", /^c\.yaml:\d+:\d+: /],
    ["a second document", "accelerators: []\n---\na: 1", /^c\.yaml:2:1: a second document/],
    ["a key twice", "accelerators:\n - name: a\n   name: b", /^c\.yaml:3:4: accelerators\[0\]\.name: stands twice/],
    ["a key that is a list", "? [a]\n: 1", /a key must be text/],
    ["an alias to nothing", "a: *b", /^c\.yaml:1:4: /],
    ["an alias inside itself", "a: &a [*a]", /stands inside what it refers to/],
    [
      "too many accelerators",
      "accelerators: [{ name: a, kind: k, hbm: 1GB, count: 4096 }, { name: b, kind: k, hbm: 1GB }]",
      /more than 4096/,
    ],
    ["no accelerators", "accelerators: []", /is a list of 0; allowed: a list of 1 to 4096 accelerators/],
    [
      "infinite memory",
      "accelerators: [{ name: a, kind: k, hbmBytes: .inf }]",
      /hbmBytes: is Infinity; allowed: a whole number/,
    ],
  ])("%s", (_, text, expected) => {
    const faults = faultsOf(text);
    expect(
      faults.some((fault) => expected.test(fault)),
      faults.join("\n"),
    ).toBe(true);
    for (const fault of faults) expect(fault).toMatch(/^c\.yaml:[1-9]\d*:[1-9]\d*: /);
  });

  test("no more faults than one reads", () => {
    const faults = faultsOf(`accelerators: [${"{},".repeat(4000)}]`);
    expect(faults).toHaveLength(101);
    expect(faults.at(-1)).toMatch(/and \d+ more faults from here on/);
  });
});

test.each([
  ["node0-gpu1", "node0-*", true],
  ["node0-gpu1", "*gpu1", true],
  ["node0-gpu1", "n*0*1", true],
  ["node0-gpu1", "*", true],
  ["node0-gpu1", "node0-gpu1", true],
  ["node0-gpu1", "node1-*", false],
  ["node0-gpu1", "node0", false],
  ["ab", "ab*b", false],
  ["aXbXc", "a*X*X*c", true],
  ["aXbXc", "a*X*X*X*c", false],
])("%s by %s: %s", (name, pattern, expected) => {
  expect(isMatch(name, pattern)).toBe(expected);
});
