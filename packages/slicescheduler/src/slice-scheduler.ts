import type { Executor, ExecutorEvent } from "@slicescheduler/executor";
import type { TemplateSpec } from "@slicescheduler/gmg";
import { MasterCore } from "./core.ts";
import { InstanceCancelledError, InvalidOptionsError, SliceSchedulerError } from "./errors.ts";
import type { MasterEvent, Notice, Notices, TimeEvent } from "./events.ts";
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
import { checkOptions, type SliceSchedulerOptions } from "./options.ts";
import { type MasterStats, masterStats } from "./stats.ts";

/**
 * The master: one graph of the cluster, one scheduler, one executor, behind one class. Templates are registered once;
 * instances are submitted and settle on their own; everything that happens is emitted as a typed event, after the change it
 * tells of: what an executor reports at once, what a call causes after the call has returned. A listener may call any
 * method; one that throws touches nobody else.
 */
export class SliceScheduler extends GuardedEmitter<Notices> {
  readonly #core: MasterCore;
  readonly #executor: Executor;
  readonly #options: SliceSchedulerOptions;
  readonly #priorities: readonly string[];
  readonly #records = new Map<number, InstanceRecord>();
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
  /** When the core is to be woken, and what takes that back. */
  #wakeNs = Number.POSITIVE_INFINITY;
  #forgetWake: (() => void) | null = null;

  /** Throws CLUSTER_INVALID, INVALID_OPTIONS; both name every fault at once. */
  constructor(options: SliceSchedulerOptions) {
    super(options.onListenerError ?? throwOnItsOwn);
    checkOptions(options);
    this.#options = options;
    this.#priorities = options.priorities ?? ["online", "offline"];
    this.#core = new MasterCore(options);
    this.#executor = options.executor;
    this.#executor.open({ cluster: options.cluster, deliver: (event) => this.#deliver(event) });
  }

  /** Registers a template and loads its weights on every partition. Throws TEMPLATE_INVALID, TEMPLATE_EXISTS, WEIGHTS_MISMATCH, NEVER_FITS. */
  register<const Symbols extends string, const Inputs extends string = never, const Outputs extends string = never>(
    template: TemplateSpec<Symbols, Inputs, Outputs>,
  ): TemplateHandle<TemplateSpec<Symbols, Inputs, Outputs>> {
    this.#ask({ type: "templateRegistered", template });
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
    const inputs = (options.inputs ?? {}) as Readonly<Record<string, OutputHandle>>;
    const joined = options.request?.id ?? this.#requestOf(inputs);
    if (joined !== undefined) this.#checkJoined(options, joined);
    const request = joined ?? this.#openRequest({ ...options, partitions: undefined }, true);
    const id = this.#nextInstance;
    const submittedNs = this.#now();
    // Instructions may settle it before `#ask` returns.
    this.#records.set(id, new InstanceRecord(submittedNs));
    try {
      this.#ask({
        type: "instanceSubmitted",
        instance: id,
        request,
        template: template.name,
        symbols: options.symbols,
        inputs,
        retain: options.retain ?? [],
        partitions: options.partitions ?? null,
        label: options.label ?? "",
      });
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

  /** What was decided about an instance and why, and what it waits for. Undefined when nothing is known of it any more. */
  explain(instance: number): Explanation | undefined {
    return explainInstance(this.#core, instance, this.#now());
  }

  stats(): MasterStats {
    return masterStats(this.#core, this.#executor, this.#options.hostNowNs === undefined ? null : this.#hostNs);
  }

  /** Recounts the graph from scratch. Throws INVARIANT_BROKEN. For tests. */
  validate(): void {
    this.#core.graph.validate();
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

  #openRequest(
    options: OpenRequestOptions | (RequestOptions & { partitions: undefined }),
    endsWithInstances: boolean,
  ): number {
    const { priority = this.#priorities[0] as string, deadlineNs, label, partitions } = options;
    checkTimes(options);
    const rank = this.#priorities.indexOf(priority);
    if (rank < 0) {
      throw new SliceSchedulerError(
        "UNKNOWN_PRIORITY",
        `there is no priority class ${JSON.stringify(priority)}; the classes are ${this.#priorities.join(", ")}`,
        { priority },
      );
    }
    const { limits, concurrentInstances = 2, chains = 1, mayPause = false } = options as OpenRequestOptions;
    const request = this.#nextRequest;
    this.#ask({
      type: "requestOpened",
      request,
      label: label ?? "",
      rank,
      deadlineNs: deadlineNs ?? null,
      failAtDeadline: options.failAtDeadline ?? false,
      queueTimeoutNs: options.queueTimeoutNs ?? null,
      limits: limits?.map(({ template, symbols }) => ({ template: template.name, symbols })) ?? null,
      concurrentInstances,
      chains,
      mayPause,
      partitions: partitions ?? null,
      endsWithInstances,
    });
    this.#nextRequest += 1;
    return request;
  }

  /** A request has one priority and one deadline; an instance that joins it may repeat them and not change them. */
  #checkJoined({ priority, deadlineNs }: RequestOptions, id: number): void {
    const request = this.#core.graph.request(id);
    const itsPriority = this.#priorities[request.rank];
    if (priority !== undefined && priority !== itsPriority) {
      throw new SliceSchedulerError(
        "PRIORITY_MISMATCH",
        `request ${id} has priority ${JSON.stringify(itsPriority)}, and an instance was submitted to it with ` +
          `${JSON.stringify(priority)}; leave it out, or open another request`,
        { request: id, priority },
      );
    }
    if (deadlineNs !== undefined && deadlineNs !== request.deadlineNs) {
      throw new SliceSchedulerError(
        "DEADLINE_MISMATCH",
        `request ${id} has deadline ${request.deadlineNs} ns, and an instance was submitted to it with ${deadlineNs} ns; leave it ` +
          "out, or open another request",
        { request: id, deadlineNs },
      );
    }
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
    if (this.#closed) throw new SliceSchedulerError("CLOSED", `the scheduler is closed and takes no ${event.type}`);
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
    const { instructions, notices } = this.#core.handle(event, nowNs);
    if (hostNowNs !== undefined && notices.some((notice) => notice.name === "decision"))
      this.#hostNs += hostNowNs() - sinceNs;
    onEvent?.(event, nowNs);
    this.#notices.push(...notices);
    if (instructions.length > 0) this.#executor.execute(instructions);
    this.#armWake(nowNs);
  }

  #armWake(nowNs: number): void {
    const wakeNs = this.#core.wakeNs(nowNs);
    if (wakeNs === this.#wakeNs || this.#closed) return;
    this.#forgetWake?.();
    this.#wakeNs = wakeNs;
    if (wakeNs === Number.POSITIVE_INFINITY) {
      this.#forgetWake = null;
      return;
    }
    this.#forgetWake = this.#executor.clock.callAt(wakeNs, () => {
      this.#wakeNs = Number.POSITIVE_INFINITY;
      this.#forgetWake = null;
      this.#deliver({ type: "timePassed" });
    });
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

function checkTimes({ deadlineNs, failAtDeadline, queueTimeoutNs }: RequestOptions): void {
  const faults: string[] = [];
  if (failAtDeadline === true && deadlineNs === undefined)
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
