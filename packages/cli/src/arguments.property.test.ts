/** Whatever is typed: done, or told as bad input; never an internal error. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import { fakeReplay, runMain } from "./main.fixture.ts";

const dir = mkdtempSync(join(tmpdir(), "arguments-"));
afterAll(() => rmSync(dir, { recursive: true }));
writeFileSync(join(dir, "trace.csv"), "arrivalNs,inputTokens,outputTokens,tenant,class,session\n0,1,1,,,\n5,2,2,,,\n");
writeFileSync(join(dir, "cluster.yaml"), "accelerators: [{ name: a, kind: k, hbm: 80GB }]\n");

/** Of all commands but `serve-view`, which waits; no option that writes a file. */
const words = fc.constantFrom(
  ...["replay", "compare", "inspect", "clusters", "validate", "completion", "help"],
  ...[
    "--trace",
    "--workload",
    "--profile",
    "--recipe",
    "--minutes",
    "--share",
    "--seed",
    "--seeds",
    "--cluster",
    "--hbm-gb",
  ],
  ...[
    "--instance-accelerators",
    "--policy",
    "--json",
    "--gantt",
    "--kind",
    "--at",
    "--from",
    "--to",
    "--instance",
    "--decision",
  ],
  ...["--list", "--help", "-h", "--version", "--", "-", "--no-such", "plain", "B48", "1", "0.5", "-1", "1e9", "bash"],
  ...[
    "h100",
    "h100-node",
    "l4",
    "static-online",
    "slicescheduler,",
    "trace.csv",
    "cluster.yaml",
    "nowhere",
    ".",
    "90s",
    "cluster",
  ],
);

describe("arguments", () => {
  test.prop(
    [
      fc.array(fc.oneof({ weight: 6, arbitrary: words }, { weight: 1, arbitrary: fc.string({ maxLength: 12 }) }), {
        maxLength: 7,
      }),
    ],
    {
      numRuns: 300,
    },
  )("any", async (args) => {
    const { code, out, err } = await runMain(args, { replay: fakeReplay, cwd: dir });
    expect([args, [0, 2].includes(code), err.includes("internal error")]).toEqual([args, true, false]);
    if (code === 2) expect(err).not.toBe("");
    if (code === 0) expect(out).not.toBe("");
  });
});
