/** `validate` tells what is wrong, once, in words of the file. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const faultsOf = async (content: string): Promise<string[]> => {
  writeFileSync(join(dir, "f.yaml"), content);
  const { code, err } = await run(["validate", "f.yaml"]);
  expect(code).toBe(err === "" ? 0 : 2);
  return err.split("\n").filter((line) => line.startsWith("f.yaml:"));
};

test("an accelerator that is a number is one fault; what is no name is not listed among the names", async () => {
  const cluster = "accelerators: [5, { name: x, kind: nvidia-l4, hbm: 24GB }, { count: 2, kind: k, hbm: 1GB }]\n";
  const links = "links: [{ latency: 1us, bandwidth: 1GB/s, from: [z], to: [x] }]\n";
  const faults = await faultsOf(`${cluster}${links}efficiency: { y: { compute: 0.3, memory: 0.5 } }\n`);
  expect(faults.filter((line) => line.includes("accelerators[0]"))).toEqual([
    "f.yaml:1:16: accelerators[0]: is 5; allowed: an object with name, kind and hbm",
  ]);
  expect(faults.join("\n")).toContain("(kinds: nvidia-l4, k)");
  expect(faults.join("\n")).not.toContain("undefined");
});

test("tags that mean nothing here", async () => {
  expect(await faultsOf("name: !foo bar\naccelerators: [{ name: x, kind: k, hbm: !size 24GB }]\n")).toEqual([
    "f.yaml:1:7: Unresolved tag: !foo",
    "f.yaml:2:41: Unresolved tag: !size",
  ]);
});

test("a workload whose files are not there", async () => {
  expect(await faultsOf("trace: [tiny.csv, nope.csv]\n")).toEqual([
    expect.stringMatching(/^f\.yaml:1:19: trace\[1\]: no such file: .*nope\.csv$/),
  ]);
  expect(await faultsOf("trace: gone.csv\nrecipe: plain\n")).toHaveLength(1);
  expect(await faultsOf("profile: gone.json\n")).toEqual([expect.stringContaining("profile: no such file")]);
  expect(await faultsOf("trace: tiny.csv\nrecipe: plain\n")).toEqual([]);
});

test("a template with a wrong element type: its other faults too, and none that follow from it", async () => {
  const template = [
    "name: t",
    "symbols: [tokens]",
    "operators:",
    "  - { name: a, outputs: { x: { shape: [tokens, 8], dtype: floaty } } }",
    "  - { name: b, inputs: [a.y], outputs: { z: { shape: [tokns], dtype: float32 } } }",
    "outputs: { out: b.z }",
    "partitions: [{ name: p, accelerators: [g], layout: [0, 3] }]",
  ];
  expect(await faultsOf(template.join("\n"))).toEqual([
    expect.stringContaining('outputs.x.dtype: is "floaty"'),
    expect.stringContaining('operator "a" has no output "y"'),
    expect.stringContaining('no symbol "tokns"'),
    expect.stringContaining("partitions[0].layout[1]: is 3"),
  ]);
  expect(await faultsOf(template.join("\n").replace("operators:", "operaters:"))).toHaveLength(2);
});
