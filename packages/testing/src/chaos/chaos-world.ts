import type { MessageFaults, Outage, VirtualFaults } from "@slicescheduler/executor";
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";
import type { Durations } from "../durations.ts";
import { unitOf } from "../hash.ts";
import type { RunOptions } from "../run-workload.ts";
import { safetyWorld } from "../safety-world.ts";
import type { Workload } from "../workloads.ts";

/** A nanosecond of the small worlds of this package is so long here: operators take tenths of seconds. */
const SCALE = 1e7;

const SECOND_NS = 1e9;

/** About how long a world is under load. */
const LOAD_NS = 150 * SECOND_NS;

/** How often the small workload comes at least, one behind the other. */
const REPEATS_MIN = 4;

/** From one coming to the next at least; its own instances come within this time, or a little more. */
const PERIOD_NS_MIN = 4 * SECOND_NS;

/** How long it takes to put a dead accelerator right. */
const REPAIR_NS = 40 * SECOND_NS;

/** The names of what may go wrong in a world of chaos; each world has some of them. */
export const CHAOS_KINDS = [
  "operator",
  "operatorAllocation",
  "recvAllocation",
  "transfer",
  "operatorStraggles",
  "transferStraggles",
  "slowLinks",
  "broken",
  "hung",
  "silent",
  "outage",
  "lost",
  "late",
  "doubled",
  "reordered",
] as const;

export type ChaosKind = (typeof CHAOS_KINDS)[number];

export interface ChaosWorld extends RunOptions {
  readonly kinds: readonly ChaosKind[];
  /** How long after a loss the application resumes the accelerator. */
  readonly resumeAfterNs: number;
}

/**
 * The world of a seed, a whole number from 0 below 2^31: a small cluster under load for a minute and more, on which much goes wrong. Each seed
 * draws first what may go wrong, so that rare faults also meet alone.
 */
export function chaosWorld(seed: number): ChaosWorld {
  const small = safetyWorld(seed);
  const draw = (...what: readonly number[]) => unitOf(seed, 7919, ...what);
  const memorySafety = draw(0) < 0.25 ? "predicted" : "guaranteed";
  const kinds = CHAOS_KINDS.filter((kind, i) => {
    // What is guaranteed is not refused: an executor that refuses it all the same has broken its word.
    if (kind === "recvAllocation" && memorySafety === "guaranteed") return false;
    return draw(1, i) < 0.4;
  });
  const { cluster, templates, workload, durations, operatorCv = 0, transferCv = 0, scheduling = {} } = small;
  const { memoryPatienceNs, ...policy } = scheduling;
  const truth: Durations = {
    tableNs: (durations?.tableNs ?? [10]).map((ns) => ns * SCALE),
    perSymbolNs: (durations?.perSymbolNs ?? 1) * SCALE,
  };
  // So that a single accelerator would do: who waits long waits because of a fault.
  const periodNs = Math.max(PERIOD_NS_MIN, Math.ceil(serialNs(workload, templates, truth)));
  const repeats = Math.max(REPEATS_MIN, Math.ceil(LOAD_NS / periodNs));
  return {
    cluster: slowed(cluster),
    templates,
    workload: repeated(workload, repeats, periodNs),
    seed,
    durations: truth,
    operatorCv: Math.min(operatorCv, 0.5),
    transferCv: Math.min(transferCv, 0.5),
    scheduling: {
      ...policy,
      ...(memoryPatienceNs === undefined ? {} : { memoryPatienceNs: memoryPatienceNs * SCALE }),
    },
    arbitration: { agingNs: SECOND_NS, reserveNs: 4 * SECOND_NS, deadlineMinNs: 2 * SECOND_NS },
    memorySafety,
    health: {
      faultsToSuspect: 1 + Math.floor(3 * draw(2)),
      probeNs: SECOND_NS / 10,
      silentNsMin: 2 * SECOND_NS,
      silentFactor: 10,
      quarantineNsMax: 5 * SECOND_NS,
      retriesPerInstanceMax: Math.floor(4 * draw(3)),
    },
    ...faultsOf(new Set(kinds), cluster, repeats * periodNs, draw),
    validate: false,
    kinds,
    resumeAfterNs: 20 * SECOND_NS,
  };
}

function faultsOf(
  kinds: ReadonlySet<ChaosKind>,
  { accelerators }: ClusterSpec,
  endNs: number,
  draw: (...what: readonly number[]) => number,
): Pick<RunOptions, "faults" | "messages" | "outages"> {
  const time = (what: number) => Math.floor(endNs * draw(4, what));
  const lasts = (what: number) => 1 + Math.floor(10 * SECOND_NS * draw(5, what));
  const accelerator = (what: number) => Math.floor(accelerators.length * draw(6, what));
  const faulty = (what: number) => {
    const fromNs = time(what);
    const isFatal = draw(7, what) < 0.25;
    // Until somebody has seen to it; one in twenty stays so for ever.
    const untilNs = fromNs + (isFatal ? REPAIR_NS : lasts(what));
    return { accelerator: accelerator(what), fromNs, ...(draw(7, what) < 0.05 ? {} : { untilNs }) };
  };
  const silent = [faulty(10), faulty(11)];
  const hung = [...(kinds.has("silent") ? silent : []), ...(kinds.has("hung") ? [faulty(20), faulty(21)] : [])];
  const on = <Value extends object>(kind: ChaosKind, value: Value) => (kinds.has(kind) ? value : {});
  const faults: VirtualFaults = {
    ...on("operator", { operator: { rate: 0.02, afterShare: draw(8) } }),
    ...on("operatorAllocation", { operatorAllocation: { rate: 0.005 } }),
    ...on("recvAllocation", { recvAllocation: { rate: 0.05 } }),
    ...on("transfer", { transfer: { rate: 0.02 } }),
    ...on("operatorStraggles", { operatorStraggles: { rate: 0.02, factor: 8 } }),
    ...on("transferStraggles", { transferStraggles: { rate: 0.05, factor: 20 } }),
    ...on("slowLinks", {
      slowLinks: [{ source: accelerator(30), destination: accelerator(31), factor: 5, fromNs: time(30) }],
    }),
    ...on("broken", { broken: [faulty(40), faulty(41)] }),
    hung,
  };
  const seldom = { any: { rate: 0.004 } };
  const messages: MessageFaults = {
    ...on("lost", { lost: seldom }),
    ...on("late", { late: { any: { rate: 0.1, nsMax: SECOND_NS / 2 } } }),
    // A receive buffer that is refused twice is no repeated message.
    ...on("doubled", { doubled: { any: { rate: 0.1 }, recvFailed: {} } }),
    ...on("reordered", { reordered: { any: { rate: 0.05, nsMax: SECOND_NS / 2 } } }),
    ...on("silent", { cut: silent }),
  };
  return { faults, messages, outages: kinds.has("outage") ? outagesOf(accelerators.length, time, lasts) : [] };
}

/** Two outages of each of half of the accelerators, one behind the other. */
function outagesOf(accelerators: number, time: (what: number) => number, lasts: (what: number) => number): Outage[] {
  const outages: Outage[] = [];
  for (let accelerator = 0; accelerator < accelerators; accelerator += 2) {
    const firstNs = 1 + time(50 + 2 * accelerator);
    const backNs = firstNs + lasts(50 + 2 * accelerator);
    const secondNs = backNs + 1 + time(51 + 2 * accelerator);
    outages.push({ accelerator, lostNs: firstNs, backNs });
    outages.push({ accelerator, lostNs: secondNs, backNs: secondNs + lasts(51 + 2 * accelerator) });
  }
  return outages;
}

function slowed(cluster: ClusterSpec): ClusterSpec {
  const slower = <Link extends { latencyNs?: number; bytesPerSecond: number }>(link: Link): Link => ({
    ...link,
    latencyNs: (link.latencyNs ?? 0) * SCALE,
    bytesPerSecond: link.bytesPerSecond / SCALE,
  });
  return {
    ...cluster,
    ...(cluster.defaultLink === undefined ? {} : { defaultLink: slower(cluster.defaultLink) }),
    ...(cluster.links === undefined ? {} : { links: cluster.links.map(slower) }),
  };
}

/** All operators one after the other, each as slow as they get. */
function serialNs({ instances }: Workload, templates: readonly TemplateSpec[], durations: Durations): number {
  const slowestNs = Math.max(...durations.tableNs);
  let sumNs = 0;
  for (const { template, symbols } of instances) {
    const operators = templates.find(({ name }) => name === template)?.operators.length ?? 0;
    const symbolsNs = Object.values(symbols).reduce((sum, value) => sum + value * durations.perSymbolNs, 0);
    sumNs += operators * (slowestNs + symbolsNs);
  }
  return sumNs;
}

/** The same again and again; each has requests of its own. Instances stay ordered by time. */
function repeated({ requests, instances }: Workload, times: number, periodNs: number): Workload {
  const at = (ns: number, repeat: number) => ns * SCALE + repeat * periodNs;
  const repeats = Array.from({ length: times }, (_, repeat) => repeat);
  // What nobody reads is given back at the very end, and would keep its memory all the time.
  const isRead = (writer: number, name: string) =>
    instances.some(({ inputs }) =>
      Object.values(inputs).some(({ instance, output }) => instance === writer && output === name),
    );
  const all = repeats.flatMap((repeat) =>
    instances.map((instance, index) => ({
      key: [repeat, index] as const,
      instance: {
        ...instance,
        atNs: at(instance.atNs, repeat),
        retain: instance.retain.filter((name) => isRead(index, name)),
        cancelAtNs: instance.cancelAtNs === null ? null : at(instance.cancelAtNs, repeat),
        request: instance.request === null ? null : instance.request + repeat * requests.length,
      },
    })),
  );
  all.sort((a, b) => a.instance.atNs - b.instance.atNs || a.key[0] - b.key[0] || a.key[1] - b.key[1]);
  const place = new Map(all.map(({ key }, index) => [key.join(), index]));
  return {
    requests: repeats.flatMap((repeat) =>
      requests.map((request) => ({
        ...request,
        atNs: at(request.atNs, repeat),
        deadlineNs: request.deadlineNs === null ? null : at(request.deadlineNs, repeat),
      })),
    ),
    instances: all.map(({ key: [repeat], instance }) => ({
      ...instance,
      inputs: Object.fromEntries(
        Object.entries(instance.inputs).map(([input, { instance: writer, output }]) => [
          input,
          { instance: place.get(`${repeat},${writer}`) as number, output },
        ]),
      ),
    })),
  };
}
