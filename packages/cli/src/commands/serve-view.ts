import type { Command } from "commander";
import type { ServeOptions } from "../serve/command.ts";
import { withExamples } from "./help.ts";
import { withRequests } from "./request-options.ts";
import type { Services } from "./services.ts";

/** Adds `serve-view`. */
export function addServeView(root: Command, { io }: Services): Command {
  const command = root
    .command("serve-view")
    .description("replay at the pace of the clock and serve a page that shows queues, HBM, frontiers and decisions");
  withRequests(command)
    .option("--policy <name>", "what to replay (default: slicescheduler)")
    .optionsGroup("Page:")
    .option("--speed <n>", "times the pace of the clock, at most 1000 (default: 1)")
    .option("--port <n>", "to listen on (default: any that is free)")
    .option("--host <address>", "to listen on (default: 127.0.0.1, this machine only)")
    .option("--allow-host <names...>", "further names under which browsers may call it")
    .option("--control", "make a token with which accelerators can be drained and instances cancelled")
    .option("--exit", "end with the replay instead of waiting for Ctrl+C")
    .option("--json", "print the address as one JSON object on stdout")
    .action(async (raw: ServeOptions) => {
      const { runServeView } = await import("../serve/command.ts");
      await runServeView(raw, io);
    });
  return withExamples(command, [
    ["slicescheduler serve-view --speed 10", "then open the address it prints"],
    ["slicescheduler serve-view --cluster l40s-node --policy dual-share", "a baseline on other accelerators"],
  ]);
}
