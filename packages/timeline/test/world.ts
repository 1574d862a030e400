/** Small random runs: two priority classes, tenants, transfers, cancellations, faults and outages, in simulated time. */
import { type Outage, SimulatedTime, type VirtualExecutor, virtualExecutor } from "@slicescheduler/executor";
import { type ClusterSpec, defineTemplate } from "@slicescheduler/gmg";
import fc from "fast-check";
import { type InstanceHandle, type MasterEvent, type Notice, type Notices, SliceScheduler } from "slicescheduler";
import type { EventLogHeader } from "../src/log/header.ts";
import { EventLogWriter } from "../src/log/writer.ts";
import { RunRecorder } from "../src/record/recorder.ts";
import type { RunRecord } from "../src/run-record.ts";

export const cluster: ClusterSpec = {
  accelerators: ["a0", "a1", "a2"].map((name, index) => ({
    name,
    kind: "demo",
    hbmBytes: 4000,
    externalBaselineBytes: 100,
    granularityBytes: 1,
    copyEngines: index === 0 ? 2 : 1,
  })),
  defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 },
};

const partitions = [
  { name: "01", accelerators: ["a0", "a1"], layout: [0, 1] },
  { name: "12", accelerators: ["a1", "a2"], layout: [0, 1] },
  { name: "2", accelerators: ["a2"], layout: [0, 0] },
];

/** Two operators, the second on another accelerator where the partition has two. */
export const pass = defineTemplate({
  name: "pass",
  symbols: ["size"],
  operators: [
    { name: "make", outputs: { made: { shape: ["size"], dtype: "uint8" } }, weights: { w: 50 }, workspaceBytes: 30 },
    { name: "read", inputs: ["make.made"], outputs: { out: { shape: [10], dtype: "uint8" } } },
  ],
  outputs: { made: "make.made", out: "read.out" },
  partitions,
});

/** Continues what a pass made. */
export const step = defineTemplate({
  name: "step",
  symbols: ["size"],
  inputs: { made: { shape: ["size"], dtype: "uint8" } },
  operators: [
    { name: "first", inputs: ["made"], outputs: { out: { shape: [20], dtype: "uint8" } } },
    { name: "second", inputs: ["first.out"], outputs: { out: { shape: [10], dtype: "uint8" } } },
  ],
  outputs: { out: "second.out" },
  partitions,
});

export interface WorldRequest {
  readonly atNs: number;
  readonly priority: "online" | "offline";
  readonly tenant: string;
  readonly size: number;
  readonly steps: number;
  /** After its submission; null for never. */
  readonly cancelAfterNs: number | null;
}

export interface World {
  readonly seed: number;
  readonly requests: readonly WorldRequest[];
  readonly outage: Outage | null;
  readonly faultShare: number;
  readonly health: boolean;
}

export const worlds: fc.Arbitrary<World> = fc.record({
  seed: fc.nat(1000),
  requests: fc.array(
    fc.record({
      atNs: fc.nat(3000),
      priority: fc.constantFrom("online" as const, "offline" as const),
      tenant: fc.constantFrom("", "red", "blue"),
      size: fc.integer({ min: 1, max: 1500 }),
      steps: fc.nat(2),
      cancelAfterNs: fc.option(fc.nat(1000), { freq: 4 }),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  outage: fc.option(
    fc
      .tuple(fc.nat(2), fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 1000 }))
      .map(([accelerator, lostNs, lastsNs]) => ({ accelerator, lostNs, backNs: lostNs + lastsNs })),
    { freq: 3 },
  ),
  faultShare: fc.constantFrom(0, 0, 0.2),
  health: fc.boolean(),
});

export interface WorldRun {
  readonly scheduler: SliceScheduler;
  readonly executor: VirtualExecutor;
  readonly record: RunRecord;
  readonly notices: readonly Notice[];
  readonly events: readonly { readonly event: MasterEvent; readonly nowNs: number }[];
  /** Lines of the event log. */
  readonly log: readonly string[];
  readonly header: EventLogHeader;
}

export interface WorldOptions {
  /** Give the recorder the scheduler's events. Default true. */
  readonly listens?: boolean;
  /** Called after each step of the clock. */
  readonly onStep?: (scheduler: SliceScheduler, time: SimulatedTime) => void;
  readonly recorder?: Partial<ConstructorParameters<typeof RunRecorder>[0]>;
}

/** Everything that a scheduler tells, in order. */
export function noticesOf(scheduler: SliceScheduler, names: readonly (keyof Notices)[]): Notice[] {
  const heard: Notice[] = [];
  for (const name of names) scheduler.on(name, (value) => heard.push({ name, value } as Notice));
  return heard;
}

export const NAMES: readonly (keyof Notices)[] = [
  "operatorIssued",
  "operatorStarted",
  "operatorDone",
  "operatorFailed",
  "operatorWithdrawn",
  "transferDone",
  "transferQuarantined",
  "transferReleased",
  "instanceDone",
  "instanceFailed",
  "instanceCancelled",
  "decision",
  "standstill",
  "acceleratorLost",
  "acceleratorReturned",
  "acceleratorSuspect",
  "acceleratorCleared",
  "acceleratorDraining",
  "acceleratorDrained",
];

export async function runWorld(world: World, options: WorldOptions = {}): Promise<WorldRun> {
  const { seed, requests, outage, faultShare, health } = world;
  const time = new SimulatedTime();
  const executor = virtualExecutor({
    seed,
    time,
    operatorNs: ({ symbols }) => 50 + (symbols["size"] ?? 0),
    operatorCv: 0.1,
    outages: outage === null ? [] : [outage],
    faults: faultShare === 0 ? {} : { operator: { rate: faultShare } },
  });
  const recorder = new RunRecorder({ cluster, label: `seed ${seed}`, ...options.recorder });
  const log: string[] = [];
  const tenants = { red: {}, blue: { weight: 2 } };
  const settings = { cluster, scheduling: { tenants }, health: health ? ({} as const) : (false as const) };
  const writer = new EventLogWriter({ ...settings, manifest: executor.manifest }, (line) => log.push(line));
  const events: { event: MasterEvent; nowNs: number }[] = [];
  const scheduler = new SliceScheduler({
    ...settings,
    executor,
    onEvent: (event, nowNs) => {
      events.push({ event, nowNs });
      writer.onEvent(event, nowNs);
      if (options.listens !== false) recorder.onEvent(event, nowNs);
    },
  });
  const notices = noticesOf(scheduler, NAMES);
  recorder.attach(scheduler);
  if (seed % 2 === 0) writer.attach(scheduler);
  const handles = { pass: scheduler.register(pass), step: scheduler.register(step) };
  for (const [index, request] of requests.entries())
    time.at(request.atNs, { kind: 9, number: index }, () => submit(scheduler, handles, request, index, time));
  while (time.step()) options.onStep?.(scheduler, time);
  await Promise.resolve();
  return { scheduler, executor, record: recorder.finish(), notices, events, log, header: writer.header };
}

function submit(
  scheduler: SliceScheduler,
  handles: { pass: { name: string; spec: typeof pass }; step: { name: string; spec: typeof step } },
  request: WorldRequest,
  index: number,
  time: SimulatedTime,
): void {
  const { priority, tenant, size, steps, cancelAfterNs } = request;
  const first = scheduler.submit(handles.pass, {
    symbols: { size },
    priority,
    tenant,
    label: `request ${index}`,
    ...(steps > 0 ? { retain: ["made"] } : {}),
  });
  const all: InstanceHandle[] = [first];
  for (let count = 0; count < steps; count++) {
    try {
      all.push(scheduler.submit(handles.step, { symbols: { size }, inputs: { made: first.output("made") } }));
    } catch (error) {
      // The request runs already, and there is no memory to be guaranteed for more of it.
      if ((error as { code?: string }).code !== "CLAIM_TOO_LARGE_NOW") throw error;
    }
  }
  if (steps > 0) first.release("made");
  // Nobody waits for them here: what becomes of them is among the notices.
  for (const { done } of all) done.catch(() => {});
  const last = all.at(-1);
  if (cancelAfterNs !== null && last !== undefined)
    time.at(time.nowNs() + cancelAfterNs, { kind: 9, number: 1000 + index }, () => last.cancel());
}
