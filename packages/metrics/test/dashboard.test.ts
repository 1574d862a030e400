import { readFileSync } from "node:fs";
import { METRICS } from "slicescheduler";
import { expect, test } from "vitest";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const text = readFileSync(new URL("../../../docs/dashboards/slicescheduler.json", import.meta.url), "utf8");
const dashboard = JSON.parse(text) as { readonly panels: readonly Panel[]; readonly templating: unknown };
const panels = dashboard.panels.filter(({ type }) => type !== "row");
/** Labels that Prometheus adds when it scrapes. */
const SCRAPED = ["instance", "job"];

/** What is wrong with an expression: a metric or a label that the master does not have. */
function faultsOf(expr: string): string[] {
  const faults: string[] = [];
  const labels = new Set<string>(["le"]);
  const names = expr.match(/\b[a-z_]*slicescheduler_[a-z_]*/g) ?? [];
  for (const name of names) {
    const metric =
      METRICS.find((one) => one.name === name.replace(/_(bucket|sum|count)$/, "")) ??
      METRICS.find((one) => one.name === name);
    if (metric === undefined) faults.push(`there is no ${name}`);
    else if ((metric.kind === "histogram") !== /_(bucket|sum|count)$/.test(name))
      faults.push(`${name} is a ${metric.kind}`);
    else if (metric.kind === "counter" && !new RegExp(`(rate|increase)\\(${name}\\b`).test(expr))
      faults.push(`${name} is a counter, and is not rated`);
    for (const label of metric?.labels ?? []) labels.add(label);
  }
  if (names.length === 0) faults.push("no metric of the master");
  const selectors = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = ""]) =>
    [...inside.matchAll(/(\w+)(?:=~|!=|=)/g)].map(([, label = ""]) => label),
  );
  const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, inside = ""]) =>
    inside.split(",").map((label) => label.trim()),
  );
  for (const label of [...selectors, ...groups])
    if (!labels.has(label) && !SCRAPED.includes(label)) faults.push(`${label} is no label of ${names.join(", ")}`);
  return faults;
}

test("every expression uses metrics and labels that there are", () => {
  let expressions = 0;
  for (const { title, targets = [] } of panels) {
    for (const { expr, legendFormat } of targets) {
      expect([title, expr, faultsOf(expr)]).toEqual([title, expr, []]);
      const grouped = /by \(([^)]*)\)/.exec(expr)?.[1] ?? "accelerator";
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        expect([title, grouped]).toEqual([title, expect.stringContaining(label)]);
      expressions += 1;
    }
  }
  expect(expressions).toBeGreaterThan(30);
  expect(faultsOf('rate(slicescheduler_operators_total{colour="red"}[1m])')).toHaveLength(1);
  expect(faultsOf("slicescheduler_nothing")).toHaveLength(1);
  expect(faultsOf("slicescheduler_operators_total")).toHaveLength(1);
});

test("every metric of the master is on it", () => {
  const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
  expect(
    METRICS.filter(({ name }) => !new RegExp(`\\b${name}(_bucket)?\\b`).test(shown)).map(({ name }) => name),
  ).toEqual(["slicescheduler_operators_issued_total", "slicescheduler_requests_total"]);
});

test("panels have words, names of their own, and do not overlap", () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  const taken = new Set<string>();
  for (const { title, description, gridPos } of panels) {
    expect([title, description ?? ""]).toEqual([title, expect.stringMatching(/\.$/)]);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect([title, taken.has(`${x} ${y}`), x < 24]).toEqual([title, false, true]);
        taken.add(`${x} ${y}`);
      }
    }
  }
  expect(text).not.toMatch(/https?:\/\//);
});
