import type { Executor, ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";

/** What stands between a master and its executor; each passes on what it was given, or something else. */
export interface Relay {
  /** Default: all of it, at once. */
  readonly execute?: (instructions: readonly ExecutorInstruction[], pass: Executor["execute"]) => void;
  /** Default: itself, at once. */
  readonly deliver?: (event: ExecutorEvent, pass: (event: ExecutorEvent) => void) => void;
  readonly close?: () => void;
}

/** The executor as a master sees it through a relay. */
export function relayedExecutor(executor: Executor, { execute, deliver, close }: Relay): Executor {
  const pass: Executor["execute"] = (instructions) => executor.execute(instructions);
  const stats = executor.stats?.bind(executor);
  return {
    manifest: executor.manifest,
    clock: executor.clock,
    open: (context) => {
      const hand = (event: ExecutorEvent) => context.deliver(event);
      executor.open(
        deliver === undefined ? context : { cluster: context.cluster, deliver: (event) => deliver(event, hand) },
      );
    },
    execute: (instructions) => (execute === undefined ? pass(instructions) : execute(instructions, pass)),
    ...(stats === undefined ? {} : { stats }),
    close: () => {
      close?.();
      executor.close();
    },
  };
}
