/**
 * The main job with all baselines (paper §5.2, Fig. 8): the options of `npm start`, but every policy and five seeds unless told
 * otherwise, and the paper's figures beside ours.
 */
import { main, processIo, type ReplayReport, renderReport } from "@slicescheduler/cli";
import { policyNames } from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";

/** SliceScheduler over the baseline in requests and tokens, as published. */
const PAPER: Readonly<Record<string, string>> = {
  "static-online": "requests ×2.29, tokens ×2.29",
  "subset-share": "requests ×1.37 (the upper end of +9 … +37 % over Subset- and Dual-Share)",
  "dual-share": "requests ×1.09 (the lower end of that)",
  "full-share": "requests ×1.49",
};

export const measure: Measure = async (args) => {
  const printed: string[] = [];
  const io = { ...processIo(), out: (text: string) => void printed.push(text) };
  const exitCode = await main(["replay", "--json", ...defaults(args), ...args], io);
  if (exitCode !== 0) process.exit(exitCode);
  const report: ReplayReport = JSON.parse(printed.join(""));
  const beside = Object.entries(report.ratios).map(([baseline, { requestsPerSecond, tokensPerSecond }]) => {
    const theirs = PAPER[baseline] === undefined ? "" : ` (paper: ${PAPER[baseline]})`;
    return `over ${baseline}: requests ×${requestsPerSecond?.toFixed(2)}, tokens ×${tokensPerSecond?.toFixed(2)}${theirs}`;
  });
  return { text: [renderReport(report), ...beside].join("\n"), json: { ...report } };
};

function defaults(args: readonly string[]): string[] {
  const has = (option: string): boolean => args.some((arg) => arg === option || arg.startsWith(`${option}=`));
  // The deep form of Full-Share is the weaker one; ask for it by name.
  const shown = policyNames.filter((name) => name !== "full-share-deep");
  return [...(has("--policy") ? [] : ["--policy", shown.join(",")]), ...(has("--seeds") ? [] : ["--seeds", "5"])];
}
