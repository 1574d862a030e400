import { existsSync } from "node:fs";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LiveViewOptions, serveLiveView } from "../src/index.ts";
import { HOSTILE, world } from "./world.ts";

/** What comes true sooner or later; machines are shared. */
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: 60_000 });

const CHROMIUM = "/usr/bin/chromium";
const ARGUMENTS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];
const TOKEN = "correct horse battery staple";
/** Pictures are written there when it is named. */
const PICTURES = process.env["LIVE_VIEW_PICTURES"];

describe.skipIf(!existsSync(CHROMIUM))(`in Chromium (skipped where there is no ${CHROMIUM})`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
  });

  afterAll(async () => {
    await browser.close();
  });

  /** A page that looks at a busy master, closed again with everything it opened. */
  async function looking(
    options: LiveViewOptions & { readonly scheme?: "light" | "dark"; readonly width?: number },
    use: (it: ReturnType<typeof world> & { page: Page; context: BrowserContext; errors: string[] }) => Promise<void>,
  ) {
    const { scheme = "light", width = 1280, ...rest } = options;
    const it = world();
    const view = await serveLiveView(it.scheduler, { intervalMs: 100, ...rest });
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 1000 } });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("request", (request) => {
      if (!request.url().startsWith(view.url) && !request.url().startsWith("data:")) errors.push(request.url());
    });
    try {
      it.busy();
      await page.goto(view.url);
      await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
      await use({ ...it, page, context, errors });
    } finally {
      await context.close();
      await view.close();
    }
  }

  const rowOf = (page: Page, id: string, name: string) => page.locator(`#${id} tr`, { hasText: name });

  test("shows queues, HBM, the frontier, what waits for what, decisions and their candidates; and follows", async () => {
    await looking({}, async ({ page, time, executor, errors }) => {
      const accelerator = rowOf(page, "accelerators", "a1");
      await eventually(() => accelerator.textContent()).toMatch(/of 8\.00 GB.*\d+ ready, \d+ blocked/);
      expect(await accelerator.getByRole("progressbar").getAttribute("max")).toBe("8000000000");
      expect(await page.locator("#waiting tr").first().textContent()).toMatch(/offline.*on a[01], where|a turn/);
      const key = await page.locator("#decisions details").first().getAttribute("data-key");
      const decision = page.locator(`#decisions details[data-key="${key}"]`);
      await decision.getByText("candidates").click();
      expect(await decision.locator("tbody tr").count()).toBe(2);
      expect(await decision.textContent()).toContain("chosen");
      // What is open stays open while new states come.
      executor.loseAccelerator("a0");
      time.run(time.nowNs() + 100e6);
      await eventually(() => rowOf(page, "accelerators", "a0").textContent()).toContain("absent");
      await eventually(() => page.locator("#happenings").textContent()).toContain("accelerator a0 was lost");
      expect(await decision.getAttribute("open")).not.toBeNull();
      time.run();
      await eventually(() => page.locator("#waiting-empty").isVisible()).toBe(true);
      expect(errors).toEqual([]);
    });
  });

  test("texts of the application are text, whatever they hold", async () => {
    await looking({}, async ({ page, errors }) => {
      await eventually(() => page.locator("main").textContent()).toContain(HOSTILE);
      expect(await page.locator("img").count()).toBe(0);
      expect(await page.title()).toBe("SliceScheduler: live view");
      expect(errors).toEqual([]);
    });
  });

  test("a character that is not seen, or turns what stands beside it round, is shown", async () => {
    await looking({ title: "Ops\u202e", rows: 200 }, async ({ page, submit, errors }) => {
      submit(1.5e9, "a\u202eb\u200b", "offline");
      await eventually(() => page.locator("main").textContent()).toContain("a\\u202eb\\u200b");
      expect(await page.content()).not.toMatch(/[\u202e\u200b]/);
      expect(await page.title()).toBe("Ops\\u202e: live view");
      expect(errors).toEqual([]);
    });
  });

  test("can be used with the keyboard alone: pause, explain, and what has the focus keeps it", async () => {
    await looking({}, async ({ page, submit, time }) => {
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the state");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      const pause = page.getByRole("button", { name: "Go on" });
      await pause.waitFor();
      const clock = await page.locator("#clock").textContent();
      submit(1e6, "late");
      time.run(time.nowNs() + 5e6);
      await page.waitForTimeout(400);
      expect(await page.locator("#clock").textContent()).toBe(clock);
      await page.keyboard.press("Enter");
      await eventually(() => page.locator("#clock").textContent()).not.toBe(clock);
      const explain = page.getByRole("button", { name: /^Explain instance/ }).first();
      await explain.focus();
      for (let i = 0; i < 3; i++) {
        submit(1e6, `more ${i}`, "offline");
        await page.waitForTimeout(150);
      }
      expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toMatch(/^Explain instance/);
      await page.keyboard.press("Enter");
      await eventually(() => page.locator("#explanation").textContent()).toMatch(/Instance \d+ of request \d+: live/);
      await page.locator("#instance").fill("9999");
      await page.keyboard.press("Enter");
      await expect
        .poll(() => page.locator("#explanation").textContent())
        .toContain("nothing is known of instance 9999");
    });
  });

  test("changes nothing without the token, and drains, resumes and cancels with it", async () => {
    await looking({}, async ({ page }) => {
      expect(await page.getByRole("button", { name: /Drain|Cancel/ }).count()).toBe(0);
    });
    await looking({ token: TOKEN }, async ({ page, scheduler }) => {
      const drain = page.getByRole("button", { name: "Drain a1" });
      await drain.click();
      await eventually(() => page.locator("#answer").textContent()).toBe("Enter the token first.");
      await page.getByLabel("Token").fill("not the right token");
      await drain.click();
      await eventually(() => page.locator("#answer").textContent()).toContain("Authorization: Bearer");
      expect(scheduler.overview().accelerators[1]?.state).toBe("up");
      await page.getByLabel("Token").fill(TOKEN);
      const before = scheduler.stats().instances;
      await page
        .getByRole("button", { name: /^Cancel instance/ })
        .first()
        .click();
      await eventually(() => scheduler.stats().instances).toBe(before - 1);
      await drain.click();
      await page.getByRole("button", { name: "Resume a1" }).click();
      await page.getByRole("button", { name: "Drain a1" }).waitFor();
      expect(scheduler.overview().accelerators[1]?.state).toBe("up");
    });
  });

  test("a page from elsewhere can neither read it nor act on it", async () => {
    await looking({ token: TOKEN }, async ({ context, page, scheduler }) => {
      const own = page.url();
      const evil = await context.newPage();
      await evil.route("http://evil.example/", (route) =>
        route.fulfill({ contentType: "text/html", body: "<p>evil</p>" }),
      );
      await evil.goto("http://evil.example/");
      const attempts = await evil.evaluate(
        async ({ own, token }) => {
          const body = JSON.stringify({ action: "drain", accelerator: "a0" });
          const tries = [
            () => fetch(own),
            () => fetch(`${own}api/instances/0`),
            () =>
              fetch(`${own}api/actions`, {
                method: "POST",
                body,
                headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
              }),
            () => fetch(`${own}api/actions`, { method: "POST", body, mode: "no-cors" }),
          ];
          const answers: string[] = [];
          for (const attempt of tries) {
            try {
              answers.push((await attempt()).type);
            } catch {
              answers.push("blocked");
            }
          }
          return answers;
        },
        { own, token: TOKEN },
      );
      // What a page may send without asking comes back as something that it cannot read.
      for (const answer of attempts) expect(["blocked", "opaque"]).toContain(answer);
      expect(scheduler.overview().accelerators[0]?.state).toBe("up");
    });
  });

  for (const scheme of ["light", "dark"] as const) {
    test(`has no fault that axe finds, ${scheme}`, async () => {
      await looking({ token: TOKEN, scheme }, async ({ page }) => {
        await page.locator("#decisions details").first().getByText("candidates").click();
        await page
          .getByRole("button", { name: /^Explain instance/ })
          .first()
          .click();
        await page.locator("#explanation h3").waitFor();
        if (PICTURES !== undefined)
          await page.screenshot({ path: `${PICTURES}/live-view-${scheme}.png`, fullPage: true });
        await page.evaluate(axe.source);
        const { violations } = (await page.evaluate("axe.run()")) as axe.AxeResults;
        expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
      });
    });
  }

  test("fits a narrow screen, and can be zoomed", async () => {
    await looking({ width: 360 }, async ({ page }) => {
      const [wanted, had] = (await page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
      )) as [number, number];
      if (PICTURES !== undefined) await page.screenshot({ path: `${PICTURES}/live-view-narrow.png` });
      expect(wanted).toBeLessThanOrEqual(had);
    });
  });
});
