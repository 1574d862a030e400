import type { Executor, ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import type { GraphSnapshot, TemplateSpec } from "@slicescheduler/gmg";
import { checkedOptions } from "./check-options.ts";
import { MasterCore } from "./core.ts";
import { InstanceCancelledError, InvalidOptionsError, SliceSchedulerError } from "./errors.ts";
import type { ApplicationEvent, MasterEvent, Notice, Notices, TimeEvent } from "./events.ts";
import { type Explanation, explainInstance } from "./explain.ts";
import { GuardedEmitter } from "./guarded-emitter.ts";
import type {
  InstanceHandle,
  OpenRequestOptions,
  OutputHandle,
  RequestHandle,
  RequestOptions,
  SubmitOptions,
  TemplateHandle,
} from "./handles.ts";
import { InstanceRecord } from "./instance-record.ts";
import { Meter } from "./metrics.ts";
import type { SliceSchedulerOptions } from "./options.ts";
import { type Overview, type OverviewOptions, overviewOf } from "./overview.ts";
import { type MasterStats, masterStats } from "./stats.ts";
import { type Plan, type PlanOptions, planAhead, type WhatIf, whatIf } from "./what-if.ts";

/**
 * The master: one graph of the cluster, one scheduler, one executor, behind one class. Templates are registered once;
 * instances are submitted and settle on their own; everything that happens is emitted as a typed event, after the change it
 * tells of: what an executor reports at once, what a call causes after the call has returned. A listener may call any
 * method; one that throws touches nobody else.
 */
export class SliceScheduler extends GuardedEmitter<Notices> {
  readonly #core: MasterCore;
  readonly #executor: Executor;
  /** Null where nothing is measured. */
  readonly #meter: Meter | null;
  readonly #options: SliceSchedulerOptions;
  readonly #priorities: readonly string[];
  readonly #records = new Map<number, InstanceRecord>();
  /** Of templates that are registered, and that the executor refused in between: what it is still to carry out. */
  readonly #unloaded = new Map<string, readonly ExecutorInstruction[]>();
  readonly #queue: (ExecutorEvent | TimeEvent)[] = [];
  readonly #notices: Notice[] = [];
  #nextRequest = 0;
  #nextInstance = 0;
  #nowNs = 0;
  #hostNs = 0;
  #pumping: boolean = false;
  #asking: boolean = false;
  #telling: boolean = false;
  #closed: boolean = false;
  #preparing: boolean = false;
  /** When the core is to be woken, and what takes that back. */
  #wakeNs = Number.POSITIVE_INFINITY;
  #forgetWake: (() => void) | null = null;

  /** Throws CLUSTER_INVALID, INVALID_OPTIONS; both name every fault at once. */
  constructor(options: SliceSchedulerOptions) {
    super(checkedOptions(options).onListenerError ?? throwOnItsOwn);
    this.#options = options;
    this.#priorities = options.priorities ?? ["online", "offline"];
    this.#core = new MasterCore({ ...options, manifest: options.executor.manifest });
    this.#executor = options.executor;
    this.#meter = this.#meterFor(options);
    this.#executor.open({ cluster: options.cluster, deliver: (event) => this.#deliver(event) });
  }

  /**
   * Registers a template and loads its weights on every partition. Throws TEMPLATE_INVALID, TEMPLATE_EXISTS, WEIGHTS_MISMATCH, NEVER_FITS, and what the
   * executor throws. Nothing is registered then, except where the executor had begun to load weights: the template keeps its memory,
   * and the same call made again goes on where that one stopped.
   */
  register<const Symbols extends string, const Inputs extends string = never, const Outputs extends string = never>(
    template: TemplateSpec<Symbols, Inputs, Outputs>,
  ): TemplateHandle<TemplateSpec<Symbols, Inputs, Outputs>> {
    if (!this.#resumesLoading(template)) {
      if (!this.#closed && !this.#core.graph.hasTemplate(template.name)) this.#executor.checkTemplate?.(template);
      this.#ask({ type: "templateRegistered", template });
    }
    return { name: template.name, spec: template };
  }

  /**
   * Opens a request: instances that share results and one memory claim. Throws UNKNOWN_PRIORITY, UNKNOWN_TEMPLATE, symbol
   * errors, NEVER_FITS.
   */
  openRequest(options: OpenRequestOptions = {}): RequestHandle {
    const id = this.#openRequest(options, false);
    return { id, close: () => this.#closeRequest(id) };
  }

  /**
   * Submits an instance; it runs when its inputs are there and the scheduler finds it a place. Refusals (`SubmissionError`
   * and symbol errors of `@slicescheduler/gmg`, UNKNOWN_PRIORITY here) change nothing.
   */
  submit<Spec extends TemplateSpec>(
    template: TemplateHandle<Spec>,
    options: SubmitOptions<Spec>,
  ): InstanceHandle<Spec> {
    if (this.#preparing)
      throw new InvalidOptionsError(["prepare: it submits another instance; do that before or after the submission"]);
    const joined = this.#joinedBy(options);
    const request = joined ?? this.#openRequest({ ...options, partitions: undefined }, true);
    const id = this.#nextInstance;
    const submittedNs = this.#now();
    // Instructions may settle it before `#ask` returns.
    this.#records.set(id, new InstanceRecord(submittedNs));
    try {
      if (options.prepare !== undefined) this.#prepare(id, options.prepare);
      this.#ask(this.#submissionEvent(template, options, id, request));
    } catch (error) {
      // What throws after it was taken on is the executor; then it is in the graph and keeps its record.
      if (this.#core.graph.instance(id) === undefined) {
        this.#records.delete(id);
        if (joined === undefined) this.#closeRequest(request);
      }
      throw error;
    }
    return this.#handle<Spec>(id);
  }

  /**
   * Nothing more is placed on an accelerator; what is placed there runs to its end, and then `acceleratorDrained` is emitted. Requests
   * that wait and have nowhere else to go fail. It holds until `resumeAccelerator`, whether the accelerator is there, lost, or not there
   * yet; a second call does nothing. Throws UNKNOWN_ACCELERATOR.
   */
  drainAccelerator(name: string): void {
    this.#ask({ type: "acceleratorDrained", accelerator: this.#core.graph.cluster.indexOf(name) });
  }

  /**
   * Ends draining: an accelerator that is there can be placed on at once, one that is not when its executor says that it returned. Does
   * nothing to one that is not being drained. Throws UNKNOWN_ACCELERATOR.
   */
  resumeAccelerator(name: string): void {
    this.#ask({ type: "acceleratorResumed", accelerator: this.#core.graph.cluster.indexOf(name) });
  }

  /** As `cancel` of its handle: settles it at once, and does nothing when it has ended. Throws UNKNOWN_INSTANCE for one that never was. */
  cancelInstance(instance: number): void {
    if (!(Number.isSafeInteger(instance) && instance >= 0 && instance < this.#nextInstance)) {
      const message = `there is no instance ${instance}; ${this.#nextInstance} were submitted so far, numbered from 0`;
      throw new SliceSchedulerError("UNKNOWN_INSTANCE", message, { instance });
    }
    this.#ask({ type: "instanceCancelled", instance });
  }

  /** What was decided about an instance and why, and what it waits for. Undefined when nothing is known of it any more. */
  explain(instance: number): Explanation | undefined {
    return explainInstance(this.#core, instance, this.#now());
  }

  /** What runs, what waits and for what, cut to what somebody can look at. Changes nothing. Throws INVALID_OPTIONS. See `overviewOf` for the cost. */
  overview({ rows = 20 }: OverviewOptions = {}): Overview {
    if (!(Number.isSafeInteger(rows) && rows > 0))
      throw new InvalidOptionsError([`rows: ${rows} is not a whole number above 0`]);
    return overviewOf(this.#core, this.#priorities, this.#now(), rows);
  }

  /** What is decided next, and when what is there now will have ended, if nothing more is asked. Changes nothing. See `planAhead`. */
  plan(options?: PlanOptions): Plan {
    this.#checkOpen("plan");
    return planAhead(this.#core, this.#now(), options);
  }

  /**
   * What would happen if this were submitted now: when it starts and ends, and what it delays. Changes nothing. Throws INVALID_OPTIONS; why it
   * would be refused is in the answer. See `whatIf`.
   */
  whatIf<Spec extends TemplateSpec>(
    template: TemplateHandle<Spec>,
    options: SubmitOptions<Spec>,
    planOptions?: PlanOptions,
  ): WhatIf {
    this.#checkOpen("whatIf");
    return whatIf(this.#core, this.#now(), () => this.#submissionEvents(template, options), planOptions);
  }

  stats(): MasterStats {
    return masterStats(this.#core, this.#executor, this.#options.hostNowNs === undefined ? null : this.#hostNs);
  }

  /**
   * Bytes in use on an accelerator now, by the master's account, which knows of what the executor has reported; by index in the cluster's order.
   * Costs next to nothing, while `stats` asks the executor. Throws UNKNOWN_ACCELERATOR.
   */
  usedHbmBytes(accelerator: number): number {
    return this.#core.graph.ledger.usedBytes(accelerator);
  }

  /** The graph as a plain value, to store beside a log or to look into later (`slicescheduler inspect`); linear in the graph. See docs/snapshots.md. */
  snapshot(): GraphSnapshot {
    this.#checkOpen("snapshot");
    return this.#core.graph.snapshot();
  }

  /** Recounts the graph, and what the arbiter has of its transfers, from scratch. Throws INVARIANT_BROKEN. For tests. */
  validate(): void {
    this.#core.validate();
  }

  /** Stops the executor. What is not done is abandoned: its `done` rejects with CLOSED, and no event is emitted any more. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#forgetWake?.();
    this.#executor.close();
    this.removeAllListeners();
    for (const [instance, record] of this.#records) {
      const message = `the scheduler was closed before instance ${instance} was done`;
      record.settle({ error: new SliceSchedulerError("CLOSED", message, { instance }) });
    }
    this.#records.clear();
  }

  #meterFor({ metrics, executor, hostNowNs }: SliceSchedulerOptions): Meter | null {
    if (metrics === undefined) return null;
    const onError = (error: unknown) => this.#report(error, "metrics");
    const nowNs = () => this.#now();
    return new Meter({ core: this.#core, executor, priorities: this.#priorities, nowNs, hostNowNs, onError }, metrics);
  }

  /** Numbers rise in the order in which the core takes instances, so nothing else is submitted meanwhile. */
  #prepare(instance: number, prepare: (instance: number) => void): void {
    this.#nextInstance = instance + 1;
    this.#preparing = true;
    try {
      prepare(instance);
    } finally {
      this.#preparing = false;
    }
  }

  #openRequest(
    options: OpenRequestOptions | (RequestOptions & { partitions: undefined }),
    endsWithInstances: boolean,
  ): number {
    const event = this.#openingEvent(options, endsWithInstances);
    this.#ask(event);
    this.#nextRequest += 1;
    return event.request;
  }

  /** What `submit` asks. */
  #submissionEvents<Spec extends TemplateSpec>(
    template: TemplateHandle<Spec>,
    options: SubmitOptions<Spec>,
  ): ApplicationEvent[] {
    const joined = this.#joinedBy(options);
    if (joined !== undefined) return [this.#submissionEvent(template, options, this.#nextInstance, joined)];
    const opening = this.#openingEvent({ ...options, partitions: undefined }, true);
    return [opening, this.#submissionEvent(template, options, this.#nextInstance, opening.request)];
  }

  #submissionEvent<Spec extends TemplateSpec>(
    template: TemplateHandle<Spec>,
    options: SubmitOptions<Spec>,
    instance: number,
    request: number,
  ): ApplicationEvent {
    const { symbols, priority, deadlineNs = null, label = "", partitions = null, retain = [] } = options;
    return {
      type: "instanceSubmitted",
      instance,
      request,
      template: template.name,
      symbols,
      inputs: inputsOf(options),
      retain,
      partitions,
      label,
      rank: priority === undefined ? null : this.#rankOf(priority),
      deadlineNs,
    };
  }

  #openingEvent(
    options: OpenRequestOptions | (RequestOptions & { partitions: undefined }),
    endsWithInstances: boolean,
  ): Extract<ApplicationEvent, { type: "requestOpened" }> {
    const { priority = this.#priorities[0] as string, deadlineNs, label, partitions } = options;
    checkTimes(options);
    const { limits, concurrentInstances = 2, chains = 1, mayPause = false } = options as OpenRequestOptions;
    return {
      type: "requestOpened",
      request: this.#nextRequest,
      label: label ?? "",
      rank: this.#rankOf(priority),
      tenant: options.tenant ?? "",
      deadlineNs: deadlineNs ?? null,
      failAtDeadline: options.failAtDeadline ?? false,
      queueTimeoutNs: options.queueTimeoutNs ?? null,
      limits: limits?.map(({ template, symbols }) => ({ template: template.name, symbols })) ?? null,
      concurrentInstances,
      chains,
      mayPause,
      partitions: partitions ?? null,
      endsWithInstances,
    };
  }

  /** The request that an instance joins; undefined when it gets one of its own. */
  #joinedBy<Spec extends TemplateSpec>(options: SubmitOptions<Spec>): number | undefined {
    const joined = options.request?.id ?? this.#requestOf(inputsOf(options));
    if (joined !== undefined) checkJoined(options, joined);
    return joined;
  }

  #rankOf(priority: string): number {
    const rank = this.#priorities.indexOf(priority);
    if (rank >= 0) return rank;
    throw new SliceSchedulerError(
      "UNKNOWN_PRIORITY",
      `there is no priority class ${JSON.stringify(priority)}; the classes are ${this.#priorities.join(", ")}`,
      { priority },
    );
  }

  #closeRequest(request: number): void {
    if (!this.#closed) this.#ask({ type: "requestClosed", request });
  }

  /** Instances that read results belong to the request that has them. */
  #requestOf(inputs: Readonly<Record<string, OutputHandle>>): number | undefined {
    for (const { instance } of Object.values(inputs)) {
      const request = this.#core.graph.instance(instance)?.request.id;
      if (request !== undefined) return request;
    }
    return undefined;
  }

  #handle<Spec extends TemplateSpec>(id: number): InstanceHandle<Spec> {
    const record = this.#records.get(id) as InstanceRecord;
    return {
      id,
      get done() {
        return record.done;
      },
      output: (name) => ({ instance: id, output: name }),
      release: (name) => this.#ask({ type: "outputReleased", instance: id, output: name }),
      cancel: () => this.#ask({ type: "instanceCancelled", instance: id }),
    };
  }

  /** An event of the application: refused with an error before anything changes, or carried out at once. */
  #ask(event: MasterEvent): void {
    this.#checkOpen(event.type);
    if (event.type === "instanceSubmitted") this.#nextInstance = event.instance + 1;
    const outermost = !this.#asking;
    this.#asking = true;
    try {
      this.#handleEvent(event);
    } finally {
      if (outermost) this.#asking = false;
    }
    if (this.#notices.length > 0) queueMicrotask(() => this.#tell());
  }

  #checkOpen(what: string): void {
    if (this.#closed) throw new SliceSchedulerError("CLOSED", `the scheduler is closed and takes no ${what}`);
  }

  /** Whether the executor had refused the same template half-way, and takes it now. */
  #resumesLoading(template: TemplateSpec): boolean {
    const instructions = this.#unloaded.get(JSON.stringify(template));
    if (instructions === undefined || this.#closed) return false;
    this.#executor.execute(instructions);
    this.#unloaded.delete(JSON.stringify(template));
    return true;
  }

  /** An event of the executor or of its clock, which may come while another one is being handled: then it waits its turn. */
  #deliver(event: ExecutorEvent | TimeEvent): void {
    if (this.#closed) return;
    this.#queue.push(event);
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#handleEvent(next);
    } finally {
      this.#pumping = false;
    }
    this.#tell();
  }

  #handleEvent(event: MasterEvent): void {
    const nowNs = this.#now();
    const { hostNowNs, onEvent } = this.#options;
    const sinceNs = hostNowNs?.() ?? 0;
    const { instructions, notices } = (this.#meter ?? this.#core).handle(event, nowNs);
    if (hostNowNs !== undefined && notices.some((notice) => notice.name === "decision"))
      this.#hostNs += hostNowNs() - sinceNs;
    this.#record(event, nowNs, onEvent);
    this.#notices.push(...notices);
    try {
      if (instructions.length > 0) this.#executor.execute(instructions);
    } catch (error) {
      if (event.type === "templateRegistered") this.#unloaded.set(JSON.stringify(event.template), instructions);
      throw error;
    }
    this.#armWake(nowNs);
  }

  /** Whoever records must not come between the master and its executor. */
  #record(event: MasterEvent, nowNs: number, onEvent: SliceSchedulerOptions["onEvent"]): void {
    try {
      onEvent?.(event, nowNs);
    } catch (error) {
      this.#report(error, "onEvent");
    }
  }

  #report(error: unknown, what: string): void {
    (this.#options.onListenerError ?? throwOnItsOwn)(error, what);
  }

  /** A wake that turns out to be early asks again, which costs less than to move it with every event; one that is not needed is taken back. */
  #armWake(nowNs: number): void {
    const wakeNs = this.#core.wakeNs(nowNs);
    if (this.#closed || wakeNs === this.#wakeNs) return;
    if (wakeNs > this.#wakeNs && wakeNs < Number.POSITIVE_INFINITY) return;
    this.#forgetWake?.();
    this.#wakeNs = wakeNs;
    this.#forgetWake =
      wakeNs === Number.POSITIVE_INFINITY ? null : this.#executor.clock.callAt(wakeNs, () => this.#woken());
  }

  #woken(): void {
    this.#wakeNs = Number.POSITIVE_INFINITY;
    this.#forgetWake = null;
    const nowNs = this.#now();
    if (this.#core.wakeNs(nowNs) <= nowNs) this.#deliver({ type: "timePassed" });
    else this.#armWake(nowNs);
  }

  /** Emits in order; what listeners cause joins the end of the line. Inside a call it waits until the caller has its answer. */
  #tell(): void {
    if (this.#telling || this.#pumping || this.#asking) return;
    this.#telling = true;
    try {
      for (let notice = this.#notices.shift(); notice !== undefined; notice = this.#notices.shift()) {
        this.#settle(notice);
        this.emit(notice.name, notice.value as never);
      }
    } finally {
      this.#telling = false;
    }
  }

  #settle({ name, value }: Notice): void {
    if (name !== "instanceDone" && name !== "instanceFailed" && name !== "instanceCancelled") return;
    const { instance } = value;
    const record = this.#records.get(instance);
    this.#records.delete(instance);
    if (name === "instanceFailed") record?.settle({ error: value.error });
    else if (name === "instanceCancelled") record?.settle({ error: new InstanceCancelledError(instance) });
    else record?.settle({ result: { instance, submittedNs: record.submittedNs, doneNs: value.atNs } });
  }

  /** The executor's clock; a step back is not let in. */
  #now(): number {
    this.#nowNs = Math.max(this.#nowNs, this.#executor.clock.nowNs());
    return this.#nowNs;
  }
}

function inputsOf<Spec extends TemplateSpec>({ inputs }: SubmitOptions<Spec>): Readonly<Record<string, OutputHandle>> {
  return (inputs ?? {}) as Readonly<Record<string, OutputHandle>>;
}

/** What only a request has. */
function checkJoined({ tenant, failAtDeadline, queueTimeoutNs }: RequestOptions, request: number): void {
  const faults = Object.entries({ tenant, failAtDeadline, queueTimeoutNs }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: is an option of a request, and the instance joins request ${request}`],
  );
  if (faults.length > 0) throw new InvalidOptionsError(faults);
}

function checkTimes({ deadlineNs, failAtDeadline, queueTimeoutNs }: RequestOptions): void {
  const faults: string[] = [];
  if (failAtDeadline === true && !(typeof deadlineNs === "number" && deadlineNs < Number.POSITIVE_INFINITY))
    faults.push("failAtDeadline: there is no deadlineNs to fail at");
  if (queueTimeoutNs !== undefined && !(Number.isSafeInteger(queueTimeoutNs) && queueTimeoutNs > 0))
    faults.push(`queueTimeoutNs: ${queueTimeoutNs} is not a whole number above 0`);
  if (faults.length > 0) throw new InvalidOptionsError(faults);
}

/** Where the process reports what nobody caught, and outside the scheduler. */
function throwOnItsOwn(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
