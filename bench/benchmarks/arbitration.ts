/**
 * What an event costs the arbiter: one transfer ends, another intent is raised, who now fits is selected and its receive buffer is
 * reported, and the deadlines are looked at. All the arbiter's work is timed, none of an executor's. Beside the time that passed stands the
 * processor time, which says what an event costs on a machine that does other things as well.
 */
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

interface Kind {
  readonly name: string;
  /** Long against the 4 s after which intents reserve makes every pass look at all of them. */
  readonly transferNs: number;
  /** The end of one transfer in so many is not heard; the deadline frees its ports. 0: none. */
  readonly lostOneIn: number;
}

const KINDS: readonly Kind[] = [
  { name: "young", transferNs: 0.001 * SECONDS, lostOneIn: 0 },
  { name: "reserving", transferNs: 10 * SECONDS, lostOneIn: 0 },
  { name: "faulty", transferNs: 0.001 * SECONDS, lostOneIn: 50 },
];

interface Case {
  readonly accelerators: number;
  readonly pendingIntents: number;
  readonly events: number;
  /** Median of the rounds, and the slowest: how much the machine was disturbed. */
  readonly usPerEvent: number;
  readonly usPerEventMax: number;
  /** Of all rounds together, the engine's own threads included. */
  readonly cpuUsPerEvent: number;
  readonly quarantined: number;
  readonly checksum: number;
}

const ROUNDS = 5;
const EVENTS = 5000;

/** Transfers that overlap and end one after the other, the oldest first; whenever ports are freed another intent is raised. */
class Traffic {
  readonly #arbiter: Arbiter;
  readonly #accelerators: number;
  readonly #kind: Kind;
  readonly #running: number[] = [];
  #head = 0;
  #next = 0;
  #nowNs = 0;
  quarantined = 0;
  checksum = 0;

  constructor(accelerators: number, kind: Kind) {
    this.#accelerators = accelerators;
    this.#kind = kind;
    const deadlineMinNs = kind.lostOneIn === 0 ? Number.MAX_SAFE_INTEGER : 5 * kind.transferNs;
    this.#arbiter = new Arbiter(topology(accelerators), { deadlineMinNs });
    for (let intent = 0; intent < accelerators * INTENTS_EACH; intent++) this.#raise();
    this.#select();
  }

  /** One transfer ends, or one is given up. */
  step(): void {
    const { transferNs, lostOneIn } = this.#kind;
    this.#nowNs += Math.ceil(transferNs / (this.#running.length - this.#head));
    const ended = this.#running[this.#head++];
    if (ended === undefined) throw new Error("nothing runs any more");
    if (lostOneIn === 0 || ended % lostOneIn > 0) {
      this.#arbiter.done(ended, this.#nowNs);
      this.#raise();
    }
    if (this.#arbiter.nextDeadlineNs <= this.#nowNs) {
      for (const { transfer } of this.#arbiter.expire(this.#nowNs)) {
        this.quarantined++;
        this.#arbiter.failed(transfer, this.#nowNs);
        this.#raise();
      }
    }
    this.#select();
  }

  #raise(): void {
    const transfer = this.#next++;
    const source = scrambled(transfer, this.#accelerators);
    const destination = (source + 1 + scrambled(transfer + 1e6, this.#accelerators - 1)) % this.#accelerators;
    const rank = scrambled(transfer + 2e6, 2);
    this.#arbiter.intent({ transfer, source, destination, rank, bytes: 1 }, this.#nowNs);
  }

  #select(): void {
    for (const { transfer } of this.#arbiter.select(this.#nowNs)) {
      this.#arbiter.recvReady(transfer, this.#nowNs);
      this.#running.push(transfer);
      this.checksum = (this.checksum * 31 + transfer) % 1_000_003;
    }
  }

  get pendingIntents(): number {
    return this.#arbiter.transfers().filter(({ state }) => state === "intent").length;
  }
}

function measureOne(accelerators: number, kind: Kind): Case {
  const traffic = new Traffic(accelerators, kind);
  const rounds: number[] = [];
  for (let event = 0; event < EVENTS; event++) traffic.step();
  const cpuBegin = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round++) {
    const begin = performance.now();
    for (let event = 0; event < EVENTS; event++) traffic.step();
    rounds.push(((performance.now() - begin) * 1000) / EVENTS);
  }
  const { user, system } = process.cpuUsage(cpuBegin);
  rounds.sort((a, b) => a - b);
  const [median = Number.NaN, slowest = Number.NaN] = [rounds[ROUNDS >> 1], rounds.at(-1)];
  const { pendingIntents, quarantined, checksum } = traffic;
  const events = ROUNDS * EVENTS;
  return {
    accelerators,
    pendingIntents,
    events,
    usPerEvent: twoDigits(median),
    usPerEventMax: twoDigits(slowest),
    cpuUsPerEvent: twoDigits((user + system) / events),
    quarantined,
    checksum,
  };
}

function twoDigits(us: number): number {
  return Math.round(us * 100) / 100;
}

export const measure: Measure = () => {
  // What runs first would be measured while the engine compiles it.
  for (const kind of KINDS) measureOne(8, kind);
  const measured = KINDS.map((kind) => ({
    name: kind.name,
    points: ACCELERATORS.map((accelerators) => measureOne(accelerators, kind)),
  }));
  const lines = measured.flatMap(({ name, points }) =>
    points.map(({ accelerators, pendingIntents, usPerEvent, usPerEventMax, cpuUsPerEvent, quarantined }) => {
      const given = quarantined === 0 ? "" : `, ${quarantined} quarantined`;
      return `${name}, ${accelerators} accelerators, ${pendingIntents} pending intents${given}: ${usPerEvent} µs per event (slowest round ${usPerEventMax}; processor time ${cpuUsPerEvent})`;
    }),
  );
  const [young, reserving, faulty] = measured;
  return {
    text: lines.join("\n"),
    json: { points: young?.points, reserving: reserving?.points, faulty: faulty?.points },
  };
};
