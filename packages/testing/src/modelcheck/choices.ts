/** Which small worlds are searched: by system, none left out of what a part says. */
import { layoutsOf, SHAPES, type Shape, transfersOf } from "./shapes.ts";
import type { Channel, ModelFault } from "./small-world.ts";
import type { WorldChoice } from "./small-worlds.ts";

const ACCELERATORS_MAX = 3;
const TRANSFERS_MAX = 4;
const INSTANCES_MAX = 3;
/** With more of them, the set `"default"` has fewer worlds of a base. */
const MANY_OPERATORS = 3;

/** `"few"`: shapes of two operators; `"default"`: what is searched to its end in a few minutes; `"all"`: every combination. */
export type WorldSet = "few" | "default" | "all";

interface Base {
  readonly shape: Shape;
  readonly layout: readonly number[];
  readonly accelerators: number;
  /** Of one instance. */
  readonly transfers: number;
}

const CHANNELS: readonly Channel[] = ["immediate", "inOrder", "perAccelerator"];
const FAULTS: readonly (ModelFault | null)[] = [
  null,
  "cancel",
  "operatorFails",
  "transferFails",
  "acceleratorLost",
  "timePasses",
];

/** In the order in which they are searched, and each once. */
export function worldChoices(set: WorldSet): WorldChoice[] {
  const choices = set === "all" ? allOf(basesOf(SHAPES)) : someOf(basesOf(set === "few" ? SHAPES.slice(0, 1) : SHAPES));
  const seen = new Set<string>();
  return choices.filter((choice) => {
    const key = JSON.stringify(choice);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function basesOf(shapes: readonly Shape[]): Base[] {
  const bases: Base[] = [];
  for (const shape of shapes) {
    for (let accelerators = 2; accelerators <= ACCELERATORS_MAX; accelerators++) {
      for (const layout of layoutsOf(shape, accelerators)) {
        const transfers = transfersOf(shape, layout);
        if (transfers > 0 && transfers <= TRANSFERS_MAX) bases.push({ shape, layout, accelerators, transfers });
      }
    }
  }
  return bases;
}

/** Every base in every other respect alone, as a rule; with many operators in fewer of them, since the worlds are larger. */
function someOf(bases: readonly Base[]): WorldChoice[] {
  return bases.flatMap((base) => (base.shape.reads.length > MANY_OPERATORS ? fewerOf(base) : someOfOne(base)));
}

function someOfOne(base: Base): WorldChoice[] {
  const most = instancesMax(base);
  const two = Math.min(2, most);
  const choices: WorldChoice[] = [];
  for (const fault of FAULTS) {
    choices.push(choiceOf(base, { instances: two, fault }));
    if (fault === null || fault === "cancel")
      choices.push(choiceOf(base, { instances: two, fault, issuedAheadMax: 1 }));
    choices.push(choiceOf(base, { fault, channel: "inOrder" }));
    if (fault !== "acceleratorLost") choices.push(choiceOf(base, { fault, channel: "perAccelerator" }));
    choices.push(choiceOf(base, { fault, partitions: 2 }));
    choices.push(choiceOf(base, { fault, chained: true }));
  }
  for (const channel of CHANNELS) {
    const urgent = { instances: two, urgentLast: two > 1, channel };
    choices.push(choiceOf(base, urgent), choiceOf(base, { ...urgent, issuedAheadMax: 1 }));
  }
  choices.push(choiceOf(base, { instances: most }), choiceOf(base, { instances: most, memory: "ample" }));
  choices.push(choiceOf(base, { instances: two, memory: "close", channel: "inOrder" }));
  choices.push(choiceOf(base, { instances: two, channel: "perAccelerator", issuedAheadMax: 1 }));
  choices.push(choiceOf(base, { chained: true, channel: "perAccelerator" }));
  for (const wide of [{ copyEngines: 2 }, { sharedLink: true }, { copyEngines: 2, sharedLink: true }])
    choices.push(choiceOf(base, { instances: two, memory: "ample", ...wide }));
  return choices;
}

function fewerOf(base: Base): WorldChoice[] {
  const instances = Math.min(2, instancesMax(base));
  const choices: WorldChoice[] = [];
  for (const fault of FAULTS) choices.push(choiceOf(base, { instances, fault }));
  for (const fault of FAULTS) choices.push(choiceOf(base, { fault, channel: "inOrder" }));
  const overtaken = base.transfers < TRANSFERS_MAX ? ([null, "cancel", "transferFails"] as const) : [null];
  for (const fault of overtaken) choices.push(choiceOf(base, { fault, channel: "perAccelerator" }));
  for (const fault of ["cancel", "acceleratorLost"] as const) choices.push(choiceOf(base, { fault, chained: true }));
  for (const channel of ["immediate", "perAccelerator"] as const)
    choices.push(choiceOf(base, { instances, urgentLast: instances > 1, channel, issuedAheadMax: 1 }));
  return choices;
}

function instancesMax({ transfers }: Base): number {
  return Math.min(INSTANCES_MAX, Math.floor(TRANSFERS_MAX / transfers));
}

/**
 * Every base with everything else in every combination. Where events of accelerators overtake each other no accelerator is lost: what others
 * report of it would be heard before its loss, and executors report in the order of causes.
 */
function allOf(bases: readonly Base[]): WorldChoice[] {
  return bases.flatMap((base) => {
    const choices: WorldChoice[] = [];
    const most = instancesMax(base);
    for (const channel of CHANNELS) {
      for (const fault of FAULTS) {
        if (fault === "acceleratorLost" && channel === "perAccelerator") continue;
        for (const issuedAheadMax of [8, 1])
          for (const copyEngines of [1, 2])
            for (const sharedLink of [false, true])
              for (const partitions of [1, 2]) {
                const rest = { channel, fault, issuedAheadMax, copyEngines, sharedLink, partitions };
                choices.push(choiceOf(base, { chained: true, ...rest }));
                choices.push(choiceOf(base, rest));
                for (let instances = 2; instances <= most; instances++)
                  for (const memory of ["tight", "close", "ample"] as const)
                    for (const urgentLast of [false, true])
                      choices.push(choiceOf(base, { instances, memory, urgentLast, ...rest }));
              }
      }
    }
    return choices;
  });
}

type Rest = Partial<Omit<WorldChoice, "shape" | "layouts" | "accelerators">> & {
  /** With 2, a second one with every accelerator in the place of the one before. */
  readonly partitions?: number;
};

function choiceOf({ shape, layout, accelerators }: Base, { partitions = 1, ...rest }: Rest): WorldChoice {
  const turned = layout.map((place) => (place + 1) % accelerators);
  return {
    shape,
    layouts: partitions === 1 ? [layout] : [layout, turned],
    accelerators,
    instances: 1,
    chained: false,
    urgentLast: false,
    memory: "tight",
    copyEngines: 1,
    sharedLink: false,
    channel: "immediate",
    fault: null,
    issuedAheadMax: 8,
    ...rest,
  };
}
