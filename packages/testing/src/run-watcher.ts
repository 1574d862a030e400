import {
  type Cluster,
  type ClusterSpec,
  type CompiledPartition,
  compileCluster,
  compileTemplate,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/gmg";
import type { Notices, SliceScheduler } from "slicescheduler";
import { InvariantViolation } from "./invariant-violation.ts";
import type { Violation, ViolationKind } from "./violation.ts";

export type Outcome = "done" | "failed" | "cancelled";

/** Violations kept; a broken run breaks everywhere. */
const VIOLATIONS_MAX = 50;

export interface RunWatcherOptions {
  /** Whether the scheduler hears of things later than they happen: then durations cannot be compared. Default false. */
  readonly messagesTravel?: boolean;
}

interface Submission {
  readonly template: string;
  readonly inputs?: Readonly<Record<string, { readonly instance: number; readonly output: string }>>;
  readonly partitions?: readonly string[] | null;
}

type OperatorState = "unissued" | "issued" | "running" | "done" | "failed";

interface WatchedInstance {
  readonly id: number;
  readonly template: Template;
  readonly states: OperatorState[];
  /** Per operator, where it was issued last and how often results had been lost then; −1 before. */
  readonly issues: { accelerator: number; losses: number }[];
  /** Operators that were done once, whatever became of their results. */
  readonly everDone: Set<number>;
  /** Per operator, what must be done before it starts. */
  readonly needs: readonly (readonly { readonly instance: number; readonly operator: number }[])[];
  readonly allowed: readonly CompiledPartition[];
  /** Where all operators issued so far, or since the last loss, may be by them; one at least is left. */
  partitions: readonly CompiledPartition[];
  outcome: Outcome | null;
  /** Results of it were lost after its outcome, and are made again. */
  runsAgain: boolean;
}

/**
 * Watches a `SliceScheduler` from outside and keeps its own books, from what was registered and submitted and from the events:
 * every operator is issued and runs at most once, after everything it needs, alone on its accelerator, all operators of an
 * instance on one partition; every instance has exactly one outcome, and a done one has run all of its operators. Time never
 * steps back. Violations are collected, because what a listener throws does not reach the caller; `finish` throws them.
 *
 * Tell it of each template and instance right after `register` and `submit`. Memory grows with the instances of the run.
 */
export class RunWatcher {
  readonly #cluster: Cluster;
  readonly #templates = new Map<string, Template>();
  readonly #instances = new Map<number, WatchedInstance>();
  /** Per accelerator, what runs there, in words. */
  readonly #running = new Map<number, { readonly words: string; readonly sinceNs: number }>();
  readonly #found: Violation[] = [];
  readonly #messagesTravel: boolean;
  #losses = 0;
  #nowNs = 0;

  constructor(scheduler: SliceScheduler, cluster: ClusterSpec, options: RunWatcherOptions = {}) {
    this.#cluster = compileCluster(cluster);
    this.#messagesTravel = options.messagesTravel ?? false;
    scheduler.on("operatorIssued", (notice) => this.#issued(notice));
    scheduler.on("operatorStarted", (notice) => this.#started(notice));
    scheduler.on("operatorDone", (notice) => this.#ended(notice, "done"));
    scheduler.on("operatorFailed", (notice) => this.#ended(notice, "failed"));
    scheduler.on("operatorWithdrawn", (notice) => this.#withdrawn(notice));
    scheduler.on("transferDone", ({ atNs }) => this.#advance(atNs, "a transfer"));
    scheduler.on("acceleratorLost", ({ accelerator, atNs }) => this.#lost(accelerator, atNs));
    scheduler.on("instanceDone", (notice) => this.#settled(notice, "done"));
    scheduler.on("instanceFailed", (notice) => this.#settled(notice, "failed"));
    scheduler.on("instanceCancelled", (notice) => this.#settled(notice, "cancelled"));
  }

  /** A template was registered. */
  registered(spec: TemplateSpec): void {
    this.#templates.set(spec.name, compileTemplate(spec, this.#cluster));
  }

  /** An instance was submitted. Throws a `RangeError` for a template it was not told of. */
  submitted(instance: number, { template: name, inputs = {}, partitions = null }: Submission): void {
    const template = this.#templates.get(name);
    if (template === undefined) throw new RangeError(`template ${JSON.stringify(name)} was not registered`);
    if (this.#instances.has(instance)) this.#violated(`instance ${instance} was submitted twice`, "doubled");
    this.#instances.set(instance, {
      id: instance,
      template,
      states: template.operators.map(() => "unissued"),
      issues: template.operators.map(() => ({ accelerator: -1, losses: -1 })),
      everDone: new Set(),
      needs: template.operators.map((operator) =>
        operator.inputs.flatMap((input) =>
          input.slot < 0 ? [{ instance, operator: input.operator }] : this.#writerOf(template, input.slot, inputs),
        ),
      ),
      allowed: template.partitions.filter((partition) => partitions?.includes(partition.name) ?? true),
      partitions: template.partitions.filter((partition) => partitions?.includes(partition.name) ?? true),
      outcome: null,
      runsAgain: false,
    });
  }

  /** What became of an instance; null while it lives. */
  outcome(instance: number): Outcome | null {
    return this.#instances.get(instance)?.outcome ?? null;
  }

  get violations(): readonly string[] {
    return this.#found.map(({ words }) => words);
  }

  /** The same, with their kinds. */
  get found(): readonly Violation[] {
    return this.#found;
  }

  /** The run is over: throws an `InvariantViolation` unless everything held and every instance has its outcome. */
  finish(): void {
    this.end();
    if (this.#found.length > 0) throw new InvariantViolation(this.#found);
  }

  /** The run is over: notes every instance without outcome and every operator that still runs. Call it once. */
  end(): void {
    for (const { id, outcome } of this.#instances.values()) {
      if (outcome === null) this.#violated(`instance ${id} has no outcome`, "lost");
    }
    for (const { words } of this.#running.values()) this.#violated(`${words} runs at the end`);
  }

  #writerOf(template: Template, slot: number, inputs: NonNullable<Submission["inputs"]>) {
    const input = template.inputs.find(({ first, count }) => slot >= first && slot < first + count);
    const reference = inputs[input?.name ?? ""];
    if (input === undefined || reference === undefined) return [];
    const writer = this.#instances.get(reference.instance)?.template;
    const output = writer?.outputs.find(({ name }) => name === reference.output);
    const tensor = output?.refs[slot - input.first];
    return tensor === undefined ? [] : [{ instance: reference.instance, operator: tensor.operator }];
  }

  #issued(notice: Notices["operatorIssued"]): void {
    const { words, instance } = this.#find(notice, "was issued");
    if (instance === undefined) return;
    const { states, issues, outcome } = instance;
    // After a loss its results may be needed again.
    const isAgain = issues[notice.operator]?.losses !== this.#losses && issues[notice.operator]?.losses !== -1;
    if (states[notice.operator] !== "unissued" && !isAgain) this.#violated(`${words} was issued twice`, "doubled");
    // Whatever became of the instance: others may read what it had made.
    if (outcome !== null && isAgain) instance.runsAgain = true;
    if (outcome !== null && !instance.runsAgain)
      this.#violated(`${words} was issued after the instance was ${outcome}`);
    issues[notice.operator] = { accelerator: notice.accelerator, losses: this.#losses };
    instance.states[notice.operator] = "issued";
    instance.partitions = instance.partitions.filter(
      ({ acceleratorOf }) => acceleratorOf[notice.operator] === notice.accelerator,
    );
    if (instance.partitions.length === 0) {
      this.#violated(`${words} was laid on ${notice.acceleratorName}: no allowed partition has all of the instance so`);
    }
  }

  #started(notice: Notices["operatorStarted"]): void {
    const { words, instance } = this.#find(notice, "started");
    if (instance === undefined) return;
    const state = instance.states[notice.operator];
    if (state !== "issued") {
      this.#violated(`${words} started when it was ${state}`, state === "unissued" ? "broken" : "doubled");
    }
    instance.states[notice.operator] = "running";
    for (const need of instance.needs[notice.operator] ?? []) {
      const writer = this.#instances.get(need.instance);
      const found = writer?.states[need.operator];
      // A copy may outlive the accelerator on which it was made.
      if (found === "done" || (this.#losses > 0 && writer?.everDone.has(need.operator))) continue;
      this.#violated(`${words} started when operator ${need.operator} of instance ${need.instance} was ${found}`);
    }
    const beside = this.#running.get(notice.accelerator);
    if (beside !== undefined) this.#violated(`${words} started beside ${beside.words}`);
    this.#running.set(notice.accelerator, { words, sinceNs: notice.atNs });
  }

  #ended(notice: Notices["operatorDone"] | Notices["operatorFailed"], to: "done" | "failed"): void {
    const { words, instance } = this.#find(notice, `was ${to}`);
    if (instance === undefined) return;
    const running = this.#running.get(notice.accelerator);
    if (running?.words === words) {
      this.#running.delete(notice.accelerator);
      if (!this.#messagesTravel && "observedNs" in notice && notice.observedNs !== notice.atNs - running.sinceNs) {
        this.#violated(`${words} ran from ${running.sinceNs} to ${notice.atNs} ns and reports ${notice.observedNs} ns`);
      }
    } else if (to === "done") this.#violated(`${words} was done and did not run there`);
    instance.states[notice.operator] = to;
    if ("again" in notice && notice.again) {
      instance.states[notice.operator] = "unissued";
      this.#layAnew();
    }
    if (to === "done") instance.everDone.add(notice.operator);
  }

  /** It was taken back; an instance of which nothing is left may be laid elsewhere. */
  #withdrawn(notice: Notices["operatorWithdrawn"]): void {
    const { words, instance } = this.#find(notice, "was withdrawn");
    if (instance === undefined) return;
    const { states, allowed } = instance;
    if (states[notice.operator] !== "issued")
      this.#violated(`${words} was withdrawn when it was ${states[notice.operator]}`);
    states[notice.operator] = "unissued";
    if (states.every((state) => state === "unissued")) instance.partitions = allowed;
  }

  /** What was there is not there any more; everything may have to be laid anew. */
  #lost(accelerator: number, atNs: number): void {
    this.#advance(atNs, `the loss of accelerator ${accelerator}`);
    this.#layAnew();
    this.#running.delete(accelerator);
    for (const instance of this.#instances.values()) {
      instance.issues.forEach((issue, operator) => {
        const state = instance.states[operator];
        if (issue.accelerator === accelerator && (state === "issued" || state === "running"))
          instance.states[operator] = "unissued";
      });
    }
  }

  /** Results are lost or given up, and made again. */
  #layAnew(): void {
    this.#losses += 1;
    for (const instance of this.#instances.values()) instance.partitions = instance.allowed;
  }

  #settled({ instance: id, atNs }: Notices["instanceDone"], outcome: Outcome): void {
    this.#advance(atNs, `the end of instance ${id}`);
    const instance = this.#instances.get(id);
    if (instance === undefined) {
      this.#violated(`instance ${id} was ${outcome} and never submitted`);
      return;
    }
    if (instance.outcome !== null) this.#violated(`instance ${id} was ${instance.outcome}, then ${outcome}`, "doubled");
    const left = instance.states.filter((state) => state !== "done").length;
    if (outcome === "done" && left > 0) this.#violated(`instance ${id} is done and ${left} of its operators are not`);
    instance.outcome = outcome;
  }

  #find(notice: Notices["operatorIssued"], what: string) {
    const { instance: id, operator, operatorName, atNs } = notice;
    const words = `operator ${operatorName} (${operator}) of instance ${id}`;
    this.#advance(atNs, words);
    const instance = this.#instances.get(id);
    if (instance?.states[operator] !== undefined) return { words, instance };
    this.#violated(`${words} ${what} and was never submitted`);
    return { words, instance: undefined };
  }

  #advance(atNs: number, what: string): void {
    if (atNs < this.#nowNs) this.#violated(`${what} was told of at ${atNs} ns, after ${this.#nowNs} ns`);
    this.#nowNs = Math.max(this.#nowNs, atNs);
  }

  #violated(violation: string, kind: ViolationKind = "broken"): void {
    if (this.#found.length >= VIOLATIONS_MAX) return;
    this.#found.push({ kind, words: `at ${this.#nowNs} ns: ${violation}`, amount: 1 });
  }
}
