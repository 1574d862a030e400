import type { HbmSteps } from "../run-record.ts";
import { GrowingTable } from "./growing-table.ts";

/** Where the bytes in use are read. */
export interface HbmAccount {
  /** By index of the accelerator. */
  usedHbmBytes(accelerator: number): number;
}

interface Lane {
  readonly steps: GrowingTable<"atNs" | "usedBytes">;
  atNs: number;
  usedBytes: number;
  peakBytes: number;
}

/** HBM in use per accelerator, a step for each change; of the states within one instant the last. */
export class HbmBook {
  readonly #lanes: readonly Lane[];
  #account: HbmAccount | null = null;

  /** @param stepsMax Per accelerator. */
  constructor(accelerators: number, stepsMax: number) {
    this.#lanes = Array.from({ length: accelerators }, () => ({
      steps: new GrowingTable<"atNs" | "usedBytes">(["atNs", "usedBytes"], stepsMax),
      atNs: Number.NEGATIVE_INFINITY,
      usedBytes: Number.NaN,
      peakBytes: 0,
    }));
  }

  get dropped(): number {
    return this.#lanes.reduce((sum, { steps }) => sum + steps.dropped, 0);
  }

  read(account: HbmAccount, atNs: number): void {
    this.#account = account;
    this.sampleAll(atNs);
  }

  sampleAll(atNs: number): void {
    const account = this.#account;
    if (account === null) return;
    for (let accelerator = 0; accelerator < this.#lanes.length; accelerator++) {
      const lane = this.#lanes[accelerator] as Lane;
      const usedBytes = account.usedHbmBytes(accelerator);
      if (usedBytes !== lane.usedBytes) this.#step(lane, usedBytes, atNs);
    }
  }

  #step(lane: Lane, usedBytes: number, atNs: number): void {
    lane.usedBytes = usedBytes;
    if (usedBytes > lane.peakBytes) lane.peakBytes = usedBytes;
    // What is told of late is not put before what is known already.
    const isLater = atNs > lane.atNs;
    if (isLater) lane.atNs = atNs;
    const row = isLater ? lane.steps.add() : lane.steps.dropped + lane.steps.count - 1;
    lane.steps.set(row, "atNs", lane.atNs);
    lane.steps.set(row, "usedBytes", usedBytes);
  }

  columns(): HbmSteps[] {
    return this.#lanes.map(({ steps, peakBytes }) => ({
      count: steps.count,
      atNs: steps.column("atNs"),
      usedBytes: steps.column("usedBytes"),
      peakBytes,
    }));
  }
}
