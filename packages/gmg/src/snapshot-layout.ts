/** Which nodes a snapshot has, and how they are numbered in it. */
import { InvariantBrokenError, type Template } from "@slicescheduler/templates";
import { type GraphState, nameOf } from "./graph-state.ts";
import type { Origin } from "./lineage.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorNode } from "./nodes.ts";

export class SnapshotLayout {
  readonly templates: readonly Template[];
  readonly requests: readonly RequestNode[];
  /** Those in the graph, then those that left it and are inputs still. */
  readonly instances: readonly InstanceNode[];
  readonly departed: number;
  /** By rising id, so that what an instance was made from comes before it. */
  readonly origins: readonly Origin[];
  readonly #templateAt: ReadonlyMap<Template, number>;
  readonly #requestAt: ReadonlyMap<RequestNode, number>;
  readonly #instanceAt: ReadonlyMap<InstanceNode, number>;
  readonly #originAt: ReadonlyMap<Origin, number>;
  readonly #firstOperator = new Map<InstanceNode, number>();

  constructor(state: GraphState) {
    this.templates = [...state.templates.values()];
    this.requests = [...state.requests.values()];
    this.instances = instancesOf(state);
    this.departed = this.instances.length - state.instances.size;
    this.origins = originsOf(this.instances);
    this.#templateAt = positions(this.templates);
    this.#requestAt = positions(this.requests);
    this.#instanceAt = positions(this.instances);
    this.#originAt = positions(this.origins);
    let next = 0;
    for (const instance of this.instances) {
      this.#firstOperator.set(instance, next);
      next += instance.operators.length;
    }
  }

  templateAt(template: Template): number {
    return known(this.#templateAt.get(template), () => `template ${JSON.stringify(template.name)}`);
  }

  requestAt(request: RequestNode): number {
    return known(this.#requestAt.get(request), () => `request ${request.id}`);
  }

  instanceAt(instance: InstanceNode): number {
    return known(this.#instanceAt.get(instance), () => `instance ${instance.id}`);
  }

  originAt(origin: Origin): number {
    return known(this.#originAt.get(origin), () => `the origin of instance ${origin.id}`);
  }

  operatorAt(operator: OperatorNode): number {
    return known(this.#firstOperator.get(operator.instance), () => nameOf(operator)) + operator.index;
  }

  *operators(): IterableIterator<OperatorNode> {
    for (const { operators } of this.instances) yield* operators;
  }

  /** Of each instance by rising number. */
  *tensors(): IterableIterator<TensorNode> {
    for (const instance of this.instances) yield* tensorsOf(instance);
  }
}

/** All that it ever has, by rising number. */
export function* tensorsOf({ template, operators }: InstanceNode): IterableIterator<TensorNode> {
  for (const index of template.order) yield* (operators[index] as OperatorNode).outputs;
}

/** Whether it waits to be issued or an executor has it: it knows what it reads. */
export function isPending(state: GraphState, operator: OperatorNode): boolean {
  return operator.state === "unscheduled" || state.issued.get(operator.issueNumber) === operator;
}

/** An instance keeps what it was bound to until it ends, also when that has left the graph. */
function instancesOf(state: GraphState): InstanceNode[] {
  const found = new Set(state.instances.values());
  for (const { inputs, operators } of found) {
    for (const tensor of inputs) if (tensor !== null) found.add(tensor.producer.instance);
    for (const operator of operators) for (const tensor of operator.inputs) found.add(tensor.producer.instance);
  }
  return [...found];
}

function originsOf(instances: readonly InstanceNode[]): Origin[] {
  const found = new Set(instances.map(({ origin }) => origin));
  for (const { inputs } of found) for (const input of inputs ?? []) if (input !== null) found.add(input.origin);
  return [...found].sort((a, b) => a.id - b.id);
}

function positions<Item>(items: readonly Item[]): ReadonlyMap<Item, number> {
  return new Map(items.map((item, position) => [item, position]));
}

function known(position: number | undefined, what: () => string): number {
  if (position !== undefined) return position;
  throw new InvariantBrokenError(`${what()} is referred to and is not in the graph`);
}
