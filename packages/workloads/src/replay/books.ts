import type { Template } from "@slicescheduler/gmg";
import { RunAudit } from "./audit.ts";
import { BusyTime } from "./busy.ts";
import type { RequestClass } from "./policy.ts";
import { onInstance, type PassDependency, passDependencies } from "./wiring.ts";

/** An instance that was submitted: whose outputs the next one reads. */
export interface Submitted {
  readonly id: number;
  readonly template: string;
}

/** What the replay itself knows of the instances it submitted: whose they are, and what the audit may expect of them. */
export class Books<Owner extends { readonly class: RequestClass }> {
  readonly audit = new RunAudit();
  readonly busy: Readonly<Record<RequestClass, BusyTime>>;
  lastEndNs = 0;
  readonly #owners = new Map<number, Owner>();
  readonly #startedNs = new Map<number, number>();
  readonly #templates: ReadonlyMap<string, Template>;
  readonly #dependencies = new Map<string, readonly PassDependency[]>();

  /** @param templates by name, all that instances will be submitted of. */
  constructor(accelerators: number, windowNs: number, templates: ReadonlyMap<string, Template>) {
    this.busy = { online: new BusyTime(accelerators, windowNs), offline: new BusyTime(accelerators, windowNs) };
    this.#templates = templates;
  }

  /** @param before the pass whose outputs it reads, or undefined for a first one. */
  submitted(owner: Owner, instance: Submitted, before: Submitted | undefined): void {
    this.#owners.set(instance.id, owner);
    const template = this.#template(instance.template);
    const predecessors = template.operators.map((operator) => operator.predecessors);
    const needs = before === undefined ? [] : onInstance(this.#needs(instance.template, before.template), before.id);
    this.audit.submitted(instance.id, predecessors, needs);
  }

  started(instance: number, operator: number, accelerator: number, atNs: number): void {
    this.audit.started(instance, operator, accelerator, atNs);
    this.#startedNs.set(accelerator, atNs);
  }

  ended(instance: number, operator: number, accelerator: number, atNs: number): void {
    this.audit.ended(instance, operator, accelerator, atNs);
    const owner = this.#owners.get(instance);
    if (owner !== undefined) this.busy[owner.class].add(accelerator, this.#startedNs.get(accelerator) ?? atNs, atNs);
    this.lastEndNs = atNs;
  }

  /** Whose pass ended; each instance is settled once. */
  settle(instance: number): Owner | undefined {
    const owner = this.#owners.get(instance);
    this.#owners.delete(instance);
    return owner;
  }

  #needs(consumer: string, producer: string): readonly PassDependency[] {
    const key = `${consumer} ${producer}`;
    const known = this.#dependencies.get(key);
    if (known !== undefined) return known;
    const needs = passDependencies(this.#template(consumer), this.#template(producer));
    this.#dependencies.set(key, needs);
    return needs;
  }

  #template(name: string): Template {
    const template = this.#templates.get(name);
    if (template === undefined) throw new TypeError(`the books were not told of template "${name}"`);
    return template;
  }
}
