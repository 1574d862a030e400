import { ArbitrationError } from "./errors.ts";
import type { MoveRecord, TransferMove, TransferState } from "./types.ts";

/**
 * Every legal move, by state. Whoever is cancelled while its data moves keeps its ports until the executor says that the
 * move has ended, well or not: only then is nothing on the wire. One that is quarantined was not heard of for too long, so
 * whatever is heard of it later, in whatever order, is legal, and only an end changes anything.
 */
const LEGAL_MOVES: Readonly<Record<TransferState, Readonly<Partial<Record<TransferMove, TransferState>>>>> = {
  gone: { raise: "intent" },
  intent: { select: "receiving", failed: "gone", cancel: "gone" },
  receiving: { recvReady: "sending", failed: "gone", cancel: "gone", expire: "quarantined" },
  sending: { done: "gone", failed: "gone", cancel: "cancelling", expire: "quarantined" },
  cancelling: { done: "gone", failed: "gone", cancel: "cancelling", expire: "quarantined" },
  quarantined: { recvReady: "quarantined", done: "gone", failed: "gone", cancel: "quarantined" },
};

/** States in which a transfer holds its ports and links. */
export function holdsPorts(state: TransferState): state is "receiving" | "sending" | "cancelling" {
  return state === "receiving" || state === "sending" || state === "cancelling";
}

export function nextState(state: TransferState, move: TransferMove): TransferState | undefined {
  return LEGAL_MOVES[state][move];
}

/** The state a history leads to from nothing, or undefined when it contains an illegal move. */
export function replay(history: readonly MoveRecord[]): TransferState | undefined {
  let state: TransferState | undefined = "gone";
  for (const { move } of history) {
    state = nextState(state, move);
    if (state === undefined) return undefined;
  }
  return state;
}

export function failIllegal(
  transfer: number,
  state: TransferState,
  move: TransferMove,
  history: readonly MoveRecord[],
): never {
  const legal = Object.keys(LEGAL_MOVES[state]).join(", ");
  throw new ArbitrationError(
    "ILLEGAL_MOVE",
    `Transfer ${transfer} cannot take the move "${move}" in the state "${state}" (legal: ${legal}). Its life: ${inWords(history)}.`,
    { transfer, state, move, history: [...history] },
  );
}

export function failUnknown(
  transfer: number,
  move: TransferMove | "rerank",
  history: readonly MoveRecord[] | undefined,
): never {
  const life = history === undefined ? "Nothing is remembered of it" : `It is gone; its life: ${inWords(history)}`;
  throw new ArbitrationError(
    "UNKNOWN_TRANSFER",
    `The move "${move}" names transfer ${transfer}, which is not live. ${life}.`,
    { transfer, move, history: history === undefined ? [] : [...history] },
  );
}

function inWords(history: readonly MoveRecord[]): string {
  return history.map(({ move, atNs }) => `${move} at ${atNs} ns`).join(", ");
}
