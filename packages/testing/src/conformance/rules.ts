/** What holds at any moment of any check, and where the rules stand. */

const MODEL = "docs/execution-model.md";

export const WHERE = {
  interface: "the Executor interface, packages/executor/src/types.ts",
  clock: "the Clock interface, packages/executor/src/types.ts",
  manifest: "the ExecutorManifest interface, packages/executor/src/types.ts",
  time: `${MODEL}, Time`,
  operators: `${MODEL}, Operators`,
  events: `${MODEL}, Events`,
  hears: `${MODEL}, What the master hears`,
  accelerators: `${MODEL}, Accelerators that come and go`,
  transfers: `${MODEL}, Transfers`,
  memory: `${MODEL}, Memory`,
} as const;

export interface Rule {
  readonly rule: string;
  readonly where: string;
}

/** Watched during every check, whatever that is about. */
export const ALWAYS = {
  nested: { rule: "an event is never delivered inside another", where: WHERE.interface },
  afterClose: { rule: "nothing is delivered after close", where: WHERE.interface },
  known: { rule: "every event is about something that was issued", where: WHERE.interface },
  operatorLife: { rule: "an operator starts once and ends once, in that order", where: WHERE.events },
  alone: { rule: "an accelerator runs one operator at a time", where: WHERE.operators },
  inputs: { rule: "an operator starts when all of its inputs are present", where: WHERE.operators },
  heldBack: { rule: "an operator that is held back does not start before it is activated", where: WHERE.operators },
  order: { rule: "among activated operators: rank, then ready time, then issue number", where: WHERE.operators },
  transferLife: {
    rule: "a transfer goes from intent to recv to send to its end, each step as it is told",
    where: WHERE.transfers,
  },
  observed: {
    rule: "observedNs is whole nanoseconds, at least 1, no more than has passed",
    where: WHERE.time,
  },
  clock: { rule: "the clock tells whole nanoseconds and never steps back", where: WHERE.clock },
  lost: { rule: "of an accelerator that was lost nothing is heard until it returns", where: WHERE.accelerators },
  accepts: { rule: "instructions that a correct master gives are carried out", where: WHERE.interface },
} as const satisfies Record<string, Rule>;

/** A rule that was not kept. */
export interface Breach extends Rule {
  readonly expected: string;
  readonly seen: string;
}
