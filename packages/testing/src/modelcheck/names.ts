import type { ExecutorInstruction } from "@slicescheduler/executor";
import { type Cluster, compileCluster, compileTemplate, type Template } from "@slicescheduler/gmg";
import type { SmallWorld } from "./small-world.ts";

/** What numbers stand for along one way: learnt from the issues on it. */
export class Names {
  readonly cluster: Cluster;
  readonly #templates: ReadonlyMap<string, Template>;
  readonly #operators = new Map<number, string>();
  readonly #tensors = new Map<number, string>();
  readonly #transfers = new Map<number, string>();

  constructor({ cluster, templates }: SmallWorld) {
    this.cluster = compileCluster(cluster);
    this.#templates = new Map(templates.map((spec) => [spec.name, compileTemplate(spec, this.cluster)]));
  }

  learn({ issueNumber, accelerator, template, operator, instance, inputs, outputs }: Issue): void {
    const compiled = this.#templates.get(template)?.operators[operator];
    this.#operators.set(issueNumber, `${compiled?.name} of instance ${instance} on ${this.accelerator(accelerator)}`);
    for (const [at, { tensor }] of outputs.entries())
      this.#tensors.set(tensor, `${compiled?.name}.${compiled?.outputs[at]?.name} of instance ${instance}`);
    for (const { tensor, transfer, source } of inputs) {
      if (transfer === null || this.#transfers.has(transfer)) continue;
      const way = `${this.accelerator(source)} to ${this.accelerator(accelerator)}`;
      this.#transfers.set(transfer, `transfer ${transfer} of ${this.tensor(tensor)} from ${way}`);
    }
  }

  accelerator(index: number): string {
    return this.cluster.accelerators[index]?.name ?? `accelerator ${index}`;
  }

  operator(issueNumber: number): string {
    return this.#operators.get(issueNumber) ?? `issue ${issueNumber}`;
  }

  tensor(tensor: number): string {
    return this.#tensors.get(tensor) ?? `tensor ${tensor}`;
  }

  transfer(transfer: number): string {
    return this.#transfers.get(transfer) ?? `transfer ${transfer}`;
  }
}

type Issue = Extract<ExecutorInstruction, { type: "issue" }>;
