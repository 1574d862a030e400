/** Small worlds by system: every combination of a few shapes, layouts, sizes and faults, each once. */
import { type ClusterSpec, SubmissionError, type TemplateSpec } from "@slicescheduler/gmg";
import { type ApplicationEvent, MasterCore } from "slicescheduler";
import { chainedScript, separateScript } from "./scripts.ts";
import { acceleratorNames, BYTES, continuationOf, type Shape, templateOf } from "./shapes.ts";
import type { Channel, ModelFault, SmallWorld } from "./small-world.ts";

/** One choice for everything that a small world is made of. */
export interface WorldChoice {
  readonly shape: Shape;
  /** One for each partition. */
  readonly layouts: readonly (readonly number[])[];
  readonly accelerators: number;
  readonly instances: number;
  /** A second instance reads the result of the only one, which is retained until it is submitted; both are of one request. */
  readonly chained: boolean;
  /** The last instance is of a more urgent class than the others. */
  readonly urgentLast: boolean;
  /** `"tight"`: as little as the largest request needs; `"close"`: a tensor more; `"ample"`: all of them fit at once. */
  readonly memory: "tight" | "close" | "ample";
  readonly copyEngines: number;
  /** All transfers share one link, one at a time. */
  readonly sharedLink: boolean;
  readonly channel: Channel;
  readonly fault: ModelFault | null;
  readonly issuedAheadMax: number;
}

/** More than any of them needs. */
const AMPLE_BYTES = 2 ** 12;

/** A world made of these. Throws what the master throws for one that it cannot take. */
export function smallWorldOf(choice: WorldChoice): SmallWorld {
  const { shape, layouts, accelerators, instances, chained, urgentLast, channel, fault, issuedAheadMax } = choice;
  const first = templateOf(shape, layouts, accelerators);
  const ample = clusterOf(choice, AMPLE_BYTES);
  const next = chained ? continuationOf(shape, layouts, accelerators) : null;
  const templates = next === null ? [first] : [first, next];
  const script =
    next === null ? separateScript(first, ample, { instances, urgentLast }) : chainedScript(first, next, ample);
  const leastBytes = leastHbmBytes(choice, templates, script);
  const hbmBytes = { tight: leastBytes, close: leastBytes + BYTES, ample: leastBytes * instances }[choice.memory];
  return {
    name: nameOf(choice),
    cluster: clusterOf(choice, hbmBytes),
    templates,
    script,
    channel,
    fault,
    issuedAheadMax,
    batchOperatorsMax: issuedAheadMax === 1 ? 1 : 8,
    plant: null,
  };
}

function clusterOf({ accelerators, copyEngines, sharedLink }: WorldChoice, hbmBytes: number): ClusterSpec {
  const names = acceleratorNames(accelerators);
  const link = { latencyNs: 1, bytesPerSecond: 1e9 };
  const pairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => [from, to] as const));
  return {
    accelerators: names.map((name) => ({ name, kind: "small", hbmBytes, copyEngines })),
    ...(sharedLink ? { links: [{ ...link, name: "switch", capacity: 1, connects: pairs }] } : { defaultLink: link }),
  };
}

/** The least memory, the same on every accelerator, with which the master takes the script. */
function leastHbmBytes(
  choice: WorldChoice,
  templates: readonly TemplateSpec[],
  script: readonly (readonly ApplicationEvent[])[],
): number {
  let [tooLittle, enough] = [0, AMPLE_BYTES];
  while (enough - tooLittle > 1) {
    const middle = (tooLittle + enough) >> 1;
    if (isTaken(clusterOf(choice, middle), templates, script)) enough = middle;
    else tooLittle = middle;
  }
  return enough;
}

function isTaken(
  cluster: ClusterSpec,
  templates: readonly TemplateSpec[],
  script: readonly (readonly ApplicationEvent[])[],
): boolean {
  const master = new MasterCore({ cluster });
  try {
    for (const template of templates) master.handle({ type: "templateRegistered", template }, 0);
    for (const event of script.flat()) master.handle(event, 0);
    return true;
  } catch (error) {
    if (error instanceof SubmissionError && error.code === "NEVER_FITS") return false;
    throw error;
  }
}

function nameOf(choice: WorldChoice): string {
  const {
    shape,
    layouts,
    accelerators,
    instances,
    chained,
    urgentLast,
    memory,
    copyEngines,
    sharedLink,
    channel,
    fault,
    issuedAheadMax,
  } = choice;
  const laid = layouts.map((layout) => layout.join("")).join("|");
  const link = sharedLink ? " on one link" : "";
  return `${chained ? "a chain of 2" : instances} × ${shape.name}${urgentLast ? " (the last urgent)" : ""} laid ${laid} on ${accelerators}, ${memory} memory, ${copyEngines} ports${link}, ${channel}, ${fault ?? "no fault"}, ${issuedAheadMax} ahead`;
}
