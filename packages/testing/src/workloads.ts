import type { TemplateSpec } from "@slicescheduler/gmg";
import fc from "fast-check";
import { pick, seldom } from "./clusters.ts";
import { HIDDEN, PAST, STATE, TOKENS } from "./templates.ts";

/** Opened at its time and closed behind its last instance. */
export interface WorkloadRequest {
  readonly atNs: number;
  readonly priority: string;
  readonly deadlineNs: number | null;
  /** Null for none: it claims what it has submitted. */
  readonly limits: readonly { readonly template: string; readonly symbols: Readonly<Record<string, number>> }[] | null;
  /** Each may stand alone, or continue another one. */
  readonly concurrentInstances: number;
  /** Whether everything it claims is set aside at once. Default false. */
  readonly mayPause?: boolean;
}

/** Submitted at its time; one that the scheduler refuses is left out, and so are all that need its results. */
export interface WorkloadInstance {
  readonly atNs: number;
  /** Index of its request; null for the request of its inputs, or one of its own. */
  readonly request: number | null;
  readonly template: string;
  readonly symbols: Readonly<Record<string, number>>;
  /** Per input, an output of an instance before it in the list. */
  readonly inputs: Readonly<Record<string, { readonly instance: number; readonly output: string }>>;
  readonly priority: string;
  /** Released as soon as the last instance that reads it is submitted; those that none reads at the end of the list. */
  readonly retain: readonly string[];
  readonly partitions: readonly string[] | null;
  readonly cancelAtNs: number | null;
}

/** What an application asks in one run; plain data, instances by time. */
export interface Workload {
  readonly requests: readonly WorkloadRequest[];
  readonly instances: readonly WorkloadInstance[];
}

export interface WorkloadOptions {
  /** Default 1. */
  readonly groupsMin?: number;
  /** Groups of instances that share a request. Default 5. */
  readonly groupsMax?: number;
  /** Instances of a group at most. Default 4. */
  readonly instancesMax?: number;
  /** Whether some instances are cancelled, at any time. Default false. */
  readonly cancels?: boolean;
  /**
   * Whether some writers do not retain what later instances read: then those are refused when they come too late.
   * Default true.
   */
  readonly careless?: boolean;
  /** Whether some instances allow one partition only; those that contradict their request are refused. Default true. */
  readonly restricted?: boolean;
}

/**
 * Workloads over the templates of `templates()`: requests with and without limits, and instances without one; most instances
 * go on from results of earlier ones. Everything is submitted within some 200 ns, about as long as a few operators take.
 */
export function workloads(specs: readonly TemplateSpec[], options: WorkloadOptions = {}): fc.Arbitrary<Workload> {
  return drawnWorkloads(options).map((drawn) => buildWorkload(drawn, specs));
}

interface DrawnInstance {
  readonly template: number;
  readonly tokens: number;
  readonly gapNs: number;
  readonly state: number | null;
  readonly hidden: number;
  readonly keeps: boolean;
  readonly careless: boolean;
  readonly partition: number | null;
  readonly cancelAfterNs: number | null;
}

/** Of no templates yet. */
export type DrawnWorkload = readonly {
  readonly kind: "limits" | "open" | "implicit";
  readonly priority: string;
  readonly deadlineNs: number | null;
  readonly mayPause: boolean;
  readonly atNs: number;
  readonly instances: readonly DrawnInstance[];
}[];

export function drawnWorkloads(options: WorkloadOptions = {}): fc.Arbitrary<DrawnWorkload> {
  const {
    groupsMin = 1,
    groupsMax = 5,
    instancesMax = 4,
    cancels = false,
    careless = true,
    restricted = true,
  } = options;
  const instance: fc.Arbitrary<DrawnInstance> = fc.record({
    template: pick,
    tokens: fc.oneof(
      { weight: 7, arbitrary: fc.integer({ min: 1, max: 6 }) },
      { weight: 1, arbitrary: fc.constant(0) },
    ),
    gapNs: fc.oneof(fc.constant(0), fc.nat({ max: 60 })),
    state: fc.option(pick),
    hidden: pick,
    keeps: fc.boolean(),
    careless: careless ? fc.nat({ max: 5 }).map((n) => n === 5) : fc.constant(false),
    partition: restricted ? seldom(pick) : fc.constant(null),
    cancelAfterNs: cancels ? seldom(fc.nat({ max: 80 })) : fc.constant(null),
  });
  return fc.array(
    fc.record({
      kind: fc.constantFrom("limits", "open", "implicit"),
      priority: fc.constantFrom("online", "offline"),
      deadlineNs: seldom(fc.nat({ max: 400 })),
      mayPause: seldom(fc.constant(true)).map((on) => on ?? false),
      atNs: fc.oneof(fc.constant(0), fc.nat({ max: 120 })),
      instances: fc.array(instance, { minLength: 1, maxLength: instancesMax }),
    }),
    { minLength: groupsMin, maxLength: groupsMax },
  );
}

export function buildWorkload(drawn: DrawnWorkload, specs: readonly TemplateSpec[]): Workload {
  const requests: WorkloadRequest[] = [];
  const planned: PlannedInstance[] = [];
  drawn.forEach(({ kind, priority, deadlineNs, mayPause, atNs, instances }) => {
    const group: PlannedInstance[] = [];
    const request = kind === "implicit" ? null : requests.length;
    let nowNs = atNs;
    for (const instance of instances) {
      nowNs += instance.gapNs;
      group.push(planInstance(instance, { specs, group, request, priority, atNs: nowNs }));
    }
    if (request !== null) {
      const limits = kind === "limits" ? limitsOf(group) : null;
      requests.push({ atNs, priority, deadlineNs, limits, concurrentInstances: Math.max(2, group.length), mayPause });
    }
    planned.push(...group);
  });
  // A sort keeps the order of equal times, so that nothing comes before what it reads.
  planned.sort((a, b) => a.atNs - b.atNs);
  const indices = new Map(planned.map((instance, index) => [instance, index]));
  return {
    requests,
    instances: planned.map(({ sources, root: _root, taken: _taken, retain, ...instance }) => ({
      ...instance,
      retain: [...retain],
      inputs: Object.fromEntries(
        Object.entries(sources).map(([input, source]) => [
          input,
          { instance: indices.get(source) ?? -1, output: input },
        ]),
      ),
    })),
  };
}

interface PlannedInstance extends Omit<WorkloadInstance, "inputs" | "retain"> {
  readonly sources: Readonly<Record<string, PlannedInstance>>;
  /** The first of the instances whose request it shares, by what it reads. */
  readonly root: PlannedInstance | null;
  readonly retain: Set<string>;
  /** Outputs that a later instance continues in place: no second one may. */
  readonly taken: Set<string>;
}

interface Surroundings {
  readonly specs: readonly TemplateSpec[];
  readonly group: readonly PlannedInstance[];
  readonly request: number | null;
  readonly priority: string;
  readonly atNs: number;
}

function planInstance(drawn: DrawnInstance, { specs, group, request, priority, atNs }: Surroundings): PlannedInstance {
  let spec = specs[drawn.template % specs.length] as TemplateSpec;
  const rootOf = (instance: PlannedInstance) => instance.root ?? instance;
  const openTo = (output: string) =>
    group.filter(({ template, taken }) => output in outputsOf(specs, template) && !taken.has(output));
  let hidden: PlannedInstance | undefined;
  if (HIDDEN in (spec.inputs ?? {})) {
    const writers = openTo(HIDDEN);
    if (writers.length > 0) hidden = writers[drawn.hidden % writers.length];
    // The first template reads no hidden rows.
    else spec = specs[0] as TemplateSpec;
  }
  let state: PlannedInstance | undefined;
  if (STATE in (spec.inputs ?? {}) && drawn.state !== null) {
    const writers = openTo(STATE).filter(
      (writer) => request !== null || hidden === undefined || rootOf(writer) === rootOf(hidden),
    );
    state = writers[drawn.state % Math.max(1, writers.length)];
  }
  const sources = {
    ...(hidden === undefined ? {} : { [HIDDEN]: hidden }),
    ...(state === undefined ? {} : { [STATE]: state }),
  };
  for (const [input, source] of Object.entries(sources)) {
    if (!drawn.careless) source.retain.add(input);
    if (continuesInput(spec, input)) source.taken.add(input);
  }
  const source = hidden ?? state;
  return {
    atNs,
    request,
    template: spec.name,
    symbols: {
      [PAST]: state === undefined ? 0 : (state.symbols[PAST] ?? 0) + (state.symbols[TOKENS] ?? 0),
      [TOKENS]: hidden?.symbols[TOKENS] ?? drawn.tokens,
    },
    sources,
    root: source === undefined ? null : rootOf(source),
    priority,
    retain: new Set(drawn.keeps ? [HIDDEN] : []),
    taken: new Set(),
    partitions:
      drawn.partition === null ? null : [spec.partitions[drawn.partition % spec.partitions.length]?.name ?? ""],
    cancelAtNs: drawn.cancelAfterNs === null ? null : atNs + drawn.cancelAfterNs,
  };
}

function outputsOf(specs: readonly TemplateSpec[], template: string): TemplateSpec["outputs"] {
  return specs.find((spec) => spec.name === template)?.outputs ?? {};
}

/** Whether an operator continues the input, or a tensor of it, in place. */
function continuesInput(spec: TemplateSpec, input: string): boolean {
  return spec.operators.some(({ outputs }) =>
    Object.values(outputs).some(({ aliases }) => aliases === input || aliases?.startsWith(`${input}[`)),
  );
}

/** Per template, the largest of each symbol. */
function limitsOf(group: readonly PlannedInstance[]): { template: string; symbols: Record<string, number> }[] {
  const limits = new Map<string, Record<string, number>>();
  for (const { template, symbols } of group) {
    const largest = limits.get(template) ?? {};
    for (const [name, value] of Object.entries(symbols)) largest[name] = Math.max(largest[name] ?? 0, value);
    limits.set(template, largest);
  }
  return Array.from(limits, ([template, symbols]) => ({ template, symbols }));
}
