/** A page in a real browser, where there is one. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const candidates = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = [process.env["SLICESCHEDULER_CHROMIUM"] ?? "", ...candidates].find((path) => existsSync(path));

/** False where no Chromium is installed: then these tests are skipped. */
export const hasBrowser = executablePath !== undefined;

export interface OpenPage {
  readonly page: Page;
  /** Errors of the console and of scripts, and requests for anything but the page itself. */
  readonly troubles: string[];
}

export class TestBrowser {
  readonly #browser: Browser;
  readonly #folder = mkdtempSync(join(tmpdir(), "slicescheduler-report-"));
  #files = 0;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(): Promise<TestBrowser> {
    const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
    const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", ...quiet];
    return new TestBrowser(await chromium.launch({ executablePath: executablePath ?? "", args, timeout: 120_000 }));
  }

  /** Opens the document from a file and waits until its timelines are there. */
  async open(html: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
    const path = join(this.#folder, `${this.#files++}.html`);
    writeFileSync(path, html);
    const context = await this.#browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(100_000);
    const troubles: string[] = [];
    const url = pathToFileURL(path).href;
    page.on("console", (message) => void (message.type() === "error" && troubles.push(message.text())));
    page.on("pageerror", (error) => void troubles.push(error.message));
    page.on("request", (request) => void (request.url() !== url && troubles.push(`asks for ${request.url()}`)));
    await page.goto(url);
    await page.waitForSelector('html[data-state="ready"]', { state: "attached" });
    return { page, troubles };
  }

  async close(): Promise<void> {
    await this.#browser.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
