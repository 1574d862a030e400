import { timeUnits, traceFormats } from "@slicescheduler/workloads";
import type { Command } from "commander";
import type { ConvertOptions } from "../traces/convert.ts";
import type { ProfileOptions } from "../traces/profile.ts";
import { jsonWords, withExamples } from "./help.ts";
import type { Services } from "./services.ts";

/** Adds `convert`. */
export function addConvert(root: Command, { io }: Services): Command {
  const command = root
    .command("convert")
    .description("convert a trace to the canonical form: arrivalNs, inputTokens, outputTokens, tenant, class, session")
    .argument("<files...>", "the trace, gzip or not; with --format servegen …-trace.csv and …-dataset.json of a client")
    .requiredOption("--to <file>", "where to: .jsonl or .csv, packed with .gz after it");
  withReading(command, ["servegen"])
    .option("--output <form>", "jsonl or csv (default: by the name)")
    .option("--seed <n>", "servegen: seed of the requests that are drawn (default: 1)")
    .option("--share <p>", "servegen: share of the client's requests to keep (default: 1)")
    .option("--from-hour <n>", "servegen: where in the client's days to begin (default: 0)")
    .option("--hours <n>", "servegen: how long (default: to the end)")
    .option("--json", jsonWords)
    .action(async (files: string[], raw: ConvertOptions) => {
      const { runConvert } = await import("../traces/convert.ts");
      await runConvert(files, raw, io);
    });
  return withExamples(command, [
    ["slicescheduler convert BurstGPT_1.csv --to burstgpt.jsonl.gz", "a known format is recognized"],
    [
      "slicescheduler convert log.csv --to log.jsonl --columns arrival=ts,input=prompt,output=answer",
      "a log of your own",
    ],
  ]);
}

/** Adds `profile`. */
export function addProfile(root: Command, { io }: Services): Command {
  const command = root
    .command("profile")
    .description("measure a trace: rates, gaps and lengths, from which `replay --profile` generates requests like it")
    .argument("<trace>", "a trace of any format, gzip or not")
    .option("-o, --output <file>", "where to (default: stdout)")
    .option("--name <name>", "name of the profile (default: the file's)")
    .option("--attribution <text>", "whose trace it is, and under which licence")
    .option("--window-seconds <n>", "over how long rates are measured (default: 50)");
  withReading(command)
    .option("--json", jsonWords)
    .action(async (trace: string, raw: ProfileOptions) => {
      const { runProfile } = await import("../traces/profile.ts");
      await runProfile(trace, raw, io);
    });
  return withExamples(command, [
    ["slicescheduler profile log.jsonl -o log.profile.json", "then: slicescheduler replay --profile log.profile.json"],
  ]);
}

function withReading(command: Command, more: readonly string[] = []): Command {
  return command
    .option("--format <name>", `auto, ${[...traceFormats, ...more].join(", ")} (default: auto)`)
    .option(
      "--columns <pairs>",
      "for csv and jsonl: arrival=…,input=…,output=… and if there are tenant=…,class=…,session=…",
    )
    .option("--arrival-unit <unit>", `of the arrival column: ${timeUnits.join(", ")} (default: s)`)
    .option("--delimiter <char>", "between the fields of CSV (default: a comma)")
    .option("--zero-tokens <what>", "refuse or drop requests without tokens (default: refuse; BurstGPT: drop)")
    .option("--reorder-rows <n>", "by how many rows the file may be out of order (default: 0)");
}
