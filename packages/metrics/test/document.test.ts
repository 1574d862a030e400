import { readFileSync } from "node:fs";
import { METRICS } from "slicescheduler";
import { expect, test } from "vitest";

test("the document lists every metric as it is", () => {
  const text = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
  const rows = METRICS.map(({ name, kind, labels, help }) => {
    const named = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name.replace("slicescheduler_", "")}\` | ${kind} | ${named} | ${help.replace(/\.$/, "")} |`;
  });
  expect(text.split("\n").filter((line) => /^\| `[a-z_]+` \| (counter|gauge|histogram)/.test(line))).toEqual(rows);
});
