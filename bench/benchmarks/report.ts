/**
 * The HTML report of a 30-minute run under five policies: how long it takes to make, how large it is, and, where a Chromium is
 * installed, how soon it shows its answer, how soon its timelines, and how long a frame takes while they move. `--minutes N` for a shorter run.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { htmlReport, type ReportPolicy } from "@slicescheduler/report";
import { RunRecorder } from "@slicescheduler/timeline";
import {
  azure2023Profile,
  colocationCluster,
  colocationOffline,
  colocationShare,
  generateTraces,
  hasAzureTraces,
  offlineRequests,
  readTracePair,
  recipeB48,
  replay,
  shortened,
  type Workload,
} from "@slicescheduler/workloads";
import { chromium, type Page } from "playwright-core";
import type { Measure } from "../measurement.ts";

const POLICIES = [
  "static-online",
  "subset-share-pipelined",
  "dual-share-pipelined",
  "full-share-pipelined",
  "slicescheduler",
];
const SEED = 1;
const BYTES_MAX = 10_000_000;
const FRAMES = 40;
const TRACES = "../shared/data/traces";
const cluster = colocationCluster();

export const measure: Measure = async (args) => {
  const minutes = minutesOf(args);
  const { online, source } = workload(minutes);
  const policies = POLICIES.map((policy) => replayed(policy, online));
  const since = process.cpuUsage();
  const html = htmlReport({
    title: `${minutes} minutes under ${POLICIES.length} policies`,
    workload: [{ name: "Trace", value: source }],
    policies,
  });
  const makeMs = cpuMsSince(since);
  const bytes = Buffer.byteLength(html);
  const operators = policies.map(({ record }) => record.operators.count);
  const opened = await open(html);
  const total = operators.reduce((a, b) => a + b, 0);
  return {
    text: [
      `${minutes} min, ${source}, ${POLICIES.length} policies, ${total} operators (${operators.join(", ")})`,
      `made in ${(makeMs / 1000).toFixed(2)} s of processor time, ${(bytes / 1e6).toFixed(2)} MB (at most ${BYTES_MAX / 1e6} MB)`,
      opened === null
        ? "no Chromium is installed: not opened"
        : `opened: the answer after ${opened.answerMs.toFixed(0)} ms, all timelines after ${opened.readyMs.toFixed(0)} ms; a frame while they move ${opened.frameMs.p50.toFixed(1)} ms (p90 ${opened.frameMs.p90.toFixed(1)})`,
    ].join("\n"),
    json: { minutes, source, policies: POLICIES, operators, makeMs, bytes, bytesMax: BYTES_MAX, opened },
  };
};

function minutesOf(args: readonly string[]): number {
  const at = args.indexOf("--minutes");
  const minutes = at < 0 ? 30 : Number(args[at + 1]);
  if (!(minutes > 0 && minutes <= 30)) throw new RangeError(`--minutes ${args[at + 1]}: a number above 0 and up to 30`);
  return minutes;
}

function workload(minutes: number): { readonly online: Workload; readonly source: string } {
  const isShared = hasAzureTraces(TRACES);
  const { arrivals, lengths } = isShared ? readTracePair([TRACES]) : generateTraces(azure2023Profile, SEED);
  const online = shortened(recipeB48(arrivals, lengths, colocationShare), Math.round(minutes * 60e9));
  return { online, source: isShared ? "Azure LLM 2023" : `generated from ${azure2023Profile.name}` };
}

function replayed(policy: string, online: Workload): ReportPolicy {
  const recorder = new RunRecorder({ cluster, label: `${policy}, seed ${SEED}` });
  const outcome = replay({
    cluster,
    policy,
    online,
    offline: offlineRequests(colocationOffline, online.windowNs),
    seed: SEED,
    onScheduler: (scheduler) => recorder.attach(scheduler),
    onEvent: recorder.onEvent,
    onToken: (request, atNs) => recorder.token(request, atNs),
  });
  process.stderr.write(`${policy}: replayed, ${outcome.operatorsDone} operators\n`);
  return { name: policy, record: recorder.finish(), outcome, tenantOf: (label) => label };
}

function cpuMsSince(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

interface Opened {
  /** From the start of the navigation, wall time. */
  readonly answerMs: number;
  readonly readyMs: number;
  /** From one frame to the next while the view moves, near the whole run: the slowest there is. */
  readonly frameMs: { readonly p50: number; readonly p90: number };
}

async function open(html: string): Promise<Opened | null> {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  if (executablePath === undefined) return null;
  const folder = mkdtempSync(join(tmpdir(), "slicescheduler-report-"));
  const browser = await chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
  try {
    const path = join(folder, "report.html");
    writeFileSync(path, html);
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(pathToFileURL(path).href);
    const readyMs = await page.evaluate<number>(
      `new Promise((resolve) => {
        const look = () => (document.documentElement.dataset.state ? resolve(performance.now()) : requestAnimationFrame(look));
        look();
      })`,
    );
    const answerMs = await page.evaluate<number>('performance.getEntriesByName("first-contentful-paint")[0].startTime');
    return { answerMs, readyMs, frameMs: await frames(page) };
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
}

async function frames(page: Page): Promise<Opened["frameMs"]> {
  const times = await page.evaluate<number[]>(
    `(async () => {
      const canvas = document.querySelector("[data-panel] canvas");
      canvas.scrollIntoView();
      const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      press("+");
      await frame();
      const times = [];
      for (let i = 0; i < ${FRAMES}; i++) {
        const since = await frame();
        press(i % 2 === 0 ? "ArrowRight" : "ArrowLeft");
        await frame();
        times.push((await frame()) - since);
      }
      return times.map((ms) => ms / 2);
    })()`,
  );
  const sorted = times.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * sorted.length)] ?? Number.NaN;
  return { p50: at(0.5), p90: at(0.9) };
}
