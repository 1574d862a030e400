import type { Command } from "commander";
import type { ReportOptions } from "../report/command.ts";
import { jsonWords, withExamples } from "./help.ts";
import type { Services } from "./services.ts";

/** Adds `report`. */
export function addReport(root: Command, { io }: Services): Command {
  const command = root
    .command("report")
    .description("write one offline HTML file about saved replays and run records")
    .argument("<files...>", "files that `replay --record` saved, or run records of your own application")
    .option("-o, --output <file>", "where to (default: report.html)")
    .option("--title <text>", "its heading")
    .option("--json", jsonWords)
    .action(async (files: string[], raw: ReportOptions) => {
      const { runReport } = await import("../report/command.ts");
      runReport(files, raw, io);
    });
  return withExamples(command, [
    ["slicescheduler report out.run -o out.html", "what `replay --report out.html` would have written"],
    ["slicescheduler report h100.run h200.run", "two replays on one page"],
  ]);
}
