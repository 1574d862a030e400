/** The tree of commands; what each does is loaded when it is called. */
import { Command } from "commander";
import { packageVersion } from "./assets.ts";
import { addClusters } from "./commands/clusters.ts";
import { addCompare } from "./commands/compare.ts";
import { addCompletion } from "./commands/completion.ts";
import { withExamples, wrapped } from "./commands/help.ts";
import { addInspect } from "./commands/inspect.ts";
import { addReplay } from "./commands/replay.ts";
import { addReport } from "./commands/report.ts";
import { addServeView } from "./commands/serve-view.ts";
import type { Services } from "./commands/services.ts";
import { addConvert, addProfile } from "./commands/traces.ts";
import { addValidate } from "./commands/validate.ts";

const exitCodes = `
${wrapped(
  "Exit codes: 0 done; 1 a replay broke one of its own checks, or failed inside; 2 bad input, told in a line each on stderr.",
)}`;

/** Every command, ready to parse. */
export function buildProgram(services: Services): Command {
  const { io } = services;
  const root = new Command("slicescheduler");
  root
    .description("Replay LLM request traces on a described cluster, in simulated time, and look at what happened.")
    .version(packageVersion(), "-V, --version", "print the version")
    .exitOverride()
    .configureHelp({ helpWidth: Math.min(120, Math.max(60, io.columns)) })
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      outputError: (text, write) => write(`${text.trim().replace(/\s*\n\s*/g, " ")}\n`),
    });
  const replay = addReplay(root, services);
  addCompare(root, services);
  addReport(root, services);
  addInspect(root, services);
  addConvert(root, services);
  addProfile(root, services);
  addClusters(root, services);
  addValidate(root, services);
  addServeView(root, services);
  addCompletion(root, services);
  for (const command of root.commands) {
    command.copyInheritedSettings(root).configureHelp({ helpWidth: Math.min(120, Math.max(60, io.columns)) });
  }
  root.addHelpText("after", () => `\n${replay.helpInformation()}`);
  withExamples(root, [
    ["slicescheduler", "replay what there is, and print the comparison"],
    ["slicescheduler replay --cluster h100-node --report out.html", "on eight H100, with a report to read"],
    ["slicescheduler clusters", "what clusters there are"],
    ["slicescheduler validate mine.yaml", "every fault of a file, with its line"],
  ]);
  root.addHelpText("after", exitCodes);
  return root;
}
