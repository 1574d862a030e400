import {
  ExecutorCore,
  type Leftovers,
  type Outage,
  presentWork,
  SimulatedTime,
  virtualExecutor,
} from "@slicescheduler/executor";
import { SubmissionError } from "@slicescheduler/gmg";
import { SchedulerError } from "@slicescheduler/scheduler";
import fc from "fast-check";
import {
  type InstanceHandle,
  MasterCore,
  type Plan,
  type PredictedInstance,
  planAhead,
  SliceScheduler,
  type SliceSchedulerOptions,
} from "slicescheduler";
import { expect, test } from "vitest";
import { faults, type LogEntry, operatorNs, type RunOptions, runWorkload, worlds } from "../src/index.ts";
import { exactEstimators, newEstimators } from "./exact-estimators.ts";

const numRuns = Number(process.env["WORLDS"] ?? 30);
const timeoutMs = 30_000 + numRuns * 1000;

const modes = fc.record({
  memorySafety: fc.constantFrom("guaranteed" as const, "predicted" as const),
  scheduling: fc.record(
    {
      slices: fc.constantFrom(false as const, { toleranceNs: 3 }),
      turnMsMax: fc.constantFrom(0.001, 0.01),
      starvationBoundNs: fc.constant(30),
      preemptionsPerRequestMax: fc.constant(1),
    },
    { requiredKeys: [] },
  ),
});

/** At most one accelerator is away for a while. */
const drawnOutage = fc.option(
  fc.record({ accelerator: fc.nat(), lostNs: fc.nat({ max: 90 }), absentNs: fc.integer({ min: 1, max: 50 }) }),
);

function outagesOf({ cluster }: RunOptions, drawn: typeof drawnOutage extends fc.Arbitrary<infer T> ? T : never) {
  if (drawn === null) return [];
  const { accelerator, lostNs, absentNs } = drawn;
  return [{ accelerator: accelerator % cluster.accelerators.length, lostNs, backNs: lostNs + absentNs }];
}

type Modes = typeof modes extends fc.Arbitrary<infer T> ? T : never;

function exactly(world: RunOptions, drawn: Modes): NonNullable<SliceSchedulerOptions["scheduling"]> {
  if (world.durations === undefined) throw new RangeError("the world has no durations");
  return { ...world.scheduling, ...drawn.scheduling, estimators: exactEstimators(world, world.durations) };
}

/** The world with nothing asked after `cutNs`, no noise, and estimators that know the truth. */
function quietAfter(world: RunOptions, cutNs: number, drawn: Modes): RunOptions {
  const instances = world.workload.instances.map((instance) => {
    const { atNs, cancelAtNs } = instance;
    const inTime = cancelAtNs !== null && cancelAtNs <= cutNs ? cancelAtNs : null;
    return { ...instance, atNs: Math.min(atNs, cutNs), cancelAtNs: inTime };
  });
  const requests = world.workload.requests.map((request) => ({ ...request, atNs: Math.min(request.atNs, cutNs) }));
  const noNoise = { operatorCv: 0, transferCv: 0, validate: false };
  const { memorySafety } = drawn;
  return { ...world, ...noNoise, workload: { requests, instances }, scheduling: exactly(world, drawn), memorySafety };
}

/** How instances really started, were laid and ended, as plans tell it. */
class Truth {
  readonly decisions: Plan["decisions"][number][] = [];
  #startsAreKnown: boolean = true;
  readonly #starts = new Map<number, number>();
  readonly #ends = new Map<number, Pick<PredictedInstance, "outcome" | "endNs">>();
  readonly #partitions = new Map<number, string>();

  note({ name, value }: LogEntry): void {
    if (name === "decision") {
      this.decisions.push(value);
      this.#partitions.set(value.instance, value.partition);
    } else if (name === "acceleratorLost") {
      // Instances that lose what they have made begin again; when is told by the graph alone.
      this.#startsAreKnown = false;
    } else if (name === "operatorStarted") {
      if (!this.#starts.has(value.instance)) this.#starts.set(value.instance, value.atNs);
    } else if (name === "instanceDone") this.#ends.set(value.instance, { outcome: "done", endNs: value.atNs });
    else if (name === "instanceFailed") this.#ends.set(value.instance, { outcome: "failed", endNs: value.atNs });
    else if (name === "instanceCancelled") this.#ends.set(value.instance, { outcome: "cancelled", endNs: value.atNs });
  }

  of(instance: number): unknown {
    const { outcome, endNs } = this.#ends.get(instance) ?? { outcome: "open", endNs: null };
    const startNs = this.#startsAreKnown ? (this.#starts.get(instance) ?? "none") : expect.anything();
    return { instance, outcome, endNs, startNs, partition: this.#partitions.get(instance) ?? null };
  }
}

function told({ instance, outcome, endNs, startNs, partition }: PredictedInstance): unknown {
  return { instance, outcome, endNs, startNs: startNs ?? "none", partition };
}

function expectTrue(plan: Plan, truth: Truth): void {
  expect(plan.instances.map(told)).toEqual(plan.instances.map(({ instance }) => truth.of(instance)));
  const first = plan.decisions[0]?.round ?? 0;
  expect(plan.decisions).toEqual(truth.decisions.slice(first, first + plan.decisions.length));
}

test(
  "with exact estimates and nothing more asked, a plan made at any moment is what happens, to the nanosecond and the score",
  async () => {
    let compared = 0;
    const crowded = worlds({ cancels: true, hbm: "tight", acceleratorsMax: 2, groupsMin: 4, groupsMax: 9 });
    const cuts = fc.nat({ max: 150 });
    const every = fc.integer({ min: 1, max: 9 });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(worlds({ cancels: true }), crowded),
        cuts,
        every,
        drawnOutage,
        modes,
        async (world, cut, n, away, drawn) => {
          const outages = outagesOf(world, away);
          const cutNs = Math.max(cut, outages[0]?.backNs ?? 0);
          const plans: Plan[] = [];
          let steps = 0;
          const { log } = await runWorkload({
            ...quietAfter(world, cutNs, drawn),
            outages,
            onQuiet: ({ scheduler, executor }) => {
              if (executor.clock.nowNs() > cutNs && steps++ % n === 0) plans.push(scheduler.plan());
            },
          });
          const truth = new Truth();
          for (const entry of log) truth.note(entry);
          for (const plan of plans) {
            if (plan.decisions.length > 0) compared += 1;
            expect(plan.stopped).toBe("settled");
            expectTrue(plan, truth);
          }
        },
      ),
      { numRuns },
    );
    expect(compared).toBeGreaterThan(numRuns);
  },
  timeoutMs,
);

interface Submission {
  readonly template: number;
  readonly tokens: number;
  readonly priority: string;
  readonly tenant: string;
  readonly gapNs: number;
}

/** Submits one after the other; most read the result of the one before, so far as they can. */
class Submitter {
  readonly truth = new Truth();
  readonly #world: RunOptions;
  readonly #time = new SimulatedTime();
  readonly #scheduler: SliceScheduler;
  #before: { readonly handle: InstanceHandle; readonly tokens: number } | null = null;

  constructor(world: RunOptions, drawn: Modes) {
    const { cluster, durations, arbitration = {} } = world;
    const tenants = { heavy: { weight: 3 }, narrow: { placedRequestsMax: 1 } };
    const scheduling = { ...exactly(world, drawn), tenants, queuedRequestsMax: 3 };
    const truth = (work: Parameters<typeof operatorNs>[1]) => operatorNs(durations as never, work);
    const executor = virtualExecutor({ seed: 0, time: this.#time, operatorNs: truth });
    const { memorySafety } = drawn;
    this.#world = world;
    this.#scheduler = new SliceScheduler({ cluster, executor, scheduling, arbitration, memorySafety });
    for (const name of ["decision", "operatorStarted", "instanceDone", "instanceFailed", "instanceCancelled"] as const)
      this.#scheduler.on(name, (value: unknown) => this.truth.note({ name, value } as LogEntry));
    for (const template of world.templates) this.#scheduler.register(template);
  }

  /** The what-if of a submission, and then the code with which it is refused, null when it is not. */
  submit({ template, tokens, priority, tenant, gapNs }: Submission) {
    this.#time.run(this.#time.nowNs() + gapNs);
    const spec = this.#world.templates[template % this.#world.templates.length];
    if (spec === undefined) throw new RangeError("the world has no templates");
    const before = this.#before?.tokens === tokens ? this.#before.handle : undefined;
    const reads = spec.inputs?.["hidden"] !== undefined && before !== undefined;
    const inputs = reads ? { hidden: before.output("hidden") } : {};
    const options = { symbols: { past: 0, tokens }, inputs, ...(reads ? {} : { priority, tenant }) } as never;
    const handle = { name: spec.name, spec };
    const answer = this.#scheduler.whatIf(handle, options);
    try {
      this.#before = { handle: this.#scheduler.submit(handle, options), tokens };
      return { answer, refused: null };
    } catch (error) {
      if (!(error instanceof SubmissionError || error instanceof SchedulerError)) throw error;
      return { answer, refused: error.code };
    }
  }

  end(): void {
    this.#time.run();
  }
}

test(
  "with exact estimates, a what-if of a submission that is then made is what happens, to it and to all others",
  async () => {
    const submission: fc.Arbitrary<Submission> = fc.record({
      template: fc.nat(),
      tokens: fc.integer({ min: 1, max: 3 }),
      priority: fc.constantFrom("online", "offline"),
      tenant: fc.constantFrom("heavy", "narrow"),
      gapNs: fc.nat({ max: 25 }),
    });
    const submissions = fc.array(submission, { minLength: 1, maxLength: 8 });
    let accepted = 0;
    let delayed = 0;
    await fc.assert(
      fc.asyncProperty(worlds(), submissions, modes, async (world, all, drawn) => {
        const run = new Submitter(world, drawn);
        const answers = all.map((each) => run.submit(each));
        run.end();
        await Promise.resolve();
        for (const { answer, refused } of answers) expect(answer.refused?.code ?? null).toBe(refused);
        // Whatever is asked after an answer may change what happens, one that is refused too: it opens a request and closes it.
        const last = answers.at(-1);
        if (last === undefined || last.refused !== null) return;
        accepted += 1;
        expectTrue(last.answer.plan, run.truth);
        expect(last.answer.submitted.length).toBe(1);
        for (const { without, with: predicted, delayNs } of last.answer.affected) {
          if (delayNs === null) continue;
          expect((without.endNs ?? 0) + delayNs).toBe(predicted.endNs);
          delayed += 1;
        }
      }),
      { numRuns: numRuns * 2 },
    );
    expect(accepted).toBeGreaterThan(numRuns / 2);
    expect(delayed).toBeGreaterThan(numRuns / 4);
  },
  timeoutMs,
);

/** Of an executor that goes on from what a core's graph says. */
function leftoversOfAdopted({ graph, scheduler }: MasterCore, nowNs: number): Leftovers {
  const work = presentWork(graph, graph.snapshot(), (operator) => scheduler.isHeldBack(operator));
  expect(work.unanswered).toEqual([]);
  const executor = new ExecutorCore(graph.cluster, { present: { work, nowNs } });
  executor.validate();
  expect(executor.next(nowNs)).toBe(undefined);
  return inOrder(executor.leftovers());
}

/** Copies are kept in the order in which they were expected, which no one depends on. */
function inOrder({ operators, tensors, transfers }: Leftovers): Leftovers {
  const sorted = [...tensors].sort((a, b) => a.accelerator - b.accelerator || a.tensor - b.tensor);
  return { operators, tensors: sorted, transfers };
}

/** The run, with a plan and a what-if at every `every`th moment; none where it is 0. */
async function runWith(world: RunOptions, outages: readonly Outage[], drawn: Modes, every: number): Promise<unknown> {
  const { memorySafety } = drawn;
  const scheduling = () => ({ ...world.scheduling, ...drawn.scheduling, estimators: newEstimators(world) });
  const [spec] = world.templates;
  if (spec === undefined) throw new RangeError("the world has no templates");
  const learning = scheduling();
  const core = new MasterCore({
    cluster: world.cluster,
    arbitration: world.arbitration ?? {},
    memorySafety,
    scheduling: scheduling(),
    health: false,
  });
  const stateOf = ({ graph, scheduler }: MasterCore) => [graph.hash(), JSON.stringify(scheduler.estimators.save())];
  let replayed = 0;
  const { log, recorded, outcomes, stats, executorStats } = await runWorkload({
    ...world,
    outages,
    memorySafety,
    scheduling: learning,
    validate: false,
    onQuiet: ({ scheduler, recorded: events, executor }) => {
      if (every === 0) return;
      const from = replayed;
      for (; replayed < events.length; replayed++) {
        const { event, nowNs } = events[replayed] as (typeof events)[number];
        core.handle(event, nowNs);
      }
      if (from === replayed || replayed % every !== 0) return;
      const nowNs = executor.clock.nowNs();
      expect(leftoversOfAdopted(core, nowNs)).toEqual(inOrder(executor.leftovers()));
      const before = stateOf(core);
      const plan = planAhead(core, nowNs);
      expect(stateOf(core)).toEqual(before);
      expect(JSON.stringify(scheduler.plan())).toBe(JSON.stringify(plan));
      scheduler.whatIf({ name: spec.name, spec }, { symbols: { past: 0, tokens: 2 }, priority: "online" });
    },
  });
  return { log: JSON.stringify(log), recorded, outcomes, stats, executorStats, learned: learning.estimators.save() };
}

test(
  "plans and what-ifs leave no trace: the run, its graph and what was learned are the same, byte for byte",
  async () => {
    const every = fc.integer({ min: 1, max: 7 });
    await fc.assert(
      fc.asyncProperty(
        worlds({ cancels: true }),
        faults(),
        every,
        drawnOutage,
        modes,
        async (world, broken, n, away, drawn) => {
          const outages = outagesOf(world, away);
          const faulty = { ...world, faults: broken };
          expect(await runWith(faulty, outages, drawn, n)).toEqual(await runWith(faulty, outages, drawn, 0));
        },
      ),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  },
  timeoutMs,
);
