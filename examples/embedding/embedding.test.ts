import { expect, test } from "vitest";
import { generate, stats } from "./embedding.ts";

test("two priorities share the cluster, and nothing is left behind", async () => {
  const [online, offline] = await Promise.all([generate("online", 300, 5), generate("offline", 2000, 3)]);
  expect(online).toHaveLength(5);
  expect(offline).toHaveLength(3);
  expect([...online].sort((a, b) => a - b)).toEqual(online);
  // The short urgent one has finished before the long patient one has its first token.
  expect(online[4]).toBeLessThan(offline[0] ?? 0);
  expect(stats()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0, standstills: 0 });
});
