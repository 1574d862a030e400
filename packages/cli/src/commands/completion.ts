import type { Command } from "commander";
import { withExamples } from "./help.ts";
import type { Services } from "./services.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** Adds `completion`; call it last, since what it writes names all commands. */
export function addCompletion(root: Command, { io }: Services): Command {
  const command = root
    .command("completion")
    .description("print a script that completes commands, options, clusters and policies in your shell")
    .argument("<shell>", shells.join(", "))
    .action(async (shell: string) => {
      const { completionScript } = await import("../completion/command.ts");
      io.out(completionScript(root, shell));
    });
  return withExamples(command, [
    ["source <(slicescheduler completion bash)", "in this shell; in ~/.bashrc for every one"],
    [`slicescheduler completion zsh > "\${fpath[1]}/_slicescheduler"`, "zsh"],
    ["slicescheduler completion fish > ~/.config/fish/completions/slicescheduler.fish", "fish"],
  ]);
}
