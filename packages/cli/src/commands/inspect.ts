import type { Command } from "commander";
import type { InspectCommandOptions } from "../inspect/command.ts";
import { jsonWords, withExamples } from "./help.ts";
import type { Services } from "./services.ts";

/** Adds `inspect`. */
export function addInspect(root: Command, { io }: Services): Command {
  const command = root
    .command("inspect")
    .description("look into a run: what runs, what waits and for what, who has the memory, why a decision was taken")
    .argument("<file>", "event log, snapshot of the graph, saved replay or run record")
    .option("--at <time>", "event log: the moment to look at, such as 90s or 1500000000 (ns) (default: the end)")
    .option("--instance <n>", "explain this instance: its operators and the decisions about it")
    .option("--decision <round>", "explain this decision: every candidate, and why it was not the one")
    .option("--decisions", "list the decisions that had a choice, of several candidates")
    .option("--gantt", "print the timeline as text (the default for saved replays and run records)")
    .option("--from <time>", "of the timeline")
    .option("--to <time>", "of the timeline")
    .option("--policy <name>", "of a saved replay with several")
    .option("--list <n>", "entries of one list that are written out (default: 20)")
    .option("--json", jsonWords)
    .action(async (file: string, raw: InspectCommandOptions) => {
      const { runInspect } = await import("../inspect/command.ts");
      await runInspect(file, raw, io);
    });
  return withExamples(command, [
    ["slicescheduler replay --policy slicescheduler --minutes 1 --event-log run.jsonl", "makes a log to look into"],
    ["slicescheduler inspect run.jsonl --at 30s", "the master after half a minute"],
    ["slicescheduler inspect run.jsonl --decisions", "the decisions that had a choice"],
    ["slicescheduler inspect run.jsonl --decision 0", "one decision"],
  ]);
}
