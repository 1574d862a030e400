/** How pessimistic the guarantee is: small cases that the scheduler admits or refuses, and that a search over all orders judges too. */
import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { type Cluster, compileCluster, compileTemplate, SubmissionError, type Template } from "@slicescheduler/gmg";
import { type InstanceHandle, SliceScheduler, type TemplateHandle } from "slicescheduler";
import { canAllEnd, fits, peakOverOrders, type SearchedInstance, type SearchedState } from "./orders.ts";
import { drawSmallCase, type SmallCase, type SmallRequest } from "./small-case-draw.ts";

export interface SmallCaseReport {
  /** Requests whose first instance was submitted. */
  readonly requests: number;
  readonly started: number;
  /** Refused for good, at their border, though they are alone. */
  readonly refusedAtBorder: number;
  /** Kept waiting for memory beside those that started before. */
  readonly refusedToStart: number;
  /** Of both: what no order could have taken over a capacity or kept from its end. */
  readonly feasibleAtBorder: number;
  readonly feasibleToStart: number;
  /** Of both: what the search gave up on. */
  readonly undecided: number;
  /** What started although an order takes it over a capacity or keeps it from its end: the guarantee is broken. 0. */
  readonly unsafe: number;
}

/** Longer than any search: what has started is still at work when the next request comes. */
const FOR_EVER_NS = 1e15;

/**
 * Draws 2–4 requests on 1–2 accelerators whose memory lies between what the neediest of them needs and what all need at once, submits
 * them to a scheduler one after the other, and judges each refusal, and each start, by a search over all orders.
 */
export function judgeSmallCase(seed: number): SmallCaseReport {
  const small = drawSmallCase(seed);
  const wide = compileCluster(small.cluster(null));
  const laid = layRequests(small, wide);
  const roomBytes = roomFor(small, wide, laid);
  if (roomBytes === null) return { ...NOTHING, undecided: 1 };
  const verdicts = submitAll(small, roomBytes);
  const report = { ...NOTHING, requests: small.requests.length };
  const started: number[] = [];
  for (const [r, verdict] of verdicts.entries()) {
    const beside = verdict === "border" ? [] : started;
    const safe = isSafe(wide, laid, [...beside, r], roomBytes);
    if (safe === null) report.undecided += 1;
    if (verdict === "started") {
      started.push(r);
      report.started += 1;
      if (safe === false) report.unsafe += 1;
    } else if (verdict === "border") {
      report.refusedAtBorder += 1;
      if (safe === true) report.feasibleAtBorder += 1;
    } else {
      report.refusedToStart += 1;
      if (safe === true) report.feasibleToStart += 1;
    }
  }
  return report;
}

const NOTHING = {
  requests: 0,
  started: 0,
  refusedAtBorder: 0,
  refusedToStart: 0,
  feasibleAtBorder: 0,
  feasibleToStart: 0,
  undecided: 0,
  unsafe: 0,
};

interface Laid {
  readonly instances: readonly SearchedInstance[];
  /** Per request, its instances in order. */
  readonly requests: readonly (readonly number[])[];
}

export function layRequests({ templates, requests }: SmallCase, cluster: Cluster): Laid {
  const compiled = new Map(templates.map((spec) => [spec.name, compileTemplate(spec, cluster)]));
  const instances: SearchedInstance[] = [];
  const members = requests.map((steps) => {
    const own: number[] = [];
    for (const { template: name, symbols } of steps) {
      const template = compiled.get(name) as Template;
      const before = own.at(-1);
      const state = before === undefined ? undefined : stateOf(instances[before] as SearchedInstance);
      instances.push({
        binding: template.bind(symbols),
        partition: template.partitions[0] as Template["partitions"][number],
        inputs: Array.from({ length: template.inputSlots }, () =>
          before === undefined || state === undefined ? null : { instance: before, ...state },
        ),
      });
      own.push(instances.length - 1);
    }
    return own;
  });
  return { instances, requests: members };
}

function stateOf({ binding }: SearchedInstance) {
  return binding.template.outputs.find(({ name }) => name === "state")?.refs[0];
}

/** Between what the neediest request needs and what all first instances need at once; null when a search gave up. */
function roomFor({ room }: SmallCase, cluster: Cluster, { instances, requests }: Laid): number[] | null {
  const least = cluster.accelerators.map(() => 0);
  const together = cluster.accelerators.map(() => 0);
  for (const members of requests) {
    const alone = cluster.accelerators.map(() => 0);
    for (const [position, member] of members.entries()) {
      const ended = new Set(members.slice(0, position));
      const states = instances.map((_, i): SearchedState => (i === member ? "live" : ended.has(i) ? "done" : "absent"));
      const peaks = peakOverOrders(cluster, instances, states);
      if (peaks === null) return null;
      for (const [a, bytes] of peaks.entries()) alone[a] = Math.max(alone[a] as number, bytes);
    }
    for (const [a, bytes] of alone.entries()) {
      least[a] = Math.max(least[a] as number, bytes);
      together[a] = (together[a] as number) + bytes;
    }
  }
  return least.map((bytes, a) => Math.ceil(bytes + (room / 100) * ((together[a] as number) - bytes)));
}

/** Whether these requests, each with its first instance at work, stay within the room in every order and can all end. */
function isSafe(
  cluster: Cluster,
  { instances, requests }: Laid,
  chosen: readonly number[],
  roomBytes: number[],
): boolean | null {
  const members = chosen.map((r) => requests[r] as readonly number[]);
  const first = new Set(members.map(([instance]) => instance));
  const peaks = peakOverOrders(
    cluster,
    instances,
    instances.map((_, i): SearchedState => (first.has(i) ? "live" : "absent")),
  );
  if (peaks === null) return null;
  if (!fits(peaks, roomBytes)) return false;
  return canAllEnd(
    cluster,
    instances,
    members,
    members.map(() => 1),
    roomBytes,
  );
}

type Verdict = "started" | "waits" | "border";

/** What a scheduler says to each first instance, while nothing that started comes to an end. */
function submitAll(small: SmallCase, roomBytes: readonly number[]): Verdict[] {
  const time = new SimulatedTime();
  const scheduler = new SliceScheduler({
    cluster: small.cluster(roomBytes),
    executor: virtualExecutor({ seed: 0, time, operatorNs: () => FOR_EVER_NS, transferNs: () => FOR_EVER_NS }),
    // Nothing but memory keeps anything from starting.
    scheduling: { operatorsPerAcceleratorMax: 1000, batchOperatorsMax: 1000, memoryPatienceNs: FOR_EVER_NS },
  });
  const templates = new Map(small.templates.map((spec) => [spec.name, scheduler.register(spec)]));
  const handles = small.requests.map((steps) => open(scheduler, templates, steps));
  const verdicts = handles.map((handle): Verdict => {
    if (handle === null) return "border";
    const { operators } = scheduler.explain(handle.id) ?? { operators: [] };
    return operators.some(({ waiting }) => waiting?.why === "memory") ? "waits" : "started";
  });
  scheduler.close();
  return verdicts;
}

/** Null when it was refused because it could never fit. */
function open(
  scheduler: SliceScheduler,
  templates: ReadonlyMap<string, TemplateHandle>,
  steps: SmallRequest,
): InstanceHandle | null {
  const template = (name: string) => templates.get(name) as TemplateHandle;
  const [first] = steps;
  if (first === undefined) return null;
  try {
    if (steps.length === 1) return scheduler.submit(template(first.template), { symbols: first.symbols });
    const last = steps.at(-1) ?? first;
    const limits = [first, last].map(({ template: name, symbols }) => ({ template: template(name), symbols }));
    const request = scheduler.openRequest({ limits, concurrentInstances: 1 });
    return scheduler.submit(template(first.template), { symbols: first.symbols, request, retain: ["state"] });
  } catch (error) {
    if (error instanceof SubmissionError && error.code === "NEVER_FITS") return null;
    throw error;
  }
}
