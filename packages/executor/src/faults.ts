import type { Cluster } from "@slicescheduler/templates";
import { checkMessageFaults, type MessageFaults } from "./faults-messages.ts";
import {
  checkShare,
  checkStrike,
  checkTime,
  type FaultKind,
  FaultTally,
  type FaultyTime,
  isStruck,
  refuse,
  type Strike,
  unitOf,
} from "./faults-strike.ts";
import { indexOf } from "./outages.ts";

/** A link that is slower than its cluster declares. */
export interface SlowLink {
  /** Names or indexes. */
  readonly source: string | number;
  readonly destination: string | number;
  /** What durations are multiplied by, from 1. */
  readonly factor: number;
  readonly fromNs?: number;
  readonly untilNs?: number;
}

/**
 * What goes wrong in a virtual executor, each at its named point and off unless it is given. What is struck depends on the seed and on numbers
 * alone, so that a run repeats. Operators are struck by issue number: one that is tried again is another draw. Crashes and returns of
 * accelerators are `outages`.
 */
export interface VirtualFaults {
  /** Whole number from 0 to 2^53 − 1. Default: the seed of the executor. */
  readonly seed?: number;
  /** The operator does not get its memory as it starts: it fails with the cause `outOfMemory`. By issue number. */
  readonly operatorAllocation?: Strike;
  /** The receive buffer is refused once; asked again, it is there. By transfer number. */
  readonly recvAllocation?: Strike;
  /** The operator starts and fails with the cause `fault`, after `afterShare` of its duration. Tried again, it may succeed. By issue number. */
  readonly operator?: Strike & {
    /** From 0 to 1. Default 1. */
    readonly afterShare?: number;
  };
  /** The data do not arrive: it fails at its end. By transfer number. */
  readonly transfer?: Strike;
  /** It takes so many times as long. By issue number, and by transfer number. */
  readonly operatorStraggles?: Strike & { readonly factor: number };
  readonly transferStraggles?: Strike & { readonly factor: number };
  readonly slowLinks?: readonly SlowLink[];
  /** Every operator that starts there fails with the cause `fault`, and probes tell so. */
  readonly broken?: readonly FaultyTime[];
  /**
   * The device hangs: what runs or moves there then never ends, and probes are not answered. Given up meanwhile, it returns, empty, when it
   * hangs no longer. For a death in silence cut its messages as well.
   */
  readonly hung?: readonly FaultyTime[];
  /** What becomes of events on their way to the master. */
  readonly messages?: MessageFaults;
}

/** Streams of draws, one per named point. Noise has the streams 0 and 1. */
const STREAM: Readonly<Partial<Record<FaultKind, number>>> = {
  operatorAllocation: 16,
  recvAllocation: 17,
  operator: 18,
  transfer: 19,
  operatorStraggles: 20,
  transferStraggles: 21,
};

interface Span {
  readonly fromNs: number;
  readonly untilNs: number;
}

interface Slow extends Span {
  readonly source: number;
  readonly destination: number;
  readonly factor: number;
}

/** The faults of a run on its cluster, asked at each named point. */
export class DeviceFaults {
  readonly tally = new FaultTally();
  readonly #faults: VirtualFaults;
  readonly #seed: number;
  readonly #broken: ReadonlyMap<number, readonly Span[]>;
  readonly #hung: ReadonlyMap<number, readonly Span[]>;
  readonly #slow: readonly Slow[];
  /** Transfers whose receive buffer was refused. */
  readonly #refusedOnce = new Set<number>();

  /** Throws UNKNOWN_ACCELERATOR. */
  constructor(faults: VirtualFaults, seed: number, cluster: Cluster) {
    this.#faults = faults;
    this.#seed = faults.seed ?? seed;
    this.#broken = spansOf(faults.broken ?? [], cluster);
    this.#hung = spansOf(faults.hung ?? [], cluster);
    this.#slow = (faults.slowLinks ?? []).map(({ source, destination, factor, fromNs = 0, untilNs = Infinity }) => ({
      source: indexOf(cluster, source),
      destination: indexOf(cluster, destination),
      factor,
      fromNs,
      untilNs,
    }));
  }

  /** Why the operator fails as it starts, or after a share of its duration; null when it does not. */
  operatorFails(issueNumber: number, accelerator: number, nowNs: number): OperatorFault | null {
    if (this.#strikes("operatorAllocation", issueNumber))
      return { cause: "outOfMemory", afterShare: 0, reason: "a declared fault: its memory was refused" };
    if (isWithin(this.#broken.get(accelerator), nowNs, nowNs)) {
      this.tally.count("broken");
      return { cause: "fault", afterShare: 0, reason: "a declared fault: the accelerator is broken" };
    }
    if (!this.#strikes("operator", issueNumber)) return null;
    return { cause: "fault", afterShare: this.#faults.operator?.afterShare ?? 1, reason: "a declared fault" };
  }

  recvFails(transfer: number): boolean {
    if (this.#refusedOnce.has(transfer) || !this.#strikes("recvAllocation", transfer)) return false;
    this.#refusedOnce.add(transfer);
    return true;
  }

  transferFails(transfer: number): boolean {
    return this.#strikes("transfer", transfer);
  }

  operatorFactor(issueNumber: number): number {
    return this.#strikes("operatorStraggles", issueNumber) ? (this.#faults.operatorStraggles?.factor ?? 1) : 1;
  }

  transferFactor(transfer: number, source: number, destination: number, nowNs: number): number {
    let factor = this.#strikes("transferStraggles", transfer) ? (this.#faults.transferStraggles?.factor ?? 1) : 1;
    for (const slow of this.#slow) {
      if (slow.source !== source || slow.destination !== destination || !isWithin([slow], nowNs, nowNs)) continue;
      this.tally.count("slowLinks");
      factor *= slow.factor;
    }
    return factor;
  }

  /** Whether what lasts from one time to another on an accelerator never ends. */
  hangs(accelerator: number, fromNs: number, toNs: number): boolean {
    const hangs = isWithin(this.#hung.get(accelerator), fromNs, toNs);
    if (hangs) this.tally.count("hung");
    return hangs;
  }

  /** What a probe finds now; null when it finds nobody. */
  probe(accelerator: number, nowNs: number): "healthy" | "broken" | null {
    if (isWithin(this.#hung.get(accelerator), nowNs, nowNs)) return null;
    return isWithin(this.#broken.get(accelerator), nowNs, nowNs) ? "broken" : "healthy";
  }

  /** From when on it is in order again; Infinity for never. */
  soundNs(accelerator: number, nowNs: number): number {
    let atNs = nowNs;
    for (const { fromNs, untilNs } of [
      ...(this.#hung.get(accelerator) ?? []),
      ...(this.#broken.get(accelerator) ?? []),
    ].sort((a, b) => a.fromNs - b.fromNs))
      if (fromNs <= atNs && atNs < untilNs) atNs = untilNs;
    return atNs;
  }

  #strikes(
    kind: "operatorAllocation" | "recvAllocation" | "operator" | "transfer" | "operatorStraggles" | "transferStraggles",
    number: number,
  ): boolean {
    const struck = isStruck(this.#faults[kind], () => unitOf(this.#seed, STREAM[kind] ?? 0, number), number);
    if (struck) this.tally.count(kind);
    return struck;
  }
}

export interface OperatorFault {
  readonly cause: "outOfMemory" | "fault";
  readonly afterShare: number;
  readonly reason: string;
}

function spansOf(times: readonly FaultyTime[], cluster: Cluster): Map<number, Span[]> {
  const spans = new Map<number, Span[]>();
  for (const { accelerator, fromNs, untilNs = Number.POSITIVE_INFINITY } of times) {
    const index = indexOf(cluster, accelerator);
    spans.set(index, [...(spans.get(index) ?? []), { fromNs, untilNs }]);
  }
  return spans;
}

function isWithin(spans: readonly Span[] | undefined, fromNs: number, toNs: number): boolean {
  return spans?.some((span) => span.fromNs <= toNs && fromNs < span.untilNs) ?? false;
}

/** What can be told without a cluster. Throws INVALID_OPTION. */
export function checkFaults(faults: VirtualFaults): void {
  const { seed = 0, operatorStraggles, transferStraggles, slowLinks = [], broken = [], hung = [] } = faults;
  if (!Number.isSafeInteger(seed) || seed < 0) refuse("seed", seed, "a whole number from 0 to 2^53 − 1");
  for (const name of ["operatorAllocation", "recvAllocation", "operator", "transfer"] as const)
    checkStrike(name, faults[name]);
  checkStrike("operatorStraggles", operatorStraggles);
  checkStrike("transferStraggles", transferStraggles);
  checkShare("operator.afterShare", faults.operator?.afterShare ?? 1);
  checkFactor("operatorStraggles.factor", operatorStraggles?.factor ?? 1);
  checkFactor("transferStraggles.factor", transferStraggles?.factor ?? 1);
  for (const [at, { factor, fromNs = 0, untilNs }] of slowLinks.entries()) {
    checkFactor(`slowLinks[${at}].factor`, factor);
    checkTime(`slowLinks[${at}]`, fromNs, untilNs);
  }
  for (const [at, { fromNs, untilNs }] of broken.entries()) checkTime(`broken[${at}]`, fromNs, untilNs);
  for (const [at, { fromNs, untilNs }] of hung.entries()) checkTime(`hung[${at}]`, fromNs, untilNs);
  checkMessageFaults(faults.messages ?? {});
}

function checkFactor(name: string, factor: number): void {
  if (!(factor >= 1 && factor < Number.POSITIVE_INFINITY)) refuse(name, factor, "a factor from 1");
}
