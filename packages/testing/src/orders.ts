/**
 * All orders of a few small instances, one after the other: what memory safety means, computed the slow way. The rules are those
 * of docs/execution-model.md, but any operator whose inputs are there may start next, and anything may end next.
 */
import type { Binding, Cluster, CompiledPartition } from "@slicescheduler/gmg";
import { layOut, type Step, type StoredCopy } from "./orders-layout.ts";

/** An instance of a search, laid on its partition. */
export interface SearchedInstance {
  readonly binding: Binding;
  readonly partition: CompiledPartition;
  /** Per input slot, an output of an operator of another instance, by its index in the list; null where it is not bound. */
  readonly inputs: readonly ({
    readonly instance: number;
    readonly operator: number;
    readonly output: number;
  } | null)[];
}

/** `live`: all of its operators are issued; `absent`: not submitted yet, what it will read is retained for it. */
export type SearchedState = "absent" | "live" | "done";

/** States looked at before a search gives up. */
const STATES_MAX = 300_000;
/** States are numbered in base 3, exactly. */
const STEPS_MAX = 33;

/**
 * Per accelerator, the most bytes that buffers and workspace take at once in any order and any timing, beside baseline and weights.
 * Null when there are too many states to look at all of them: more than 300,000, or more than 33 operators and transfers.
 */
export function peakOverOrders(
  cluster: Cluster,
  instances: readonly SearchedInstance[],
  states: readonly SearchedState[],
): number[] | null {
  const { steps, copies } = layOut(cluster, instances, states);
  if (steps.length > STEPS_MAX) return null;
  const accelerators = cluster.accelerators.length;
  const room: Scratch = {
    usedBytes: new Float64Array(accelerators),
    bufferBytes: new Float64Array(copies.length),
    isNeededBuffer: new Uint8Array(copies.length),
    peakBytes: new Float64Array(accelerators),
  };
  const weights = steps.map((_, index) => 3 ** index);
  const seen = new Set([0]);
  const pending: Uint8Array[] = [new Uint8Array(steps.length)];
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (seen.size > STATES_MAX) return null;
    measure(steps, copies, state, room);
    let number = 0;
    for (let s = 0; s < state.length; s++) number += (state[s] as number) * (weights[s] as number);
    for (let s = 0; s < state.length; s++) {
      if (!canMove(cluster, steps, copies, state, s)) continue;
      const next = number + (weights[s] as number);
      if (seen.has(next)) continue;
      seen.add(next);
      const moved = state.slice();
      moved[s] = (moved[s] as number) + 1;
      pending.push(moved);
    }
  }
  return [...room.peakBytes];
}

const WAITING = 0;
const RUNNING = 1;
const DONE = 2;

/** Whether the step may begin or end next. */
function canMove(
  cluster: Cluster,
  steps: readonly Step[],
  copies: readonly StoredCopy[],
  state: Uint8Array,
  index: number,
): boolean {
  const step = steps[index] as Step;
  if (state[index] !== WAITING) return state[index] === RUNNING;
  for (const copy of step.reads) {
    const { writer } = copies[copy] as StoredCopy;
    if (writer >= 0 && state[writer] !== DONE) return false;
  }
  let [beside, leaving, arriving] = [0, 0, 0];
  for (let other = 0; other < state.length; other++) {
    const it = steps[other] as Step;
    if (state[other] !== RUNNING || it.isTransfer !== step.isTransfer) continue;
    if (it.accelerator === step.accelerator) beside += 1;
    if (it.source === step.source) leaving += 1;
    if (it.accelerator === step.accelerator) arriving += 1;
  }
  if (!step.isTransfer) return beside === 0;
  const engines = (accelerator: number) => cluster.accelerators[accelerator]?.copyEngines ?? 1;
  return leaving < engines(step.source) && arriving < engines(step.accelerator);
}

/** Raises the peaks to what is in use in this state. */
function measure(steps: readonly Step[], copies: readonly StoredCopy[], state: Uint8Array, room: Scratch): void {
  const { usedBytes, bufferBytes, isNeededBuffer, peakBytes } = room;
  usedBytes.fill(0);
  bufferBytes.fill(0);
  isNeededBuffer.fill(0);
  for (const copy of copies) {
    if (copy.writer >= 0 && state[copy.writer] === WAITING) continue;
    const { buffer, bytes } = copy;
    if (bytes > (bufferBytes[buffer] as number)) bufferBytes[buffer] = bytes;
    if (isNeeded(copy, state)) isNeededBuffer[buffer] = 1;
  }
  for (let buffer = 0; buffer < copies.length; buffer++) {
    if (isNeededBuffer[buffer] === 0) continue;
    const { accelerator } = copies[buffer] as StoredCopy;
    usedBytes[accelerator] = (usedBytes[accelerator] as number) + (bufferBytes[buffer] as number);
  }
  for (let s = 0; s < state.length; s++) {
    if (state[s] !== RUNNING) continue;
    const { accelerator, workspaceBytes } = steps[s] as Step;
    usedBytes[accelerator] = (usedBytes[accelerator] as number) + workspaceBytes;
  }
  for (let a = 0; a < peakBytes.length; a++) peakBytes[a] = Math.max(peakBytes[a] as number, usedBytes[a] as number);
}

/** By buffer (the index of its first copy): the largest copy written into it so far, and whether anything in it is needed. */
interface Scratch {
  readonly usedBytes: Float64Array;
  readonly bufferBytes: Float64Array;
  readonly isNeededBuffer: Uint8Array;
  readonly peakBytes: Float64Array;
}

function isNeeded({ writer, readers, heldUntil, awaited }: StoredCopy, state: Uint8Array): boolean {
  if (awaited || (writer >= 0 && state[writer] === RUNNING)) return true;
  for (const reader of readers) if (state[reader] !== DONE) return true;
  for (const step of heldUntil) if (state[step] !== DONE) return true;
  return false;
}

/**
 * Whether requests, each a sequence of instances of which so many have ended, can all come to their end, one instance at a time
 * in some order, without ever passing `roomBytes` in any order of what runs. Null when a search gave up.
 */
export function canAllEnd(
  cluster: Cluster,
  instances: readonly SearchedInstance[],
  requests: readonly (readonly number[])[],
  ended: readonly number[],
  roomBytes: readonly number[],
): boolean | null {
  const known = new Map<string, boolean | null>();
  const search = (counts: readonly number[]): boolean | null => {
    const key = counts.join();
    const before = known.get(key);
    if (before !== undefined) return before;
    let answer: boolean | null = counts.every((count, r) => count === requests[r]?.length);
    for (const [r, members] of requests.entries()) {
      const next = members[counts[r] as number];
      if (answer === true || next === undefined) continue;
      const states = instances.map((_, i): SearchedState => (isEnded(requests, counts, i) ? "done" : "absent"));
      states[next] = "live";
      const peaks = peakOverOrders(cluster, instances, states);
      if (peaks === null) answer = null;
      else if (fits(peaks, roomBytes))
        answer = search(counts.map((count, other) => count + (other === r ? 1 : 0))) ?? answer;
    }
    known.set(key, answer);
    return answer;
  };
  return search(ended);
}

export function fits(peaks: readonly number[], roomBytes: readonly number[]): boolean {
  return peaks.every((bytes, a) => bytes <= (roomBytes[a] ?? 0));
}

function isEnded(requests: readonly (readonly number[])[], counts: readonly number[], instance: number): boolean {
  return requests.some((members, r) => members.slice(0, counts[r]).includes(instance));
}
