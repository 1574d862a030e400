import type { Executor, ExecutorEvent } from "@slicescheduler/executor";
import type { ClusterSpec } from "@slicescheduler/gmg";
import { relayedExecutor } from "./relayed-executor.ts";

/** A fault put into a run so that the check of that name must fail: what shows that the check can fail. */
export type Plant = "overCapacity" | "standstills" | "lost" | "doubled" | "leakedBytes";

/** What each of them does. */
export const PLANTS: Readonly<Record<Plant, string>> = {
  overCapacity: "the scheduler is told of eight times the memory there is, as if its admission granted everything",
  standstills: "the application never gives back what it retained and never closes a request",
  lost: "every other operator's completion is dropped",
  doubled: "every other operator runs a second time",
  leakedBytes: "every other release is dropped",
};

export function isPlant(name: string): name is Plant {
  return Object.hasOwn(PLANTS, name);
}

/** The cluster that the scheduler is told of. */
export function plantedCluster(cluster: ClusterSpec, plant: Plant | null): ClusterSpec {
  if (plant !== "overCapacity") return cluster;
  return { ...cluster, accelerators: cluster.accelerators.map((it) => ({ ...it, hbmBytes: 8 * it.hbmBytes })) };
}

/** An executor that does not do what it says; the rest of the run is told what it says. */
export function plantedExecutor(executor: Executor, plant: Plant | null): Executor {
  let seen = 0;
  const isChosen = () => seen++ % 2 === 0;
  if (plant === "leakedBytes") {
    return relayedExecutor(executor, {
      execute: (instructions, pass) =>
        pass(instructions.filter((instruction) => instruction.type !== "release" || !isChosen())),
    });
  }
  if (plant !== "lost" && plant !== "doubled") return executor;
  return relayedExecutor(executor, {
    deliver: (event, pass) => {
      const chosen = event.type === "operatorDone" && isChosen();
      if (plant === "doubled" || !chosen) pass(event);
      if (plant === "doubled" && chosen) runAgain(event, pass);
    },
  });
}

function runAgain(event: Extract<ExecutorEvent, { type: "operatorDone" }>, pass: (event: ExecutorEvent) => void): void {
  pass({ type: "operatorStarted", issueNumber: event.issueNumber });
  pass(event);
}
