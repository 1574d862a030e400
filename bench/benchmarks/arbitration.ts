/** What an event costs the arbiter: one transfer ends, another intent is raised, and who now fits is selected. */
import { Arbiter, type Topology } from "@slicescheduler/arbitration";
import type { Measure } from "../measurement.ts";

const ACCELERATORS = [8, 64, 1024];
const INTENTS_EACH = 10;
/** Accelerators that share one link to the rest: a node and its network card. */
const NODE = 8;
const SECONDS = 1e9;

/** Transfers within a node take no link; others take the network card of the source's node and that of the destination's. */
function topology(accelerators: number): Topology {
  const nodes = accelerators / NODE;
  return {
    accelerators,
    portCapacity: new Array<number>(accelerators).fill(1),
    linkCapacity: new Array<number>(2 * nodes).fill(4),
    route(source, destination) {
      const from = Math.floor(source / NODE);
      const to = Math.floor(destination / NODE);
      return from === to ? [] : [from, nodes + to];
    },
  };
}

/** A whole number below `below` that looks random: murmur3's finaliser. */
function scrambled(value: number, below: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % below;
}

interface Case {
  readonly accelerators: number;
  readonly pendingIntents: number;
  readonly events: number;
  readonly usPerEvent: number;
}

/** `transferNs` long enough against the 4 s after which intents reserve makes every pass look at all of them. */
function measureOne(accelerators: number, transferNs: number): Case & { checksum: number } {
  const arbiter = new Arbiter(topology(accelerators));
  const running: number[] = [];
  let next = 0;
  let head = 0;
  let nowNs = 0;
  let checksum = 0;
  const raise = () => {
    const source = scrambled(next, accelerators);
    const destination = (source + 1 + scrambled(next + 1e6, accelerators - 1)) % accelerators;
    arbiter.intent({ transfer: next, source, destination, rank: scrambled(next + 2e6, 2), bytes: 1 }, nowNs);
    next++;
  };
  const select = () => {
    for (const { transfer } of arbiter.select(nowNs)) {
      arbiter.recvReady(transfer, nowNs);
      running.push(transfer);
      checksum = (checksum * 31 + transfer) % 1_000_003;
    }
  };
  for (let intent = 0; intent < accelerators * INTENTS_EACH; intent++) raise();
  select();
  const step = () => {
    // Transfers overlap: one ends each 1/running-th of a transfer's duration, the oldest first.
    nowNs += Math.ceil(transferNs / (running.length - head));
    const ended = running[head++];
    if (ended === undefined) throw new Error("nothing runs any more");
    arbiter.done(ended, nowNs);
    raise();
    select();
  };
  const events = 20_000;
  for (let event = 0; event < events / 4; event++) step();
  const begin = performance.now();
  for (let event = 0; event < events; event++) step();
  const usPerEvent = ((performance.now() - begin) * 1000) / events;
  const pendingIntents = arbiter.transfers().filter(({ state }) => state === "intent").length;
  return { accelerators, pendingIntents, events, usPerEvent: Math.round(usPerEvent * 100) / 100, checksum };
}

export const measure: Measure = () => {
  const points = ACCELERATORS.map((accelerators) => measureOne(accelerators, 0.001 * SECONDS));
  const aged = ACCELERATORS.map((accelerators) => measureOne(accelerators, 10 * SECONDS));
  const line = (kind: string, { accelerators, pendingIntents, usPerEvent }: Case) =>
    `${kind}, ${accelerators} accelerators, ${pendingIntents} pending intents: ${usPerEvent} µs per event`;
  const lines = [...points.map((it) => line("young", it)), ...aged.map((it) => line("reserving", it))];
  return { text: lines.join("\n"), json: { points, reserving: aged } };
};
