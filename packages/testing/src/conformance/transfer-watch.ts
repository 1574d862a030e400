import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import { type Moment, observedWords } from "./moment.ts";
import { ALWAYS, type Rule } from "./rules.ts";
import { eventWords } from "./words.ts";

export interface PlannedTransfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
}

type State = "planned" | "intent" | "receiving" | "ready" | "sending" | "ended";

interface Life extends PlannedTransfer {
  state: State;
  sent: Moment | null;
}

type TransferEvent = Exclude<
  ExecutorEvent,
  { readonly issueNumber: number } | { readonly type: "acceleratorLost" | "acceleratorReturned" | "probed" }
>;

/** From which states each event may come, and the state that it leads to. */
const MOVES = {
  recvReady: { from: ["receiving"], to: "ready" },
  recvFailed: { from: ["receiving"], to: "intent" },
  transferDone: { from: ["sending"], to: "ended" },
  transferFailed: { from: ["sending"], to: "ended" },
  transferCancelled: { from: ["planned", "intent", "ready"], to: "ended" },
} as const satisfies Record<string, { readonly from: readonly State[]; readonly to: State }>;

/** A copy that has arrived, or will not. */
export interface CopyChange {
  readonly tensor: number;
  readonly destination: number;
  readonly arrived: boolean;
}

/** The steps of transfers, as they are told and heard. */
export class TransferWatch {
  readonly #simulated: boolean;
  readonly #breaks: (rule: Rule, expected: string, seen: string) => void;
  readonly #lives = new Map<number, Life>();

  constructor(simulated: boolean, breaks: (rule: Rule, expected: string, seen: string) => void) {
    this.#simulated = simulated;
    this.#breaks = breaks;
  }

  plan(planned: PlannedTransfer): void {
    if (!this.#lives.has(planned.transfer))
      this.#lives.set(planned.transfer, { ...planned, state: "planned", sent: null });
  }

  told(instruction: ExecutorInstruction, moment: Moment): void {
    if (instruction.type !== "activateRecv" && instruction.type !== "activateSend") return;
    const life = this.#lives.get(instruction.transfer);
    if (life === undefined) return;
    if (instruction.type === "activateRecv" && life.state === "intent") life.state = "receiving";
    if (instruction.type === "activateSend" && life.state === "ready") {
      life.state = "sending";
      life.sent = moment;
    }
  }

  /** Returns what has become of a copy at its destination; null where nothing has. */
  heard(
    event: TransferEvent,
    moment: Moment,
    canRaise: (tensor: number, source: number) => boolean,
  ): CopyChange | null {
    if (event.type === "intentsRaised") {
      this.#raised(event.transfers, canRaise);
      return null;
    }
    const life = this.#lives.get(event.transfer);
    if (life === undefined) {
      this.#breaks(ALWAYS.known, "an event about a transfer that was planned", eventWords(event));
      return null;
    }
    const { from, to } = MOVES[event.type];
    if (!from.some((state) => state === life.state)) {
      this.#breaks(
        ALWAYS.transferLife,
        `transfer ${event.transfer} is ${from.join(" or ")}`,
        `${eventWords(event)}, while it is ${life.state}`,
      );
      return null;
    }
    life.state = to;
    if (event.type === "transferDone" && life.sent !== null) {
      const words = observedWords(event.observedNs, life.sent.nowNs, moment.nowNs, this.#simulated);
      if (words !== null) this.#breaks(ALWAYS.observed, words, eventWords(event));
    }
    if (to !== "ended") return null;
    return { tensor: life.tensor, destination: life.destination, arrived: event.type === "transferDone" };
  }

  /** Returns those that end with the accelerator. */
  lose(accelerator: number): readonly PlannedTransfer[] {
    const lost = [...this.#lives.values()].filter(
      ({ source, destination, state }) => state !== "ended" && (source === accelerator || destination === accelerator),
    );
    for (const life of lost) life.state = "ended";
    return lost;
  }

  #raised(transfers: readonly number[], canRaise: (tensor: number, source: number) => boolean): void {
    const seen = `intentsRaised ${transfers.join()}`;
    const isAscending = transfers.every((transfer, at) => at === 0 || (transfers[at - 1] ?? 0) < transfer);
    if (transfers.length === 0 || !isAscending)
      this.#breaks(ALWAYS.transferLife, "intents in the order of their numbers", seen);
    for (const transfer of transfers) {
      const life = this.#lives.get(transfer);
      if (life === undefined) this.#breaks(ALWAYS.known, "an event about a transfer that was planned", seen);
      else if (life.state !== "planned")
        this.#breaks(ALWAYS.transferLife, `transfer ${transfer} is raised once`, `${seen}, while it is ${life.state}`);
      else if (!canRaise(life.tensor, life.source))
        this.#breaks(
          ALWAYS.transferLife,
          `tensor ${life.tensor} on ${life.source} before transfer ${transfer} is raised`,
          seen,
        );
      if (life?.state === "planned") life.state = "intent";
    }
  }
}
