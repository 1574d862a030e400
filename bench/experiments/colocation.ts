/** The main job as an experiment (paper §5.2, Fig. 8): the same options as `npm start`, the paper's figures beside ours. */
import { main, processIo, type ReplayReport, renderReport } from "@slicescheduler/cli";
import type { Measure } from "../measurement.ts";

/** Requests and tokens over the baseline, as published. */
const PAPER: Readonly<Record<string, { readonly requests: string; readonly tokens: string }>> = {
  "static-online": { requests: "×2.29", tokens: "×2.29" },
};

export const measure: Measure = async (args) => {
  const printed: string[] = [];
  const io = { ...processIo(), out: (text: string) => void printed.push(text) };
  const exitCode = await main(["replay", "--json", ...args], io);
  if (exitCode !== 0) process.exit(exitCode);
  const report: ReplayReport = JSON.parse(printed.join(""));
  const beside = Object.entries(report.ratios).map(([baseline, { requestsPerSecond, tokensPerSecond }]) => {
    const paper = PAPER[baseline];
    const theirs = paper === undefined ? "" : ` (paper: requests ${paper.requests}, tokens ${paper.tokens})`;
    return `over ${baseline}: requests ×${requestsPerSecond?.toFixed(2)}, tokens ×${tokensPerSecond?.toFixed(2)}${theirs}`;
  });
  return { text: [renderReport(report), ...beside].join("\n"), json: { ...report } };
};
