/**
 * The event loop: docs/execution-model.md, sections "Events", "Transfers" and "Memory", on the records of nodes.ts. Operators
 * and transfers go the same way: a node starts and takes its memory; when it ends, the copies it used or sent are needed once less,
 * its own copy is there, and who missed nothing else becomes ready, or an intent. It allocates nothing while it runs,
 * except that the queue of intents doubles when more are pending than ever before.
 */
import {
  ACCELERATOR,
  BYTES,
  DONE,
  DURATION,
  HELD,
  INPUTS,
  MISSING,
  MISSING_ALL,
  MORE,
  NEED,
  NEED_ALL,
  PLACE,
  SHARED,
  SUCCESSORS,
  TARGET,
  TRANSFER,
  WORKSPACE,
} from "./nodes.ts";
import { NOW, type Run, TARGETS_DONE, TURNS } from "./run.ts";
import { noteRaised, noteSelected } from "./turns.ts";

const NONE = -1;

/**
 * Runs to the end, the first allocation that does not fit, or until the score must be above `abandonAboveScore`; true when abandoned.
 * @param abandonAboveScore `Infinity` for never.
 */
export function advance(run: Run, abandonAboveScore: number): boolean {
  const { events, nodes, planned, running, usedBytes, ready, clock } = run;
  const { f64, i32 } = nodes;
  const { intents, beginNs } = planned;
  const bounded = abandonAboveScore < Number.POSITIVE_INFINITY;
  while (events.size > 0) {
    const node = events.pop();
    const at = node << 4;
    const place = i32[at + PLACE] as number;
    const accelerator = place & ACCELERATOR;
    const nowNs = f64[(node << 3) + DONE] as number;
    clock[NOW] = nowNs;
    const inputs = i32[at + INPUTS] as number;
    if (inputs >= 0) {
      const need = (i32[(inputs << 4) + NEED] as number) - 1;
      if (need > 0) i32[(inputs << 4) + NEED] = need;
      else {
        i32[(inputs << 4) + NEED] = i32[(inputs << 4) + NEED_ALL] as number;
        const from = i32[(inputs << 4) + PLACE] as number;
        if ((from & (HELD | SHARED)) !== 0) free(run, inputs);
        else {
          const source = from & ACCELERATOR;
          usedBytes[source] = (usedBytes[source] as number) - (f64[(inputs << 3) + BYTES] as number);
        }
      }
    } else if (inputs < NONE) releaseAll(run, inputs);
    if ((place & TRANSFER) === 0) {
      running[accelerator] = NONE;
      usedBytes[accelerator] = (usedBytes[accelerator] as number) - (f64[(node << 3) + WORKSPACE] as number);
      run.operatorsDone++;
      if ((place & TARGET) !== 0) {
        run.targetsLeft--;
        clock[TARGETS_DONE] = (clock[TARGETS_DONE] as number) + (nowNs - beginNs);
      }
    } else intents.release((i32[(inputs << 4) + PLACE] as number) & ACCELERATOR, accelerator);
    if (i32[at + NEED_ALL] === 0) free(run, node);
    const more = i32[at + MORE] as number;
    const successors = i32[at + SUCCESSORS] as number;
    if (more !== NONE) freeMore(run, more);
    if (run.keepsTimeline) sampleEnd(run, place, inputs);
    // A single successor of a single copy often goes on at once, without waiting in any queue.
    let next = NONE;
    if (more !== NONE) arrivedMore(run, successors, more);
    else if (successors >= 0) next = arrivedAtOne(run, successors);
    else if (successors < NONE) arrivedAtAll(run, successors);
    if (run.raisedAlone !== NONE) {
      goAlone(run, run.raisedAlone);
      run.raisedAlone = NONE;
    }
    if (intents.size > 0) selectTransfers(run);
    if (run.failedAccelerator !== NONE) return false;
    if (running[accelerator] === NONE) {
      if (!ready.isEmpty(accelerator)) {
        if (next !== NONE) queueReady(run, accelerator, next);
        next = ready.pop(accelerator);
      }
      if (next !== NONE && !start(run, next)) return false;
    } else if (next !== NONE) queueReady(run, accelerator, next);
    if (bounded && scoreBound(run) > abandonAboveScore) return true;
  }
  return false;
}

/** No target that has not ended can end before now. Equals the score once all have ended; NaN without targets. */
export function scoreBound(run: Run): number {
  const { beginNs } = run.planned;
  return beginNs + ((run.clock[TARGETS_DONE] as number) + run.targetsLeft * (run.nowNs - beginNs)) / run.targets;
}

/** A copy is needed once less. */
function release(run: Run, node: number): void {
  const { i32 } = run.nodes;
  const at = (node << 4) + NEED;
  const need = (i32[at] as number) - 1;
  if (need > 0) {
    i32[at] = need;
    return;
  }
  i32[at] = i32[(node << 4) + NEED_ALL] as number;
  free(run, node);
}

function releaseAll(run: Run, list: number): void {
  const { edges } = run.nodes;
  const last = -2 - list;
  let edge = last;
  do {
    edge = edges[2 * edge + 1] as number;
    release(run, edges[2 * edge] as number);
  } while (edge !== last);
}

/** Nothing needs a copy any more, unless the master holds it. */
function free(run: Run, node: number): void {
  const { i32, f64 } = run.nodes;
  const place = i32[(node << 4) + PLACE] as number;
  if ((place & (HELD | SHARED)) !== 0) {
    if ((place & HELD) === 0) freeShared(run, node, place & ACCELERATOR);
    return;
  }
  const accelerator = place & ACCELERATOR;
  run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) - (f64[(node << 3) + BYTES] as number);
}

function freeMore(run: Run, first: number): void {
  const { i32 } = run.nodes;
  for (let node = first; node !== NONE; node = i32[(node << 4) + MORE] as number)
    if (i32[(node << 4) + NEED_ALL] === 0) free(run, node);
}

/** The copy that a single node misses is there. Returns an operator that is ready by that; a transfer is started, or an intent. */
function arrivedAtOne(run: Run, node: number): number {
  const { i32 } = run.nodes;
  const at = node << 4;
  const missing = (i32[at + MISSING] as number) - 1;
  i32[at + MISSING] = missing;
  if (missing > 0) return NONE;
  const place = i32[at + PLACE] as number;
  if ((place & TRANSFER) === 0) return node;
  goAlone(run, node);
  return NONE;
}

/** A transfer is raised and nothing else is by the same event: if nothing is pending either, it needs no queue. */
function goAlone(run: Run, node: number): void {
  const { i32 } = run.nodes;
  const { intents } = run.planned;
  const destination = (i32[(node << 4) + PLACE] as number) & ACCELERATOR;
  const source = (i32[((i32[(node << 4) + INPUTS] as number) << 4) + PLACE] as number) & ACCELERATOR;
  if (intents.selectAlone(source, destination)) start(run, node);
  else raise(run, node, run.clock[NOW] as number);
}

/** The copy that a list of nodes misses is there. */
function arrivedAtAll(run: Run, list: number): void {
  if (list >= 0) {
    arrived(run, list);
    return;
  }
  const { edges } = run.nodes;
  const last = -2 - list;
  let edge = last;
  do {
    edge = edges[2 * edge + 1] as number;
    arrived(run, edges[2 * edge] as number);
  } while (edge !== last);
}

/** All outputs of an operator are there. */
function arrivedMore(run: Run, successors: number, first: number): void {
  const { i32 } = run.nodes;
  if (successors !== NONE) arrivedAtAll(run, successors);
  for (let node = first; node !== NONE; node = i32[(node << 4) + MORE] as number) {
    const list = i32[(node << 4) + SUCCESSORS] as number;
    if (list !== NONE) arrivedAtAll(run, list);
  }
}

function arrived(run: Run, node: number): void {
  const { i32 } = run.nodes;
  const at = node << 4;
  const missing = (i32[at + MISSING] as number) - 1;
  i32[at + MISSING] = missing;
  if (missing > 0) return;
  const place = i32[at + PLACE] as number;
  if ((place & TRANSFER) === 0) queueReady(run, place & ACCELERATOR, node);
  else if (run.raisedAlone === NONE && run.planned.intents.size === 0) run.raisedAlone = node;
  else {
    raiseAlone(run);
    raise(run, node, run.clock[NOW] as number);
  }
}

/** Another is raised by the same event: both have to be selected together. */
function raiseAlone(run: Run): void {
  if (run.raisedAlone === NONE) return;
  raise(run, run.raisedAlone, run.clock[NOW] as number);
  run.raisedAlone = NONE;
}

function queueReady(run: Run, accelerator: number, node: number): void {
  run.nodes.f64[(node << 3) + DONE] = run.clock[NOW] as number;
  run.ready.push(accelerator, node);
}

/** A transfer becomes an intent. */
export function raise(run: Run, node: number, sinceNs: number): void {
  const { i32 } = run.nodes;
  const source = (i32[((i32[(node << 4) + INPUTS] as number) << 4) + PLACE] as number) & ACCELERATOR;
  const destination = (i32[(node << 4) + PLACE] as number) & ACCELERATOR;
  noteRaised(run, node, sinceNs);
  run.planned.intents.add(node, source, destination, run.planned.rank[node] as number, sinceNs);
}

export function selectTransfers(run: Run): void {
  const { intents } = run.planned;
  const count = intents.select(run.nowNs);
  if (run.nowNs >= (run.clock[TURNS] as number)) noteSelected(run, count);
  for (let at = 0; at < count; at++) if (!start(run, intents.selected[at] as number)) return;
}

/** An operator or a transfer takes its memory and goes. False when it does not fit, which ends the run. */
export function start(run: Run, node: number): boolean {
  const { i32, f64 } = run.nodes;
  const at = node << 4;
  const record = node << 3;
  const place = i32[at + PLACE] as number;
  const accelerator = place & ACCELERATOR;
  i32[at + MISSING] = i32[at + MISSING_ALL] as number;
  let bytes = (f64[record + BYTES] as number) + (f64[record + WORKSPACE] as number);
  if ((place & SHARED) !== 0 || i32[at + MORE] !== NONE) bytes = addedBytes(run, node);
  const usedBytes = (run.usedBytes[accelerator] as number) + bytes;
  run.usedBytes[accelerator] = usedBytes;
  if (usedBytes > (run.peakBytes[accelerator] as number)) {
    if (usedBytes > (run.planned.capacityBytes[accelerator] as number)) {
      run.failedAccelerator = accelerator;
      run.failedNode = node;
      return false;
    }
    run.peakBytes[accelerator] = usedBytes;
  }
  if (run.keepsTimeline) run.sample(accelerator);
  const durationNs = f64[record + DURATION] as number;
  f64[record + DONE] = (run.clock[NOW] as number) + durationNs;
  if ((place & TRANSFER) === 0) {
    run.running[accelerator] = node;
    run.busyNs[accelerator] = (run.busyNs[accelerator] as number) + durationNs;
  }
  run.events.insert(node);
  return true;
}

/** What an operator with several outputs, or a copy in a shared buffer, takes at its start. */
function addedBytes(run: Run, node: number): number {
  const { i32, f64 } = run.nodes;
  let bytes = f64[(node << 3) + WORKSPACE] as number;
  for (let copy = node; copy !== NONE; copy = i32[(copy << 4) + MORE] as number) {
    const ownBytes = f64[(copy << 3) + BYTES] as number;
    bytes += ((i32[(copy << 4) + PLACE] as number) & SHARED) === 0 ? ownBytes : enterShared(run, copy, ownBytes);
  }
  return bytes;
}

/** A copy begins or continues a shared buffer, and grows it to its own size. Returns the bytes added. */
function enterShared(run: Run, node: number, bytes: number): number {
  const buffer = loadedBuffer(run, node);
  const beforeBytes = run.bufferBytes[buffer] as number;
  run.bufferCopies[buffer] = (run.bufferCopies[buffer] as number) + 1;
  if (bytes <= beforeBytes) return 0;
  run.bufferBytes[buffer] = bytes;
  return bytes - beforeBytes;
}

function freeShared(run: Run, node: number, accelerator: number): void {
  const buffer = loadedBuffer(run, node);
  const copies = (run.bufferCopies[buffer] as number) - 1;
  run.bufferCopies[buffer] = copies;
  if (copies > 0) return;
  run.usedBytes[accelerator] = (run.usedBytes[accelerator] as number) - (run.bufferBytes[buffer] as number);
}

/** The shared buffer of a copy; the first touch in a run sets it to what it is at begin. */
function loadedBuffer(run: Run, node: number): number {
  const { planned } = run;
  const buffer = planned.bufferOf[node] as number;
  if (run.bufferLoad[buffer] !== run.load) {
    run.bufferLoad[buffer] = run.load;
    run.bufferBytes[buffer] = planned.bufferBytes[buffer] as number;
    run.bufferCopies[buffer] = planned.bufferCopies[buffer] as number;
  }
  return buffer;
}

function sampleEnd(run: Run, place: number, inputs: number): void {
  const { i32 } = run.nodes;
  if ((place & TRANSFER) !== 0) run.sample((i32[(inputs << 4) + PLACE] as number) & ACCELERATOR);
  run.sample(place & ACCELERATOR);
}
