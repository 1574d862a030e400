/** States as one letter each. */
import type { InstanceNode, OperatorNode, TransferNode } from "./nodes.ts";

/** An instance that is live once more, after its outcome was told, has a letter of its own. */
export const INSTANCE_LETTERS = {
  l: { state: "live", told: false },
  a: { state: "live", told: true },
  d: { state: "done", told: true },
  c: { state: "cancelled", told: true },
  f: { state: "failed", told: true },
} as const;

export function instanceLetter({ state, told }: InstanceNode): keyof typeof INSTANCE_LETTERS {
  if (state === "live") return told ? "a" : "l";
  return state === "done" ? "d" : state === "cancelled" ? "c" : "f";
}

/** Upper case for what has its outcome and is in an executor still, or is asked back from one. */
export const OPERATOR_LETTERS = {
  u: { state: "unscheduled", inExecutor: false, recalled: false },
  i: { state: "issued", inExecutor: true, recalled: false },
  I: { state: "issued", inExecutor: true, recalled: true },
  d: { state: "done", inExecutor: false, recalled: false },
  c: { state: "cancelled", inExecutor: false, recalled: false },
  C: { state: "cancelled", inExecutor: true, recalled: false },
  R: { state: "cancelled", inExecutor: true, recalled: true },
  f: { state: "failed", inExecutor: false, recalled: false },
  F: { state: "failed", inExecutor: true, recalled: false },
  S: { state: "failed", inExecutor: true, recalled: true },
} as const;

export function operatorLetter({ state, recalled }: OperatorNode, inExecutor: boolean): keyof typeof OPERATOR_LETTERS {
  if (state === "unscheduled") return "u";
  if (state === "issued") return recalled ? "I" : "i";
  if (state === "done") return "d";
  if (!inExecutor) return state === "cancelled" ? "c" : "f";
  if (state === "cancelled") return recalled ? "R" : "C";
  return recalled ? "S" : "F";
}

export const TRANSFER_LETTERS: Readonly<Record<TransferNode["state"], string>> = {
  planned: "p",
  intended: "i",
  starved: "v",
  cancelling: "c",
  selected: "e",
  receiving: "r",
  sending: "s",
  quarantined: "q",
};

export const TRANSFER_STATES: ReadonlyMap<string, TransferNode["state"]> = new Map(
  Object.entries(TRANSFER_LETTERS).map(([state, letter]) => [letter, state as TransferNode["state"]]),
);
