import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { htmlReport } from "../src/index.ts";
import { madeRecord, type RunLike, runLike } from "../src/record.fixture.ts";
import { hasBrowser, TestBrowser } from "./browser.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

function reportOf(made: readonly RunLike[], title = "Runs"): string {
  const policies = made.map((it, i) => ({
    name: `policy ${i}`,
    summary: "made up",
    record: runLike({ ...it, seed: i + 1 }),
  }));
  return htmlReport({ title, policies, slo: { ttftMs: 120, source: "chosen" } });
}

const usual: readonly RunLike[] = [
  { accelerators: 4, operators: 3000 },
  { accelerators: 4, operators: 3000, busy: 0.9 },
];

describe.skipIf(!hasBrowser)("the report in a browser (skipped where no Chromium is installed)", () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  }, 120_000);
  afterAll(() => browser.close());

  test("opens without an error and asks for nothing", async () => {
    const { page, troubles } = await browser.open(reportOf(usual));
    for (const chart of ["load", "hbm", "ttft", "tpot", "idle"])
      expect(await page.locator(`[data-chart="${chart}"] canvas`).count()).toBe(1);
    expect(await page.locator("[data-panel] canvas:not(.axis)").count()).toBe(2);
    expect(await page.locator("[data-needs-script][hidden]").count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  test("a timeline is zoomed by wheel, keys and buttons, moved by dragging, and all of them follow", async () => {
    const { page, troubles } = await browser.open(reportOf(usual));
    const canvas = page.locator('[data-panel="0"] canvas').first();
    const whole = await rangeOf(page);
    await canvas.hover();
    await page.mouse.wheel(0, -400);
    expect(await rangeOf(page), "without the focus the wheel scrolls the page").toBe(whole);
    await canvas.focus();
    await canvas.hover();
    await page.mouse.wheel(0, -400);
    await expect.poll(() => rangeOf(page)).not.toBe(whole);
    const other = await picture(page, 1);
    await page.keyboard.press("0");
    await expect.poll(() => rangeOf(page)).toBe(whole);
    await page.keyboard.press("+");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => rangeOf(page)).toMatch(/ from /);
    await expect.poll(() => picture(page, 1)).not.toBe(other);
    const before = await rangeOf(page);
    const box = await canvas.boundingBox();
    if (box === null) throw new Error("no timeline is shown");
    await page.mouse.move(box.x + 600, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + 700, box.y + 20, { steps: 3 });
    await page.mouse.up();
    await expect.poll(() => rangeOf(page)).not.toBe(before);
    await page.getByRole("button", { name: "Whole run" }).click();
    await expect.poll(() => rangeOf(page)).toBe(whole);
    await page.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(() => rangeOf(page)).not.toBe(whole);
    expect(troubles).toEqual([]);
  });

  test("an operator tells what it is to a pointer and to the keys", async () => {
    const { page } = await browser.open(reportOf(usual));
    const canvas = page.locator('[data-panel="0"] canvas').first();
    const inspector = page.locator("[data-inspector]");
    await canvas.focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => inspector.textContent()).toBe("Accelerator a0");
    await page.keyboard.press(".");
    const words =
      /^(prefill|decode)\/layers\d · accelerator a0 · from .* · took .* ms · class (on|off)line · tenant tenant \d/;
    await expect.poll(() => inspector.textContent()).toMatch(words);
    const first = await inspector.textContent();
    await page.keyboard.press(".");
    await expect.poll(() => inspector.textContent()).not.toBe(first);
    await page.keyboard.press("Enter");
    await page.waitForTimeout(100);
    await page.keyboard.press("Escape");
    const box = await canvas.boundingBox();
    if (box === null) throw new Error("no timeline is shown");
    await page.mouse.move(box.x + 64 + (box.width - 64) / 2, box.y + 8);
    await expect.poll(() => page.locator(".tip").isVisible()).toBe(true);
    expect(await page.locator(".tip").textContent()).toContain("acceleratora0");
  });

  test("zooming and moving by keys is told, once it has come to rest", async () => {
    const { page } = await browser.open(reportOf(usual));
    const words = page.locator("[data-range-words]");
    expect([await words.textContent(), await words.getAttribute("role")]).toEqual(["", "status"]);
    await page.locator('[data-panel="0"] canvas').first().focus();
    await page.evaluate(
      "window.told = []; new MutationObserver(() => told.push(1)).observe(document.querySelector('[data-range-words]'), { childList: true })",
    );
    for (const key of ["+", "+", "ArrowRight"]) await page.keyboard.press(key);
    await expect.poll(() => words.textContent()).toMatch(/^Shown: .+ from .+\.$/);
    expect(await words.textContent()).toBe(`Shown: ${await rangeOf(page)}.`);
    await page.keyboard.press("0");
    await expect.poll(() => words.textContent()).toMatch(/^Shown: the whole run, .+\.$/);
    expect(await page.evaluate<number[]>("window.told")).toHaveLength(2);
  });

  test("decisions with a choice are found; one sentence of each is told, not its table", async () => {
    const candidate = { scoreNs: 2e9, leastNs: null, movedBytes: 0, shortage: null, outOfMemory: null };
    const decisions = [1, 1, 2, 1, 3].map((count, round) => ({
      round,
      atNs: round * 1e8,
      instance: round as never,
      operators: [0],
      partition: "p0",
      candidates: Array.from({ length: count }, (_, i) => ({ ...candidate, partition: `p${i}` })),
    }));
    const record = madeRecord({ endNs: 1e9, decisions });
    const { page } = await browser.open(htmlReport({ title: "T", policies: [{ name: "p", record }] }));
    const words = page.locator("[data-decision-words]");
    expect(await words.textContent()).toMatch(/^Decision 1 of 5\. At .*the only partition there was\.$/);
    await page.getByLabel("Which").selectOption("with a choice");
    expect(await words.textContent()).toBe(
      "Decision 1 of 2. At 0.200 s, round 2: instance 2, 1 operator went to p0, one of 2 partitions.",
    );
    await page.getByRole("button", { name: "Decision after" }).click();
    expect(await words.textContent()).toMatch(/^Decision 2 of 2\. .*one of 3 partitions\.$/);
    expect(await page.locator("#decisions :is([aria-live], [role=status], output)").count()).toBe(1);
    expect(await words.locator("table").count()).toBe(0);
    await page.getByLabel("Which").selectOption("with a rejected partition");
    expect(await words.textContent()).toBe("There is no such decision.");
    expect(await page.locator(".candidates").count()).toBe(0);
  });

  test.each(["light", "dark"] as const)(
    "axe finds nothing serious, and no landmark of the name of another, in the %s theme",
    async (colorScheme) => {
      const { page } = await browser.open(reportOf(usual), { colorScheme, bypassCSP: true });
      await page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true");
      await page.evaluate(axe);
      const { violations } = await page.evaluate<AxeResults>("axe.run()");
      const found = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
      expect(found.filter((it) => /^(serious|critical)|landmark-unique/.test(it))).toEqual([]);
    },
  );

  test("the reader's theme overrides the system's, and the charts are drawn for it", async () => {
    const { page } = await browser.open(reportOf(usual), { colorScheme: "light" });
    const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const before = [await background(), await picture(page, 0)];
    await page.getByLabel("Theme").selectOption("dark");
    expect(await background()).not.toBe(before[0]);
    await expect.poll(() => picture(page, 0)).not.toBe(before[1]);
    await page.getByLabel("Theme").selectOption("auto");
    expect(await background()).toBe(before[0]);
  });

  test("names from a run are shown as they are, but for what cannot be seen", async () => {
    const hostile = `"><img src=x onerror="document.title='run'"></script><script>document.title='run'</script>\u202e`;
    const record = madeRecord({
      accelerators: [hostile, "a1"],
      endNs: 1e9,
      operators: [
        { accelerator: 0, startNs: 0, endNs: 9e8, name: hostile, tenant: hostile, request: 0 },
        { accelerator: 1, startNs: 0, endNs: 9e8, name: "b", tenant: "b", request: 0, instance: 1 },
      ],
      requests: [{ id: 0, label: hostile, submittedNs: 0, firstTokenNs: 5e8, endNs: 9e8, tokens: 3 }],
    });
    const policies = [
      { name: hostile, record },
      { name: "__proto__", record },
    ];
    const { page, troubles } = await browser.open(htmlReport({ title: "Safe", policies }));
    await page.locator('[data-panel="0"] canvas').first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press(".");
    const shown = hostile.replace("\u202e", "\\u202e");
    await expect.poll(() => page.locator("[data-inspector] b").textContent()).toBe(shown);
    expect(await page.locator("[data-legend]").textContent()).toContain(shown);
    // Scripts aside, which are not shown.
    await page.evaluate("for (const script of document.querySelectorAll('script')) script.remove()");
    expect(await page.content()).not.toContain("\u202e");
    expect(await page.title()).toBe("Safe");
    expect(await page.locator("img").count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  test("a narrow window scrolls down only", async () => {
    const { page } = await browser.open(reportOf(usual), { viewport: { width: 340, height: 700 } });
    const [scroll, inner] = await page.evaluate<number[]>("[document.documentElement.scrollWidth, innerWidth]");
    expect(scroll).toBe(inner);
  });

  test("in a narrow window a decision's reasons are in view, and take no more room than they need", async () => {
    const candidate = { scoreNs: 2e9, leastNs: null, movedBytes: 5e9, shortage: null, outOfMemory: null };
    const why = { accelerator: "a1", neededBytes: 9e9, availableBytes: 1e9, cause: "room" as const };
    const record = madeRecord({
      endNs: 1e9,
      decisions: [
        {
          round: 0,
          atNs: 5e8,
          instance: 0 as never,
          operators: [0],
          partition: "a0",
          candidates: [
            { ...candidate, partition: "a0", scoreNs: 1e9 },
            { ...candidate, partition: "a1", scoreNs: null, shortage: why },
            { ...candidate, partition: "a0, a1" },
          ],
        },
      ],
    });
    const html = htmlReport({ title: "T", policies: [{ name: "p", record }] });
    const { page } = await browser.open(html, { viewport: { width: 400, height: 800 } });
    const rows = page.locator(".candidates").getByRole("row");
    // Those of the candidates, after the titles.
    expect(await rows.count()).toBe(4);
    for (const text of ["ends 1 s later", "a1: needs 9 GB"]) {
      const box = await page.getByText(text).boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 1000)).toBeLessThanOrEqual(400);
    }
    // Its name, its figures, and no room for a reason: it was chosen.
    const heights = await Promise.all([1, 2].map(async (row) => (await rows.nth(row).boundingBox())?.height ?? 0));
    expect(heights[0]).toBeLessThan(heights[1] ?? 0);
    expect(heights[0]).toBeLessThan(100);
    expect(await page.locator("[data-decision-words]").textContent()).toMatch(
      /^Decision 1 of 1\. At 0\.500 s, round 0: /,
    );
  });

  test("prints as pages, in the colours of paper", async () => {
    const { page, troubles } = await browser.open(reportOf(usual), { colorScheme: "dark" });
    const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const screen = [await background(), await picture(page, 0)];
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    expect(await background()).toBe("rgb(255, 255, 255)");
    expect(await picture(page, 0)).not.toBe(screen[1]);
    expect(await page.locator("details[data-print]").getAttribute("open")).toBe("");
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    expect([await background(), await picture(page, 0)]).toEqual(screen);
    const pdf = await page.pdf({ format: "A4" });
    const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    expect(pages).toBeGreaterThanOrEqual(2);
    expect(pages).toBeLessThanOrEqual(12);
    expect(troubles).toEqual([]);
  });

  test.each([
    ["one policy", [{ accelerators: 2, operators: 300 }]],
    ["64 accelerators", [{ accelerators: 64, operators: 6400 }]],
    ["a thousand tenants", [{ accelerators: 4, operators: 12_000, tenants: 1000 }]],
    [
      "policies on different numbers of accelerators",
      [
        { accelerators: 2, operators: 300 },
        { accelerators: 5, operators: 900 },
      ],
    ],
  ])("%s", async (_, made) => {
    const { page, troubles } = await browser.open(reportOf(made));
    await page.locator("[data-colours]").selectOption("operator");
    await page.locator("[data-hbm]").selectOption("1");
    await page.locator("[data-load]").selectOption("open");
    await page.locator("[data-idle]").selectOption("idleTime");
    expect(await page.locator("[data-legend] li").count()).toBeLessThanOrEqual(10);
    expect(troubles).toEqual([]);
  });

  test("no request, one operator, a lost accelerator", async () => {
    const empty = madeRecord({ endNs: 1e9 });
    const single = madeRecord({ endNs: 2e6, operators: [{ accelerator: 0, startNs: 1e6, endNs: 2e6 }] });
    const notices = [{ kind: "acceleratorLost" as const, atNs: 1e6, accelerator: 1, instance: -1, text: "gone" }];
    const lost = madeRecord({
      endNs: 3e6,
      operators: [{ accelerator: 1, startNs: 0, endNs: 1e6, outcome: "lost" }],
      notices,
    });
    for (const record of [empty, single, lost]) {
      const { page, troubles } = await browser.open(htmlReport({ title: "T", policies: [{ name: "p", record }] }));
      expect(await page.locator('[data-panel="0"] canvas').count()).toBe(2);
      expect(troubles).toEqual([]);
    }
  });
});

function rangeOf(page: Page): Promise<string | null> {
  return page.locator("[data-range]").textContent();
}

/** The pixels of a timeline, as text. */
function picture(page: Page, panel: number): Promise<string> {
  return page.evaluate(`document.querySelector('[data-panel="${panel}"] canvas').toDataURL()`);
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}
