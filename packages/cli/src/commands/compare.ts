import type { Command } from "commander";
import type { CompareOptions } from "../compare/command.ts";
import { jsonWords, withExamples } from "./help.ts";
import type { Services } from "./services.ts";

/** Adds `compare`. */
export function addCompare(root: Command, { io }: Services): Command {
  const command = root
    .command("compare")
    .description("set results side by side: outputs of replay --json, saved replays, run records")
    .argument("<files...>", "files to compare; every figure also shows its distance from the first column")
    .option("--policy <names...>", "only these policies, repeated or as a comma list")
    .option("--json", jsonWords)
    .action(async (files: string[], raw: CompareOptions) => {
      const { runCompare } = await import("../compare/command.ts");
      runCompare(files, raw, io);
    });
  return withExamples(command, [
    ["slicescheduler compare h100.json h200.json --policy slicescheduler", "one policy on two clusters"],
    ["slicescheduler compare out.run", "the policies of a saved replay"],
  ]);
}
