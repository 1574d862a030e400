/** `completion`: from the tree of commands to a script. */
import { nearest, policyNames, timeUnits, traceFormats } from "@slicescheduler/workloads";
import type { Command } from "commander";
import { readyClusters } from "../assets.ts";
import { UsageError } from "../errors.ts";
import { bashCompletion } from "./bash.ts";
import { fishCompletion } from "./fish.ts";
import { completionTree, type KnownValues } from "./tree.ts";
import { zshCompletion } from "./zsh.ts";

const writers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** Errors: USAGE for another shell. */
export function completionScript(root: Command, shell: string): string {
  const write = Object.hasOwn(writers, shell) ? writers[shell as keyof typeof writers] : undefined;
  if (write === undefined) {
    const near = nearest(shell, Object.keys(writers));
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    throw new UsageError([
      `no completion for ${JSON.stringify(shell)}, only for ${Object.keys(writers).join(", ")}${hint}`,
    ]);
  }
  return write(completionTree(root, knownValues()));
}

function knownValues(): KnownValues {
  const clusters = readyClusters();
  return {
    "--policy": policyNames,
    "--cluster": clusters,
    "--recipe": ["B48", "B", "plain"],
    "--instance-accelerators": ["1", "2", "4"],
    "--kind": ["cluster", "workload", "template"],
    "--format": ["auto", ...traceFormats, "servegen"],
    "--arrival-unit": timeUnits,
    "--zero-tokens": ["refuse", "drop"],
    "clusters name": clusters,
    "completion shell": Object.keys(writers),
  };
}
