import type { EventTime } from "./event-time.ts";
import {
  checkStrike,
  checkTime,
  FaultTally,
  type FaultyTime,
  isStruck,
  refuse,
  type Strike,
  unitOf,
} from "./faults-strike.ts";
import { EVENT_KIND } from "./simulated-time.ts";
import type { ExecutorEvent, ExecutorInstruction } from "./types.ts";

type EventType = ExecutorEvent["type"];

/** By type of event; `any` counts for the types that are not named. Numbers are issue numbers, transfer numbers, or those of probes. */
export type StrikeByEvent<Each extends Strike = Strike> = Readonly<Partial<Record<EventType | "any", Each>>>;

/**
 * What becomes of events between an executor and its master. Each accelerator has a channel of its own: an event that is late holds up those
 * behind it in its channel, one that is reordered is overtaken by them. `acceleratorLost` and `acceleratorReturned` arrive at once and
 * always, though perhaps twice: what a master may say of an accelerator depends on what it was told of it.
 */
export interface MessageFaults {
  readonly lost?: StrikeByEvent;
  /** Up to `nsMax` nanoseconds later, a whole number from 1. */
  readonly late?: StrikeByEvent<Strike & { readonly nsMax: number }>;
  readonly doubled?: StrikeByEvent;
  /** Overtaken by whatever comes within up to `nsMax` nanoseconds. */
  readonly reordered?: StrikeByEvent<Strike & { readonly nsMax: number }>;
  /** Times in which nothing is heard of an accelerator. Given by index in the cluster. */
  readonly cut?: readonly (FaultyTime & { readonly accelerator: number })[];
}

const MESSAGE_KINDS = ["lost", "late", "doubled", "reordered"] as const;
const STREAM = { lost: 32, doubled: 33, late: 34, reordered: 35 } as const;

/** Throws INVALID_OPTION. */
export function checkMessageFaults(faults: MessageFaults): void {
  for (const kind of MESSAGE_KINDS) {
    for (const [type, strike] of Object.entries(faults[kind] ?? {})) {
      checkStrike(`messages.${kind}.${type}`, strike);
      if (kind !== "late" && kind !== "reordered") continue;
      const { nsMax } = strike as { nsMax: number };
      if (!Number.isSafeInteger(nsMax) || nsMax < 1)
        refuse(`messages.${kind}.${type}.nsMax`, nsMax, "whole nanoseconds from 1");
    }
  }
  for (const [at, { fromNs, untilNs }] of (faults.cut ?? []).entries())
    checkTime(`messages.cut[${at}]`, fromNs, untilNs);
}

/** Events that travel on a clock come after all else of their instant but the callbacks of `callAt`. */
const MESSAGE_KIND = EVENT_KIND.application + 2;

/** The way of events from one executor to its master, with what goes wrong there. */
export class FaultyLine {
  readonly tally = new FaultTally();
  readonly #faults: MessageFaults;
  readonly #seed: number;
  readonly #time: EventTime;
  readonly #hand: (event: ExecutorEvent) => void;
  readonly #channels = new Channels();
  /** Per channel, when the latest event that keeps its place arrives. */
  readonly #latestNs = new Map<number, number>();
  #sent = 0;
  #isClosed: boolean = false;

  /** @param hand Gets what arrives. Throws INVALID_OPTION. */
  constructor(faults: MessageFaults, seed: number, time: EventTime, hand: (event: ExecutorEvent) => void) {
    checkMessageFaults(faults);
    this.#faults = faults;
    this.#seed = seed;
    this.#time = time;
    this.#hand = hand;
  }

  /** Tell it of what goes to the executor: that says which channel events come by. */
  instructed(instructions: readonly ExecutorInstruction[]): void {
    this.#channels.instructed(instructions);
  }

  send(event: ExecutorEvent): void {
    const number = this.#sent++;
    const nowNs = this.#time.nowNs();
    const channel = this.#channels.of(event);
    const isPresence = event.type === "acceleratorLost" || event.type === "acceleratorReturned";
    if (!isPresence) {
      const isCut = this.#isCut(channel, nowNs);
      if (isCut) this.tally.count("cut");
      if (isCut || this.#strikes("lost", event, number)) return;
    }
    const copies = this.#strikes("doubled", event, number) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      if (isPresence) this.#hand(event);
      else this.#travel(event, channel, 2 * number + copy, nowNs);
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  #travel(event: ExecutorEvent, channel: number, number: number, nowNs: number): void {
    const latestNs = this.#latestNs.get(channel) ?? -1;
    if (this.#strikes("reordered", event, number)) {
      this.#arrive(event, nowNs + this.#delayNs("reordered", event, number), number);
      return;
    }
    const delayNs = this.#strikes("late", event, number) ? this.#delayNs("late", event, number) : 0;
    const atNs = Math.max(latestNs, nowNs + delayNs);
    if (atNs === nowNs && latestNs < nowNs) {
      this.#hand(event);
      return;
    }
    this.#latestNs.set(channel, atNs);
    this.#arrive(event, atNs, number);
  }

  #arrive(event: ExecutorEvent, atNs: number, number: number): void {
    this.#time.at(atNs, { kind: MESSAGE_KIND, number }, () => {
      if (!this.#isClosed) this.#hand(event);
    });
  }

  #isCut(channel: number, nowNs: number): boolean {
    for (const { accelerator, fromNs, untilNs = Number.POSITIVE_INFINITY } of this.#faults.cut ?? [])
      if (accelerator === channel && fromNs <= nowNs && nowNs < untilNs) return true;
    return false;
  }

  #delayNs(kind: "late" | "reordered", { type }: ExecutorEvent, number: number): number {
    const nsMax = (this.#faults[kind]?.[type] ?? this.#faults[kind]?.any)?.nsMax ?? 1;
    return 1 + Math.floor(nsMax * unitOf(this.#seed, STREAM[kind], number, 1));
  }

  #strikes(kind: (typeof MESSAGE_KINDS)[number], event: ExecutorEvent, number: number): boolean {
    const strike = this.#faults[kind]?.[event.type] ?? this.#faults[kind]?.any;
    const struck = isStruck(strike, () => unitOf(this.#seed, STREAM[kind], number), numberOf(event));
    if (struck) this.tally.count(kind);
    return struck;
  }
}

/** What a list of numbers names an event by. */
function numberOf(event: ExecutorEvent): number {
  if ("issueNumber" in event) return event.issueNumber;
  if ("transfer" in event) return event.transfer;
  if ("probe" in event) return event.probe;
  return "transfers" in event ? (event.transfers[0] ?? -1) : event.accelerator;
}

/** Which accelerator tells of what. */
class Channels {
  readonly #issues = new Map<number, number>();
  readonly #transfers = new Map<number, { readonly source: number; readonly destination: number }>();

  instructed(instructions: readonly ExecutorInstruction[]): void {
    for (const instruction of instructions) {
      if (instruction.type !== "issue") continue;
      const { issueNumber, accelerator, inputs } = instruction;
      this.#issues.set(issueNumber, accelerator);
      for (const { transfer, source } of inputs)
        if (transfer !== null && !this.#transfers.has(transfer))
          this.#transfers.set(transfer, { source, destination: accelerator });
    }
  }

  of(event: ExecutorEvent): number {
    switch (event.type) {
      case "operatorStarted":
        return this.#issues.get(event.issueNumber) ?? -1;
      case "operatorDone":
      case "operatorFailed":
      case "withdrawn":
        return this.#ended(event.issueNumber);
      case "intentsRaised":
        return this.#transfers.get(event.transfers[0] ?? -1)?.source ?? -1;
      case "recvReady":
      case "recvFailed":
        return this.#transfers.get(event.transfer)?.destination ?? -1;
      case "transferDone":
      case "transferFailed":
      case "transferCancelled":
        return this.#moved(event.transfer);
      default:
        return event.accelerator;
    }
  }

  #ended(issueNumber: number): number {
    const accelerator = this.#issues.get(issueNumber) ?? -1;
    this.#issues.delete(issueNumber);
    return accelerator;
  }

  #moved(transfer: number): number {
    const { destination = -1 } = this.#transfers.get(transfer) ?? {};
    this.#transfers.delete(transfer);
    return destination;
  }
}
