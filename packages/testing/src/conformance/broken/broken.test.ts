import { type ExecutorManifest, virtualExecutor } from "@slicescheduler/executor";
import { describe, expect, test } from "vitest";
import { aheadBackend, aheadManifest } from "../ahead.fixture.ts";
import { ConformanceFailure } from "../failure.ts";
import { ALWAYS } from "../rules.ts";
import { runExecutorConformance } from "../suite.ts";
import type { ConformanceBackend } from "../types.ts";
import { BROKEN_CLOCKS } from "./clocks.fixture.ts";
import { BROKEN_FAILURES } from "./failures.fixture.ts";
import type { BrokenBackend } from "./kit.fixture.ts";
import { BROKEN_MANNERS } from "./manners.fixture.ts";
import { BROKEN_MEMORY } from "./memory.fixture.ts";
import { BROKEN_OPERATORS } from "./operators.fixture.ts";
import { BROKEN_TALK } from "./talk.fixture.ts";
import { BROKEN_TRANSFERS } from "./transfers.fixture.ts";

const { manifest } = virtualExecutor({ seed: 1 });

const BROKEN: Readonly<Record<string, readonly BrokenBackend[]>> = {
  operators: BROKEN_OPERATORS,
  memory: BROKEN_MEMORY,
  transfers: BROKEN_TRANSFERS,
  talk: BROKEN_TALK,
  failures: BROKEN_FAILURES,
  clocks: BROKEN_CLOCKS,
  manners: BROKEN_MANNERS,
};

describe.each(Object.entries(BROKEN))("%s", (_, backends) => {
  test.each(backends)("a backend that $fault", async ({ check, rule, seen, create }) => {
    const { failures, checks } = await runSuite(create, manifest);
    const failure = failures.get(check);
    expect([...failures.keys()]).toContain(check);
    expect(failure).toBeInstanceOf(ConformanceFailure);
    expect(failure?.finding).toMatchObject({
      rule: rule ?? check.slice(check.indexOf(": ") + 2),
      seen: expect.stringMatching(seen),
      where: expect.stringMatching(/^docs\/execution-model.md, |interface/),
    });
    // A fault is told from others: it does not fail everything.
    expect(failures.size).toBeLessThan(checks.length);
  });
});

test.each(BROKEN_MEMORY.filter(({ check }) => !check.includes("stats()")))(
  "without accounts of its own, a backend that $fault is found out by what fits",
  async ({ check, create }) => {
    const { failures } = await runSuite(create, { ...manifest, keepsAccounts: false }, check);
    expect(failures.get(check)?.finding.seen).toMatch(
      /^an operator that needs|was not heard|nothing is left to happen/,
    );
  },
);

test.each(BROKEN_OPERATORS)("that accelerators run ahead is no excuse for a backend that $fault", async (broken) => {
  const { check, create } = broken;
  const { failures } = await runSuite(create, { ...manifest, runsAhead: true }, check);
  expect(failures.get(check)).toBeInstanceOf(ConformanceFailure);
});

test("a backend that runs ahead, and does not look at ranks that it has shown to know, is found out", async () => {
  const create = () => aheadBackend((issue) => ({ ...issue, rank: 0 }));
  const check = "operators: a lower rank starts first, whatever was issued or became ready before";
  const { failures } = await runSuite(create, aheadManifest, check);
  expect(failures.get(check)?.finding).toMatchObject({ rule: ALWAYS.order.rule, seen: "operatorStarted 10" });
});

/** Every check against a backend, one after the other; but for the mixture, which takes as long as all others. */
async function runSuite(create: () => ConformanceBackend, stated: ExecutorManifest, only?: string) {
  const checks: (readonly [string, () => Promise<void>])[] = [];
  runExecutorConformance({ test: (name, body) => checks.push([name, body]), manifest: stated, create });
  const failures = new Map<string, ConformanceFailure>();
  for (const [name, body] of checks) {
    if (only === undefined ? name.startsWith("all together") : name !== only) continue;
    try {
      await body();
    } catch (error) {
      if (!(error instanceof ConformanceFailure)) throw new Error(`${name} threw something else`, { cause: error });
      failures.set(name, error);
    }
  }
  return { failures, checks };
}
