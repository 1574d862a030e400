import { ExecutorError } from "./errors.ts";

/**
 * | queue state | missing inputs | allowed to run | on the accelerator | buffers of its outputs |
 * |---|---|---|---|---|
 * | blocked     | ≥ 1 | either | no  | expected  |
 * | ready       | 0   | no     | no  | expected  |
 * | activated   | 0   | yes    | no  | expected  |
 * | running     | 0   | yes    | yes | allocated |
 * | done        | –   | –      | no  | present   |
 * | failed      | –   | –      | no  | forgotten |
 * | withdrawn   | –   | –      | no  | forgotten |
 * | lost        | –   | –      | no  | gone, with the accelerator |
 */
export type QueueState =
  | "issued"
  | "blocked"
  | "ready"
  | "activated"
  | "running"
  | "done"
  | "failed"
  | "withdrawn"
  | "lost";

/** Legal moves of an operator in its queue, by the state they end in. */
export const QUEUE_MOVES: Readonly<Record<QueueState, readonly QueueState[]>> = {
  issued: [],
  blocked: ["issued"],
  ready: ["issued", "blocked"],
  activated: ["ready"],
  running: ["activated"],
  done: ["running"],
  failed: ["activated", "running"],
  withdrawn: ["blocked", "ready", "activated"],
  lost: ["blocked", "ready", "activated", "running"],
};

/**
 * The steps of a transfer: planned until its tensor is at the source, then an intent, then the two admitted halves.
 * An intent that was raised runs to its end, also when nobody waits for it any more, unless the master cancels it before its data
 * move. At any step it is lost with the accelerator at either of its ends.
 */
export type TransferState = "planned" | "intent" | "receiving" | "sending" | "done" | "failed" | "cancelled" | "lost";

/** Legal moves of a transfer, by the state they end in. */
export const TRANSFER_MOVES: Readonly<Record<TransferState, readonly TransferState[]>> = {
  planned: [],
  intent: ["planned"],
  receiving: ["intent"],
  sending: ["receiving"],
  done: ["sending"],
  failed: ["sending"],
  cancelled: ["planned", "intent", "receiving"],
  lost: ["planned", "intent", "receiving", "sending"],
};

/** Where something is in its life, with every move it made, for the message of an illegal one. */
export interface Life<State extends string> {
  state: State;
  /** States entered, and when. */
  readonly history: { readonly state: State; readonly atNs: number }[];
}

/** Moves along the table; an illegal move throws ILLEGAL_MOVE with the whole history and changes nothing. */
export function move<State extends string, Subject extends Life<State>>(
  moves: Readonly<Record<State, readonly State[]>>,
  subject: Subject,
  to: State,
  atNs: number,
  nameOf: (subject: Subject) => string,
): void {
  if (!moves[to].includes(subject.state)) illegalMove(subject, to, atNs, nameOf(subject));
  subject.state = to;
  subject.history.push({ state: to, atNs });
}

function illegalMove(subject: Life<string>, to: string, atNs: number, name: string): never {
  const past = subject.history.map((entered) => `${entered.state} at ${entered.atNs} ns`).join(", ");
  throw new ExecutorError(
    "ILLEGAL_MOVE",
    `${name} cannot become ${to} at ${atNs} ns, it is ${subject.state} (history: ${past})`,
  );
}
