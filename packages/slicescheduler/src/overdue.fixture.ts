import {
  type Executor,
  type ExecutorEvent,
  type ExecutorInstruction,
  SimulatedTime,
  type VirtualTransfer,
  virtualExecutor,
} from "@slicescheduler/executor";
import { defineTemplate } from "@slicescheduler/gmg";
import { SliceScheduler, type SliceSchedulerOptions } from "./index.ts";

export const DEADLINE_MIN_NS = 1000;

/** `make` on the first accelerator of a pair, `read` on the second, which gets 100 bytes in 110 ns. */
const pass = defineTemplate({
  name: "pass",
  symbols: [],
  operators: [
    { name: "make", outputs: { made: { shape: [100], dtype: "uint8" } } },
    { name: "read", inputs: ["make.made"], outputs: { out: { shape: [10], dtype: "uint8" } } },
  ],
  outputs: { made: "make.made", out: "read.out" },
  partitions: [
    { name: "01", accelerators: ["a0", "a1"], layout: [0, 1] },
    { name: "02", accelerators: ["a0", "a2"], layout: [0, 1] },
  ],
});

/** With one operator; where that is, by its place in the partition. */
const partitions = (place: number) => [
  { name: "01", accelerators: ["a0", "a1"], layout: [Math.min(place, 1)] },
  { name: "012", accelerators: ["a0", "a1", "a2"], layout: [place] },
];

/** Makes 100 bytes. */
const maker = (name: string, place: number) =>
  defineTemplate({
    name,
    symbols: [],
    operators: [{ name: "make", outputs: { made: { shape: [100], dtype: "uint8" } } }],
    outputs: { made: "make.made" },
    partitions: partitions(place),
  });

/** Reads what was made. */
const reader = (name: string, place: number) =>
  defineTemplate({
    name,
    symbols: [],
    inputs: { made: { shape: [100], dtype: "uint8" } },
    operators: [{ name: "read", inputs: ["made"], outputs: { out: { shape: [10], dtype: "uint8" } } }],
    outputs: { out: "read.out" },
    partitions: partitions(place),
  });

/** What is wrong with transfers, or with the way between the master and its executor. */
export interface Trouble {
  /** How long the data of transfer 0 move, or those of each; default 110 ns. */
  readonly movesNs?: number | ((transfer: number) => number);
  /** Events that come when `deliver` says so. */
  keepsBack?(event: ExecutorEvent): boolean;
  /** Events that come twice. */
  doubles?(event: ExecutorEvent): boolean;
  /** Instructions that never arrive. */
  drops?(instruction: ExecutorInstruction): boolean;
}

/** The executor as the master sees it through the trouble. */
function troubled(executor: Executor, trouble: Trouble) {
  const keptBack: ExecutorEvent[] = [];
  const sent: ExecutorInstruction[] = [];
  let hand: (event: ExecutorEvent) => void = () => {};
  const relayed: Executor = {
    manifest: executor.manifest,
    clock: executor.clock,
    open: (context) => {
      hand = (event) => context.deliver(event);
      executor.open({
        cluster: context.cluster,
        deliver: (event) => {
          if (trouble.keepsBack?.(event)) keptBack.push(event);
          else hand(event);
          if (trouble.doubles?.(event)) hand(event);
        },
      });
    },
    execute: (instructions) => {
      sent.push(...instructions);
      executor.execute(instructions.filter((instruction) => !trouble.drops?.(instruction)));
    },
    close: () => executor.close(),
  };
  /** What was kept back arrives, in order; those of one type alone if one is named. */
  const deliver = (type?: ExecutorEvent["type"]) => {
    const arriving = keptBack.filter((event) => type === undefined || event.type === type);
    for (const event of arriving) {
      keptBack.splice(keptBack.indexOf(event), 1);
      hand(event);
    }
  };
  return { relayed, sent, deliver, again: (event: ExecutorEvent) => hand(event) };
}

/** What the master tells, one line each, with times. */
function linesOf(scheduler: SliceScheduler): string[] {
  const told: string[] = [];
  for (const name of ["transferQuarantined", "transferReleased", "transferDone"] as const) {
    scheduler.on(name, (notice) => {
      const outcome = "outcome" in notice ? ` ${notice.outcome}` : "from" in notice ? ` ${notice.from}` : "";
      told.push(`${notice.atNs} ${name} ${notice.transfer}${outcome}`);
    });
  }
  for (const name of ["instanceDone", "instanceFailed"] as const)
    scheduler.on(name, ({ instance, atNs }) => told.push(`${atNs} ${name} ${instance}`));
  for (const name of ["acceleratorDrained", "acceleratorLost"] as const)
    scheduler.on(name, ({ acceleratorName, atNs }) => told.push(`${atNs} ${name} ${acceleratorName}`));
  return told;
}

/** Three accelerators of 1000 bytes, operators of 50 ns, and transfers that are overdue 1000 ns after their last step. */
export function overdueWorld(trouble: Trouble, options: Partial<SliceSchedulerOptions> = {}) {
  const time = new SimulatedTime();
  const { movesNs = 110 } = trouble;
  const movesOf = typeof movesNs === "number" ? (transfer: number) => (transfer === 0 ? movesNs : 110) : movesNs;
  const transferNs = ({ transfer }: VirtualTransfer) => movesOf(transfer);
  const executor = virtualExecutor({ seed: 1, time, operatorNs: () => 50, transferNs });
  const { relayed, sent, deliver, again } = troubled(executor, trouble);
  const accelerators = ["a0", "a1", "a2"].map((name) => ({ name, kind: "demo", hbmBytes: 1000 }));
  const scheduler = new SliceScheduler({
    cluster: { accelerators, defaultLink: { latencyNs: 10, bytesPerSecond: 1e9 } },
    executor: relayed,
    arbitration: { deadlineMinNs: DEADLINE_MIN_NS, deadlineFactor: 2 },
    ...options,
  });
  const told = linesOf(scheduler);
  const atRest = () => {
    scheduler.validate();
    const { requests, instances, issuedOperators, accelerators } = scheduler.stats();
    return {
      master: [requests, instances, issuedOperators, ...accelerators.map(({ usedHbmBytes }) => usedHbmBytes)],
      executor: executor.leftovers(),
    };
  };
  return {
    time,
    executor,
    scheduler,
    sent,
    told,
    deliver,
    again,
    atRest,
    pass: scheduler.register(pass),
    make: scheduler.register(maker("make", 0)),
    near: scheduler.register(reader("near", 0)),
    far: scheduler.register(reader("far", 1)),
    wide: scheduler.register(maker("wide", 2)),
  };
}

/** Nothing is left, in the master or on the devices. */
export const EMPTY = { master: [0, 0, 0, 0, 0, 0], executor: { operators: [], tensors: [], transfers: [] } };
