import type { Command } from "commander";
import { jsonWords, withExamples } from "./help.ts";
import type { Services } from "./services.ts";

/** Adds `validate`. */
export function addValidate(root: Command, { io }: Services): Command {
  const command = root
    .command("validate")
    .description("check cluster, workload and template files; all faults at once, with line and column")
    .argument("<files...>", "YAML or JSON files, or names of ready clusters")
    .option("--kind <kind>", "cluster, workload or template (default: found out from its fields)")
    .option("--cluster <name>", "lay templates on this cluster, a ready one or a file (default: ample accelerators)")
    .option("--json", jsonWords)
    .action(async (files: string[], raw: { kind?: string; cluster?: string; json?: boolean }) => {
      const { runValidate } = await import("../validate/command.ts");
      runValidate(files, raw, io);
    });
  return withExamples(command, [
    ["slicescheduler validate cluster.yaml workload.yaml", "exit code 2 when anything is wrong"],
    ["slicescheduler validate template.yaml --cluster h100-node", "also whether it can be laid there"],
  ]);
}
