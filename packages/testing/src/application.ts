import { EVENT_KIND, type SimulatedTime } from "@slicescheduler/executor";
import { SubmissionError, type SubmissionErrorCode } from "@slicescheduler/gmg";
import type { InstanceHandle, OutputHandle, RequestHandle, SliceScheduler, TemplateHandle } from "slicescheduler";
import type { Workload, WorkloadInstance } from "./workloads.ts";

export interface Refusal {
  /** Index in the workload. */
  readonly instance: number;
  /** Null: what it needs was refused before it. */
  readonly code: SubmissionErrorCode | null;
}

/** An accepted instance, its inputs by the scheduler's numbers. */
interface Submitted {
  readonly template: string;
  readonly inputs: Readonly<Record<string, OutputHandle>>;
  readonly partitions: readonly string[] | null;
}

export interface ApplicationOptions {
  readonly onSubmitted: (submitted: Submitted, id: number) => void;
  /** How long it takes to release a result and to close a request. */
  readonly givesBackAfterNs: number;
  /** Whether it does so at all. */
  readonly givesBack: boolean;
}

/** Asks a scheduler for what a workload says, at the times it says. */
export class Application {
  /** Per instance of the workload; absent where it was refused or not yet submitted. */
  readonly handles = new Map<number, InstanceHandle>();
  readonly refusals: Refusal[] = [];
  readonly #scheduler: SliceScheduler;
  readonly #templates: ReadonlyMap<string, TemplateHandle>;
  readonly #workload: Workload;
  readonly #options: ApplicationOptions;
  readonly #requests = new Map<number, RequestHandle>();
  readonly #requestRefusals = new Map<number, SubmissionErrorCode>();
  /** Per instance: the last one that reads a result of it. */
  readonly #lastReader = new Map<number, number>();

  constructor(
    scheduler: SliceScheduler,
    templates: ReadonlyMap<string, TemplateHandle>,
    workload: Workload,
    options: ApplicationOptions,
  ) {
    this.#scheduler = scheduler;
    this.#templates = templates;
    this.#workload = workload;
    this.#options = options;
    workload.instances.forEach(({ inputs }, index) => {
      for (const { instance } of Object.values(inputs)) this.#lastReader.set(instance, index);
    });
  }

  /** Puts everything on the clock; cancels of one instant come last. */
  schedule(time: SimulatedTime): void {
    const { requests, instances } = this.#workload;
    let number = 0;
    const at = (atNs: number, act: () => void) =>
      time.at(atNs, { kind: EVENT_KIND.application, number: number++ }, act);
    for (const [index, { atNs }] of requests.entries()) at(atNs, () => this.#open(index));
    for (const [index, { atNs }] of instances.entries()) {
      at(atNs, () => this.#submit(index));
      if (this.#options.givesBack) at(atNs + this.#options.givesBackAfterNs, () => this.#giveBackAfter(index));
    }
    for (const [index, { cancelAtNs }] of instances.entries()) {
      if (cancelAtNs !== null) at(cancelAtNs, () => this.handles.get(index)?.cancel());
    }
  }

  #open(index: number): void {
    const request = this.#workload.requests[index];
    if (request === undefined) return;
    const { priority, deadlineNs, limits, concurrentInstances, mayPause = false } = request;
    try {
      const handle = this.#scheduler.openRequest({
        priority,
        concurrentInstances,
        // Any of them may stand alone.
        chains: concurrentInstances,
        mayPause,
        ...(deadlineNs === null ? {} : { deadlineNs }),
        ...(limits === null
          ? {}
          : { limits: limits.map(({ template, symbols }) => ({ template: this.#template(template), symbols })) }),
      });
      this.#requests.set(index, handle);
    } catch (error) {
      if (!(error instanceof SubmissionError)) throw error;
      this.#requestRefusals.set(index, error.code);
    }
  }

  #submit(index: number): void {
    const instance = this.#workload.instances[index] as WorkloadInstance;
    const { request: requestIndex, template, symbols, priority, retain, partitions } = instance;
    const request = requestIndex === null ? undefined : this.#requests.get(requestIndex);
    const inputs = this.#inputsOf(instance);
    if (inputs === null || (requestIndex !== null && request === undefined)) {
      this.refusals.push({ instance: index, code: this.#requestRefusals.get(requestIndex ?? -1) ?? null });
      return;
    }
    try {
      const handle = this.#scheduler.submit(this.#template(template), {
        symbols,
        inputs,
        priority,
        retain: [...retain],
        ...(request === undefined ? {} : { request }),
        ...(partitions === null ? {} : { partitions }),
      });
      this.handles.set(index, handle);
      this.#options.onSubmitted({ template, inputs, partitions }, handle.id);
    } catch (error) {
      if (!(error instanceof SubmissionError)) throw error;
      this.refusals.push({ instance: index, code: error.code });
    }
  }

  /** Null when one of them is of an instance that was refused. */
  #inputsOf({ inputs }: WorkloadInstance): Record<string, OutputHandle> | null {
    const bound: Record<string, OutputHandle> = {};
    for (const [input, { instance, output }] of Object.entries(inputs)) {
      const handle = this.handles.get(instance);
      if (handle === undefined) return null;
      bound[input] = handle.output(output);
    }
    return bound;
  }

  /** Results whose last reader this was, and at the end all that nobody reads; requests whose last instance it was. */
  #giveBackAfter(index: number): void {
    const { instances } = this.#workload;
    const isLast = index === instances.length - 1;
    instances.forEach(({ retain }, writer) => {
      const reader = this.#lastReader.get(writer);
      if (reader !== index && !(isLast && reader === undefined)) return;
      for (const output of retain) this.handles.get(writer)?.release(output);
    });
    const { request } = instances[index] as WorkloadInstance;
    if (request === null || instances.slice(index + 1).some((later) => later.request === request)) return;
    this.#requests.get(request)?.close();
  }

  #template(name: string): TemplateHandle {
    const template = this.#templates.get(name);
    if (template === undefined)
      throw new RangeError(`the workload names template ${JSON.stringify(name)}, which is not given`);
    return template;
  }
}
