/** The command line as a function: arguments and surroundings in, exit code out. */
import { WorkloadError } from "@slicescheduler/workloads";
import { Command, CommanderError } from "commander";
import type { Io } from "./io.ts";
import type { RawOptions } from "./options.ts";
import { type Replay, runReplayCommand } from "./replay-command.ts";

const examples = `
Examples:
  $ slicescheduler                                    the shared traces, or a generated workload when there are none
  $ slicescheduler --trace conv.csv code.csv          arrivals from the first file, lengths from the second
  $ slicescheduler --policy slicescheduler --minutes 5
  $ slicescheduler --seed 7 --json | tail -n 1        one JSON object, the same bytes for the same seed

Bad input ends with exit code 2 and one line on stderr.`;

/** Exit codes: 0 done, 1 a replay broke an invariant or failed inside, 2 bad input. */
export async function main(args: readonly string[], io: Io, replay?: Replay): Promise<number> {
  try {
    await program(io, replay).parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    return report(error, io);
  }
}

function program(io: Io, replay: Replay | undefined): Command {
  const root = new Command("slicescheduler");
  root
    .description("Replay LLM request traces on a virtual cluster, in simulated time, and compare scheduling policies.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      outputError: (text, write) => write(`${text.trim().replace(/\s*\n\s*/g, " ")}\n`),
    });
  const command = root
    .command("replay", { isDefault: true })
    .description("replay four online traces of 30 minutes and an offline load under each policy (the default command)")
    .copyInheritedSettings(root)
    .option(
      "--trace <path...>",
      "directory with the two Azure files, or arrivals file and lengths file, or one for both",
    )
    .option("--policy <names...>", "policies, repeated or as a comma list (default: static-online,slicescheduler)")
    .option("--recipe <name>", "B48 (outputs of at most 48 tokens) or B (all outputs)", "B48")
    .option("--minutes <n>", "length of the window, above 0 and at most 30", "30")
    .option("--seed <n>", "seed of the noise, and of the workload when it is generated", "1")
    .option("--seeds <n>", "how many seeds from --seed on; more than one give medians", "1")
    .option("--share <p>", "share of the arrivals each instance keeps, at most 0.25", "0.0325")
    .option("--hbm-gb <n>", "HBM of each accelerator in GB", "64")
    .option("--json", "print one JSON object as the last line of stdout")
    .allowExcessArguments(false)
    .addHelpText("after", examples)
    .action((raw: RawOptions) => runReplayCommand(raw, io, replay));
  root.addHelpText("after", () => `\n${command.helpInformation()}${examples}`);
  return root;
}

function report(error: unknown, io: Io): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof WorkloadError) {
    io.err(`error: ${error.message}\n`);
    return error.code === "REPLAY_CHECK_FAILED" ? 1 : 2;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  io.err(`internal error, please report it: ${text}\n`);
  return 1;
}
