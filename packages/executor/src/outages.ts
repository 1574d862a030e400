import type { Cluster, CompiledAccelerator } from "@slicescheduler/templates";
import { ExecutorError } from "./errors.ts";

/** A time during which a virtual accelerator is absent. */
export interface Outage {
  /** Its name, or its index in the cluster. */
  readonly accelerator: string | number;
  /** When it is lost, in nanoseconds of the clock: whole, from 0. */
  readonly lostNs: number;
  /** When it returns, empty: whole, after `lostNs`. Default: never. */
  readonly backNs?: number;
}

/** A loss or a return at its time. */
export interface PresenceChange {
  readonly atNs: number;
  readonly accelerator: number;
  readonly isLoss: boolean;
}

/** What can be told without a cluster. Throws INVALID_OPTION. */
export function checkOutageTimes(outages: readonly Outage[]): void {
  for (const [at, { lostNs, backNs }] of outages.entries()) {
    checkTime(`outages[${at}].lostNs`, lostNs);
    if (backNs === undefined) continue;
    checkTime(`outages[${at}].backNs`, backNs);
    if (backNs <= lostNs)
      refuse(
        `outages[${at}] is back at ${backNs} ns, not after it is lost at ${lostNs} ns; let it begin before it ends`,
      );
  }
}

/**
 * The losses and returns of outages, in the order of their times, then of accelerators. An accelerator that is declared absent
 * is so until its first outage, which begins at 0, ends. Throws INVALID_OPTION; UNKNOWN_ACCELERATOR.
 */
export function changesOf(outages: readonly Outage[], cluster: Cluster, nowNs: number): readonly PresenceChange[] {
  const ofAccelerator = new Map<number, Outage[]>();
  for (const outage of outages) {
    const index = indexOf(cluster, outage.accelerator);
    const others = ofAccelerator.get(index);
    if (others === undefined) ofAccelerator.set(index, [outage]);
    else others.push(outage);
  }
  const changes: PresenceChange[] = [];
  for (const [index, own] of ofAccelerator) {
    const accelerator = cluster.accelerators[index];
    if (accelerator !== undefined) changes.push(...changesAt(accelerator, own, nowNs));
  }
  // Stable: what an accelerator does at one instant, return and be lost again, stays in its order.
  return changes.sort((a, b) => a.atNs - b.atNs || a.accelerator - b.accelerator);
}

function changesAt({ index, name, absent }: CompiledAccelerator, outages: readonly Outage[], nowNs: number) {
  const changes: PresenceChange[] = [];
  let thereNs = nowNs;
  for (const [at, { lostNs, backNs }] of outages.toSorted((a, b) => a.lostNs - b.lostNs).entries()) {
    const isAbsence = absent && at === 0;
    if (isAbsence && lostNs > 0)
      refuse(`accelerator ${name} is absent at first, but its first outage begins at ${lostNs} ns; begin it at 0`);
    const changesNs = isAbsence ? (backNs ?? thereNs) : lostNs;
    if (changesNs < thereNs)
      refuse(
        `outage of ${name} from ${lostNs} to ${backNs ?? "∞"} ns: before ${thereNs} ns the run had not begun or another outage lasted`,
      );
    thereNs = backNs ?? Number.POSITIVE_INFINITY;
    if (!isAbsence) changes.push({ atNs: lostNs, accelerator: index, isLoss: true });
    if (backNs !== undefined) changes.push({ atNs: backNs, accelerator: index, isLoss: false });
  }
  return changes;
}

/** By name or index. Throws UNKNOWN_ACCELERATOR. */
export function indexOf(cluster: Cluster, accelerator: string | number): number {
  const { accelerators } = cluster;
  const found = accelerators.find(({ index, name }) => accelerator === name || accelerator === index);
  if (found !== undefined) return found.index;
  const given = JSON.stringify(accelerator);
  const names = accelerators.map(({ name }) => name).slice(0, NAMES_MAX);
  throw new ExecutorError(
    "UNKNOWN_ACCELERATOR",
    `there is no accelerator ${given} among the cluster's ${accelerators.length}, of which the first are ${names.join(", ")}`,
  );
}

/** As many as a message can bear. */
const NAMES_MAX = 8;

function checkTime(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    refuse(`${name} is ${value}; give whole nanoseconds from 0 to 2^53 − 1`);
}

function refuse(found: string): never {
  throw new ExecutorError("INVALID_OPTION", found);
}
