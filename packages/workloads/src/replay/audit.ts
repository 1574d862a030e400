/**
 * Watches a replay from outside and keeps its own books: every operator exactly once, after everything it needs, alone on
 * its accelerator. It knows the graph only from what was submitted, never from the master.
 */
import type { CheckFailure } from "../errors.ts";

/** An operator of another instance that must be done first. */
export interface Dependency {
  /** Operator of the submitted instance. */
  readonly operator: number;
  readonly onInstance: number;
  readonly onOperator: number;
}

/** Most failures kept; a broken run breaks everywhere. */
const failuresMax = 1000;

const pending = 0;
const running = 1;
const done = 2;

interface AuditedInstance {
  readonly states: Uint8Array;
  readonly predecessors: readonly (readonly number[])[];
  readonly dependencies: readonly Dependency[];
}

export class RunAudit {
  readonly #instances = new Map<number, AuditedInstance>();
  /** Per accelerator, the operator it runs in words, or undefined. */
  readonly #occupant = new Map<number, string>();
  readonly #failures: CheckFailure[] = [];
  #operatorsDone = 0;

  /**
   * An instance was submitted.
   * @param predecessors for each of its operators, the operators of the same instance it needs.
   * @param dependencies what it needs of earlier instances.
   */
  submitted(
    instance: number,
    predecessors: readonly (readonly number[])[],
    dependencies: readonly Dependency[] = [],
  ): void {
    if (this.#instances.has(instance)) this.#fail("unique instances", `instance ${instance} was submitted twice`);
    this.#instances.set(instance, { states: new Uint8Array(predecessors.length), predecessors, dependencies });
  }

  started(instance: number, operator: number, accelerator: number, atNs: number): void {
    const what = `operator ${operator} of instance ${instance}`;
    const audited = this.#instances.get(instance);
    const state = audited?.states[operator];
    if (audited === undefined || state === undefined) {
      this.#fail("known operators", `${what} started at ${atNs} ns, but was never submitted`);
      return;
    }
    if (state !== pending) this.#fail("exactly once", `${what} started again at ${atNs} ns`);
    this.#checkInputs(audited, instance, operator, atNs);
    const occupant = this.#occupant.get(accelerator);
    if (occupant !== undefined) {
      this.#fail("one at a time", `${what} started on accelerator ${accelerator} at ${atNs} ns beside ${occupant}`);
    }
    this.#occupant.set(accelerator, what);
    audited.states[operator] = running;
  }

  ended(instance: number, operator: number, accelerator: number, atNs: number): void {
    const what = `operator ${operator} of instance ${instance}`;
    const audited = this.#instances.get(instance);
    if (audited?.states[operator] !== running) {
      this.#fail("exactly once", `${what} ended at ${atNs} ns without running`);
      return;
    }
    if (this.#occupant.get(accelerator) !== what) {
      this.#fail("one at a time", `${what} ended at ${atNs} ns on accelerator ${accelerator}, where it did not run`);
    }
    this.#occupant.delete(accelerator);
    audited.states[operator] = done;
    this.#operatorsDone++;
  }

  get operatorsDone(): number {
    return this.#operatorsDone;
  }

  /** Everything that broke, plus every operator that never ran to its end. */
  failures(): CheckFailure[] {
    const failures = [...this.#failures];
    for (const [instance, { states }] of this.#instances) {
      const missing = states.reduce((count, state) => count + (state === done ? 0 : 1), 0);
      if (missing > 0 && failures.length < failuresMax) {
        const detail = `${missing} of ${states.length} operators of instance ${instance} never ended`;
        failures.push({ check: "exactly once", detail });
      }
    }
    return failures;
  }

  #checkInputs(audited: AuditedInstance, instance: number, operator: number, atNs: number): void {
    const require = (onInstance: number, onOperator: number): void => {
      if (this.#instances.get(onInstance)?.states[onOperator] === done) return;
      const needed = `operator ${onOperator} of instance ${onInstance}`;
      const detail = `operator ${operator} of instance ${instance} started at ${atNs} ns before ${needed} was done`;
      this.#fail("after its inputs", detail);
    };
    for (const predecessor of audited.predecessors[operator] ?? []) require(instance, predecessor);
    for (const dependency of audited.dependencies) {
      if (dependency.operator === operator) require(dependency.onInstance, dependency.onOperator);
    }
  }

  #fail(check: string, detail: string): void {
    if (this.#failures.length < failuresMax) this.#failures.push({ check, detail });
  }
}
