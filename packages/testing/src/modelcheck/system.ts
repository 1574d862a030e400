/** What is searched: states as tuples of small numbers, and the moves from each. */
import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import type { MasterCore, MasterEvent } from "slicescheduler";
import type { Violation } from "../violation.ts";
import type { Device } from "./device.ts";
import type { DeviceMove } from "./executor-machine.ts";

/** Who does something: the application or the devices do it by themselves, a message arrives. */
export type Cause =
  | { readonly type: "asks"; readonly events: readonly MasterEvent[] }
  | { readonly type: "hears"; readonly event: ExecutorEvent }
  | { readonly type: "takes"; readonly instructions: readonly ExecutorInstruction[] }
  | DeviceMove;

/** A move, and what it made master and executor say. */
export interface Happening {
  readonly cause: Cause;
  readonly effects: readonly (ExecutorEvent | ExecutorInstruction)[];
}

export interface Move extends Happening {
  /** Null when it broke something. */
  readonly next: readonly number[] | null;
  readonly violation: Violation | null;
}

export interface System {
  /** Numbers in a state. */
  readonly width: number;
  readonly first: readonly number[];
  /** Every move from a state. */
  movesFrom(state: readonly number[]): readonly Move[];
  /** What is wrong with a state in which nothing but faults and cancels can happen any more; null when everything has come to its end. */
  whatIsLeft(state: readonly number[]): Violation | null;
  /** Holds second ways to states of the machines against the first. Null when they do not differ. */
  compare(): Violation | null;
  /** The real machines in a state. */
  lookAt(state: readonly number[]): Look;
  counts(): SystemCounts;
}

export interface Look {
  readonly master: MasterCore;
  readonly device: Device;
  /** Messages under way. */
  readonly instructions: readonly ExecutorInstruction[];
  readonly events: readonly ExecutorEvent[];
}

export interface SystemCounts {
  /** States of the real machines, and inputs given to them, those included that only repeat a way. */
  readonly machineStates: number;
  readonly machineSteps: number;
  readonly machineInputs: number;
  /** Second ways to a machine's state that were held against the first. */
  readonly compared: number;
}

/** Every way to choose: `run` tells between how many it had to choose each time, given what to pick. */
export function everyChoice<Result extends { readonly choices: readonly number[] }>(
  run: (picks: readonly number[]) => Result,
): Result[] {
  const results: Result[] = [];
  const pending: (readonly number[])[] = [[]];
  for (let picks = pending.pop(); picks !== undefined; picks = pending.pop()) {
    const result = run(picks);
    results.push(result);
    for (let at = picks.length; at < result.choices.length; at++) {
      const before = [...picks, ...new Array<number>(at - picks.length).fill(0)];
      for (let pick = 1; pick < (result.choices[at] ?? 0); pick++) pending.push([...before, pick]);
    }
  }
  return results;
}

/** Instances with an outcome of some kind, where everything has come to its end. */
export function outcomesLeft(outcomes: readonly unknown[], scripted: number): Violation | null {
  for (let instance = 0; instance < scripted; instance++) {
    const outcome = outcomes[instance];
    if (outcome === undefined || outcome === "live")
      return {
        kind: "standstills",
        words: `nothing moves any more, and instance ${instance} has no outcome`,
        amount: 1,
      };
  }
  return null;
}
