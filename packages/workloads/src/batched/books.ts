/** What the batched replay knows of the instances it submitted: whose they are, and what the audit may expect of them. */
import { RunAudit } from "../replay/audit.ts";
import { BusyTime } from "../replay/busy.ts";
import type { RequestClass } from "../replay/policy.ts";
import type { EngineLane, LaneBooks } from "./lane.ts";

export class BatchedBooks implements LaneBooks {
  readonly audit = new RunAudit();
  readonly busy: Readonly<Record<RequestClass, BusyTime>>;
  lastEndNs = 0;
  readonly #owners = new Map<number, EngineLane>();
  readonly #startedNs: Float64Array;
  /** Predecessors within a step, shared by all: they are many. */
  #chain: readonly (readonly number[])[] | undefined;

  constructor(accelerators: number, windowNs: number) {
    this.busy = { online: new BusyTime(accelerators, windowNs), offline: new BusyTime(accelerators, windowNs) };
    this.#startedNs = new Float64Array(accelerators);
  }

  poolSubmitted(lane: EngineLane, instance: number): void {
    this.#owners.set(instance, lane);
    this.audit.submitted(
      instance,
      Array.from({ length: lane.operators }, () => []),
    );
  }

  /** Each operator needs the one before it, and its part of the pool as the step before left it; the first the awaited token. */
  stepSubmitted(lane: EngineLane, instance: number, before: number, awaited: number | null): void {
    this.#owners.set(instance, lane);
    this.#chain ??= Array.from({ length: lane.operators }, (_, index) => (index === 0 ? [] : [index - 1]));
    const needs = this.#chain.map((_, operator) => ({ operator, onInstance: before, onOperator: operator }));
    if (awaited !== null) needs.push({ operator: 0, onInstance: awaited, onOperator: lane.operators - 1 });
    this.audit.submitted(instance, this.#chain, needs);
  }

  started(instance: number, operator: number, accelerator: number, atNs: number): void {
    this.audit.started(instance, operator, accelerator, atNs);
    this.#startedNs[accelerator] = atNs;
  }

  ended(instance: number, operator: number, accelerator: number, atNs: number): void {
    this.audit.ended(instance, operator, accelerator, atNs);
    const owner = this.#owners.get(instance);
    if (owner !== undefined) this.busy[owner.priority].add(accelerator, this.#startedNs[accelerator] ?? atNs, atNs);
    this.lastEndNs = atNs;
  }

  /** Whose instance ended; each is settled once. */
  settle(instance: number): EngineLane | undefined {
    const owner = this.#owners.get(instance);
    this.#owners.delete(instance);
    return owner;
  }
}
