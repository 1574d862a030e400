import type { Command } from "commander";

/** Adds the options that say what is replayed, and on what. */
export function withRequests(command: Command): Command {
  return command
    .optionsGroup("Requests:")
    .option(
      "--trace <path...>",
      "directory with the two Azure files, or arrivals file and lengths file, or one for both",
    )
    .option("--workload <file>", "workload file (YAML or JSON); options go before what stands in it")
    .option("--profile <file>", "generate the requests from a profile that `slicescheduler profile` made")
    .option(
      "--recipe <name>",
      "B48 (outputs of at most 48 tokens), B (all outputs), or plain (one trace or profile as it is) (default: B48)",
    )
    .option("--offline-class <names...>", "with plain: classes of requests that may wait (default: offline)")
    .option(
      "--minutes <n>",
      "length of the window, above 0 and at most 30; with plain 1440 (default: 30; plain: the trace's)",
    )
    .option("--share <p>", "share of the arrivals each instance keeps, at most 0.25 (default: 0.0325)")
    .option("--seed <n>", "seed of the noise, and of the workload when it is generated (default: 1)")
    .option("--seeds <n>", "how many seeds from --seed on; more than one give medians (default: 1)")
    .optionsGroup("Cluster and policies:")
    .option("--cluster <name>", "a ready cluster (`slicescheduler clusters` lists them) or a cluster file")
    .option("--hbm-gb <n>", "HBM of each accelerator in GB, without --cluster (default: 64)")
    .option(
      "--instance-accelerators <n>",
      "accelerators of a model instance: 1, 2 or 4 (default: 2; with --cluster the fewest that fit)",
    );
}
