/**
 * The transfer arbiter alone, without graph, scheduler or executor: who may send to whom, when, over ports and a shared link. Here it
 * moves checkpoint shards between four hosts, two of them behind one uplink, and is compared with first come, first served. `node examples/run.mjs only-the-arbiter` runs it.
 */
import { Arbiter, type Intent, type Topology } from "@slicescheduler/arbitration";

/** Hosts 0 and 1 in one rack, 2 and 3 in another; between the racks one link in each direction, which carries one transfer at a time. */
const topology: Topology = {
  accelerators: 4,
  // Transfers that each host can send at once, and as many that it can receive.
  portCapacity: [1, 1, 2, 2],
  linkCapacity: [1, 1],
  route: (source, destination) => {
    const [from, to] = [source >> 1, destination >> 1];
    if (from === to) return [];
    return [from];
  },
};

const bytesPerNs = 12;

/** A few big shards across the racks, many small ones within them, and an urgent one that comes late. */
export function shards(): (Intent & { readonly atNs: number })[] {
  const list: (Intent & { readonly atNs: number })[] = [];
  const add = (atNs: number, source: number, destination: number, megabytes: number, rank: number) =>
    list.push({ transfer: list.length, atNs, source, destination, bytes: megabytes * 1e6, rank });
  for (let k = 0; k < 4; k++) add(k, 0, 2 + (k % 2), 600, 1);
  for (let k = 0; k < 6; k++) add(10 + k, k % 2, 1 - (k % 2), 60, 1);
  for (let k = 0; k < 6; k++) add(20 + k, 2 + (k % 2), 3 - (k % 2), 60, 1);
  add(20e6, 1, 3, 30, 0);
  return list;
}

export interface Moved {
  readonly transfer: number;
  /** How long it was on its way, from its intent to its end. */
  readonly tookMs: number;
}

/** Plays the transfers through the arbiter. It has no clock and no timer: the caller tells it what happens, and when. */
export function play(intents: readonly (Intent & { readonly atNs: number })[]): { moved: Moved[]; totalMs: number } {
  const arbiter = new Arbiter(topology);
  const moved: Moved[] = [];
  const coming = [...intents].sort((a, b) => a.atNs - b.atNs);
  const ends: { readonly transfer: number; readonly atNs: number }[] = [];
  let nowNs = 0;
  while (coming.length > 0 || ends.length > 0) {
    const intent = coming[0];
    const end = ends[0];
    if (intent !== undefined && (end === undefined || intent.atNs <= end.atNs)) {
      coming.shift();
      nowNs = intent.atNs;
      arbiter.intent(intent, nowNs);
    } else if (end !== undefined) {
      ends.shift();
      nowNs = end.atNs;
      arbiter.done(end.transfer, nowNs);
      const { atNs = 0 } = intents.find(({ transfer }) => transfer === end.transfer) ?? {};
      moved.push({ transfer: end.transfer, tookMs: (nowNs - atNs) / 1e6 });
    }
    // A maximal set of what does not collide, urgent first; whoever has waited long reserves its ports.
    for (const { transfer, bytes } of arbiter.select(nowNs)) {
      arbiter.recvReady(transfer, nowNs);
      ends.push({ transfer, atNs: nowNs + Math.ceil(bytes / bytesPerNs) });
    }
    ends.sort((a, b) => a.atNs - b.atNs || a.transfer - b.transfer);
  }
  arbiter.validate();
  return { moved, totalMs: nowNs / 1e6 };
}

/** The same one after another in the order of their intents: a lock around all transfers, which is where one starts. */
export function oneAfterAnother(intents: readonly (Intent & { readonly atNs: number })[]): { totalMs: number } {
  let nowNs = 0;
  for (const { atNs, bytes } of intents) nowNs = Math.max(nowNs, atNs) + Math.ceil(bytes / bytesPerNs);
  return { totalMs: nowNs / 1e6 };
}

/** What an operator of the system would ask in between: who waits, and for which port. */
export function explainJam(): string {
  const arbiter = new Arbiter(topology);
  for (const { atNs: _, ...intent } of shards().slice(0, 6)) arbiter.intent(intent, 0);
  arbiter.select(0);
  return arbiter.describe(1e6);
}
