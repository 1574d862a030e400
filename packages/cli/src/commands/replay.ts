import { policyNames } from "@slicescheduler/workloads";
import type { Command } from "commander";
import type { RawOptions } from "../replay/settings.ts";
import { jsonWords, withExamples, wrapped } from "./help.ts";
import { withRequests } from "./request-options.ts";
import type { Services } from "./services.ts";

/** Adds `replay`, the default command. */
export function addReplay(root: Command, { io, replay, args }: Services): Command {
  const command = root
    .command("replay", { isDefault: true })
    .description("replay request traces on a cluster, in simulated time, and compare policies (the default command)");
  withRequests(command)
    .option("--policy <names...>", "policies, repeated or as a comma list (default: static-online,slicescheduler)")
    .optionsGroup("Results:")
    .option("--gantt", "print each policy's timeline as text")
    .option("--timeline <file>", "write a trace for Perfetto (ui.perfetto.dev) or chrome://tracing")
    .option("--report <file>", "write an HTML report of all policies, one offline file")
    .option("--record <file>", "save the replay, for `report` and `compare`")
    .option("--event-log <file>", "write the master's events, for `inspect`")
    .option("--json", jsonWords)
    .allowExcessArguments(false)
    .addHelpText("after", `\n${wrapped(`Policies: ${policyNames.join(", ")}`)}`)
    .addHelpText(
      "after",
      wrapped(
        "Timelines and event logs of several policies have the policy in their name; of several seeds the first is recorded.",
      ),
    )
    .action(async (raw: RawOptions) => {
      const { runReplayCommand } = await import("../replay/command.ts");
      await runReplayCommand(raw, io, { replay, command: ["slicescheduler", ...args].join(" ") });
    });
  return withExamples(command, [
    ["slicescheduler", "the shared traces, or a generated workload when there are none"],
    ["slicescheduler --trace conv.csv code.csv", "arrivals from the first file, lengths from the second"],
    ["slicescheduler --cluster h100-node --minutes 5", "the same requests on eight H100"],
    ["slicescheduler --minutes 5 --report out.html", "and a report to read"],
    ["slicescheduler --seed 7 --json | tail -n 1", "one JSON object, the same bytes for the same seed"],
  ]);
}
