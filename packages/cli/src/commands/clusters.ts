import type { Command } from "commander";
import { jsonWords, withExamples } from "./help.ts";
import type { Services } from "./services.ts";

/** Adds `clusters`. */
export function addClusters(root: Command, { io }: Services): Command {
  const command = root
    .command("clusters")
    .description("list the ready cluster descriptions, or print one to start a file of your own from")
    .argument("[name]", "print this one's file")
    .option("--json", jsonWords)
    .action(async (name: string | undefined, raw: { json?: boolean }) => {
      const { runClusters } = await import("../clusters.ts");
      runClusters(name, raw, io);
    });
  return withExamples(command, [
    ["slicescheduler clusters", "names, and what they are"],
    ["slicescheduler clusters h100-node > mine.yaml", "a file to change"],
  ]);
}
