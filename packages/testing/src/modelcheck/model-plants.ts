/** Faults put into a small world on purpose, around the real machines: what shows that the search can find them. */
import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import type { ClusterSpec } from "@slicescheduler/gmg";

export type ModelPlant =
  | "sendBeforeRecv"
  | "noReservation"
  | "noReservationWaits"
  | "portsFreedTwice"
  | "doneLost"
  | "releaseTooEarly"
  | "releaseLost"
  | "recvTwice";

/** What each of them does. */
export const MODEL_PLANTS: Readonly<Record<ModelPlant, string>> = {
  sendBeforeRecv: "data is sent before its receive buffer is allocated",
  noReservation: "the master is told of eight times the memory there is, as if its admission granted everything",
  noReservationWaits: "the same, and on the executor whatever does not fit waits until it does",
  portsFreedTwice: "the end of one transfer frees the port of another one as well",
  doneLost: "the completion of the first operator is dropped",
  releaseTooEarly: "the source of a transfer is free as soon as its data begin to move",
  releaseLost: "releases are dropped",
  recvTwice: "each receive buffer is allocated twice",
};

const TOLD_FACTOR = 8;

/** The cluster that the master is told of. */
export function toldCluster(cluster: ClusterSpec, plant: ModelPlant | null): ClusterSpec {
  if (plant !== "noReservation" && plant !== "noReservationWaits") return cluster;
  return {
    ...cluster,
    accelerators: cluster.accelerators.map((it) => ({ ...it, hbmBytes: TOLD_FACTOR * it.hbmBytes })),
  };
}

/** What becomes of the master's instructions. */
export function plantedInstructions(
  instructions: readonly ExecutorInstruction[],
  plant: ModelPlant | null,
): readonly ExecutorInstruction[] {
  switch (plant) {
    case "sendBeforeRecv":
      return instructions.flatMap((it): ExecutorInstruction[] =>
        it.type === "activateRecv" ? [{ type: "activateSend", transfer: it.transfer }, it] : [it],
      );
    case "recvTwice":
      return instructions.flatMap((it): ExecutorInstruction[] => (it.type === "activateRecv" ? [it, it] : [it]));
    case "releaseLost":
      return instructions.filter((it) => it.type !== "release");
    default:
      return instructions;
  }
}

/** Whether the master never hears of it. */
export function isLost(event: ExecutorEvent, plant: ModelPlant | null): boolean {
  return plant === "doneLost" && event.type === "operatorDone" && event.issueNumber === 0;
}
