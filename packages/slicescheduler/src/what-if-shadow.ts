import {
  presentWork,
  SimulatedTime,
  type VirtualExecutor,
  type VirtualOperator,
  virtualExecutor,
} from "@slicescheduler/executor";
import type { GlobalMappingGraph, GraphSnapshot, InstanceNode } from "@slicescheduler/gmg";
import type { Decision } from "@slicescheduler/scheduler";
import type { MasterCore } from "./core.ts";
import type { ApplicationEvent, MasterEvent, Notice } from "./events.ts";

/** How an instance ended in a shadow. */
export interface ShadowEnd {
  readonly outcome: "done" | "failed" | "cancelled";
  readonly endNs: number;
  /** Of one that failed. */
  readonly error: Error | null;
}

/**
 * A copy of a live master on a virtual executor that has taken over what the live one has: it plays on from there, in simulated time, with the
 * durations that the estimators predict now. The live master is only read.
 */
export class Shadow {
  readonly core: MasterCore;
  readonly ends = new Map<number, ShadowEnd>();
  /** By instance, when the first operator started here. */
  readonly starts = new Map<number, number>();
  /** By instance, the partition that it was last laid on here. */
  readonly partitions = new Map<number, string>();
  readonly decisions: Decision[] = [];
  /** By number, what had not ended when the shadow was cast. */
  readonly present: ReadonlyMap<number, InstanceNode>;
  readonly #time = new SimulatedTime();
  readonly #executor: VirtualExecutor;
  #wakeNs = Number.POSITIVE_INFINITY;
  #forgetWake: (() => void) | null = null;

  /** Throws EFFECTS_PENDING from within the live master's `handle`. Linear in the live state. */
  constructor(live: MasterCore, nowNs: number) {
    const snapshot = live.graph.snapshot();
    this.core = live.fork(snapshot);
    const { graph, scheduler } = this.core;
    this.present = openInstances(graph, snapshot);
    const present = presentWork(graph, snapshot, (operator) => scheduler.isHeldBack(operator));
    this.#time.run(nowNs);
    this.#executor = virtualExecutor({
      seed: 0,
      time: this.#time,
      operatorNs: (work) => this.#operatorNs(work),
      transferNs: ({ transfer, source, destination, bytes }) => {
        const predictedNs = scheduler.predictor.transferNs(source.index, destination.index, bytes);
        return expectedNs(predictedNs, graph.transfer(transfer)?.sendingNs ?? -1, this.nowNs);
      },
      present,
    });
    this.#executor.open({ cluster: snapshot.cluster, deliver: (event) => this.#handle(event) });
    this.#armWake();
    this.#executor.execute(present.unanswered);
  }

  get nowNs(): number {
    return this.#time.nowNs();
  }

  /** Throws what the live master would throw; the shadow is as before then. */
  ask(event: ApplicationEvent): void {
    this.#handle(event);
  }

  /**
   * Plays on until everything of `awaited` has ended, or until the next thing would happen after `untilNs`, or nothing happens any more.
   */
  play(awaited: Iterable<number>, untilNs: number): "settled" | "horizon" | "standstill" {
    for (const instance of awaited) {
      while (!this.ends.has(instance)) {
        if (this.#time.pending === 0) return "standstill";
        if (!this.#time.step(untilNs)) return "horizon";
      }
    }
    return "settled";
  }

  close(): void {
    this.#executor.close();
  }

  #operatorNs({ issueNumber, accelerator }: VirtualOperator): number {
    const operator = this.core.graph.issued(issueNumber);
    if (operator === undefined)
      throw new RangeError(`the shadow runs issue ${issueNumber}, which its graph does not have`);
    const predictedNs = this.core.scheduler.predictor.operatorNs(operator, accelerator.index);
    return expectedNs(predictedNs, operator.startedNs, this.nowNs);
  }

  #handle(event: MasterEvent): void {
    const { instructions, notices } = this.core.handle(event, this.nowNs);
    for (const notice of notices) this.#note(notice);
    if (instructions.length > 0) this.#executor.execute(instructions);
    this.#armWake();
  }

  #armWake(): void {
    const wakeNs = this.core.wakeNs(this.nowNs);
    if (wakeNs === this.#wakeNs || (wakeNs > this.#wakeNs && wakeNs < Number.POSITIVE_INFINITY)) return;
    this.#forgetWake?.();
    this.#wakeNs = wakeNs;
    this.#forgetWake = wakeNs === Number.POSITIVE_INFINITY ? null : this.#time.callAt(wakeNs, () => this.#wake());
  }

  #wake(): void {
    this.#wakeNs = Number.POSITIVE_INFINITY;
    this.#forgetWake = null;
    if (this.core.wakeNs(this.nowNs) <= this.nowNs) this.#handle({ type: "timePassed" });
    else this.#armWake();
  }

  #note({ name, value }: Notice): void {
    switch (name) {
      case "decision":
        this.decisions.push(value);
        this.partitions.set(value.instance, value.partition);
        return;
      case "operatorStarted":
        if (!this.starts.has(value.instance)) this.starts.set(value.instance, value.atNs);
        return;
      case "instanceDone":
        this.ends.set(value.instance, { outcome: "done", endNs: value.atNs, error: null });
        return;
      case "instanceFailed":
        this.ends.set(value.instance, { outcome: "failed", endNs: value.atNs, error: value.error });
        return;
      case "instanceCancelled":
        this.ends.set(value.instance, { outcome: "cancelled", endNs: value.atNs, error: null });
        return;
    }
  }
}

function openInstances(graph: GlobalMappingGraph, { instances, origins }: GraphSnapshot): Map<number, InstanceNode> {
  const open = new Map<number, InstanceNode>();
  for (const origin of instances.origin) {
    const instance = graph.instance(origins.id[origin] ?? -1);
    // One that was told runs again for results that were lost.
    if (instance?.state === "live" && !instance.told) open.set(instance.id, instance);
  }
  return open;
}

/** What is overdue is expected to take as long again as it is overdue. `sinceNs` is −1 for what begins now. */
function expectedNs(predictedNs: number, sinceNs: number, nowNs: number): number {
  if (sinceNs < 0) return predictedNs;
  const elapsedNs = nowNs - sinceNs;
  return predictedNs >= elapsedNs ? predictedNs : 2 * elapsedNs - predictedNs;
}
