/** An application, a scheduler and an executor on a random graph, in steps that can be played twice; the graph can be exchanged in between. */
import { GlobalMappingGraph, GmgError, type MemorySafety, type RequestOpening } from "@slicescheduler/gmg";
import fc from "fast-check";
import { Driver } from "./driver.ts";
import { buildWorld, type PlannedTemplate, type World, worldArbitrary } from "./graph-world.ts";

export const actionArbitrary = fc.record({
  kind: fc.oneof(
    { weight: 2, arbitrary: fc.constant("open" as const) },
    { weight: 8, arbitrary: fc.constant("submit" as const) },
    { weight: 12, arbitrary: fc.constant("step" as const) },
    { weight: 2, arbitrary: fc.constant("lose" as const) },
    { weight: 3, arbitrary: fc.constant("return" as const) },
    { weight: 1, arbitrary: fc.constant("drain" as const) },
    { weight: 1, arbitrary: fc.constant("cancel" as const) },
    { weight: 2, arbitrary: fc.constant("recall" as const) },
    { weight: 2, arbitrary: fc.constant("displace" as const) },
    { weight: 3, arbitrary: fc.constant("promote" as const) },
    { weight: 2, arbitrary: fc.constant("unplace" as const) },
    { weight: 4, arbitrary: fc.constant("release" as const) },
    { weight: 1, arbitrary: fc.constant("close" as const) },
    { weight: 1, arbitrary: fc.constant("lag" as const) },
  ),
  pick: fc.nat(1000),
  steps: fc.integer({ min: 1, max: 3 }),
});

export type Action = typeof actionArbitrary extends fc.Arbitrary<infer T> ? T : never;

/** Room enough for most of what is submitted, and more than one accelerator. */
export const roomyWorlds = worldArbitrary
  .filter(({ accelerators }) => accelerators.length > 1)
  .map((world) => ({
    ...world,
    accelerators: world.accelerators.map((each) => ({ ...each, capacityBytes: 2 * each.capacityBytes })),
  }));

export class Session {
  /** What every change asked for, in order. */
  readonly log: string[] = [];
  readonly driver: Driver;
  readonly #templates: readonly PlannedTemplate[];
  readonly #requests: number[] = [];
  readonly #submitted: { id: number; template: PlannedTemplate; request: number }[] = [];
  #opened = 0;
  #nextInstance = 0;

  /** Nobody predicts here: without the guarantee there is memory for everything. */
  constructor({ accelerators, templates }: World, memorySafety: MemorySafety = "guaranteed") {
    const factor = memorySafety === "guaranteed" ? 1 : 100;
    const roomy = accelerators.map((each) => ({ ...each, capacityBytes: factor * each.capacityBytes }));
    const world = buildWorld({ accelerators: roomy, templates });
    const graph = new GlobalMappingGraph(world.graph.cluster, memorySafety);
    for (const { spec } of world.templates) graph.registerTemplate(spec);
    this.#templates = world.templates;
    this.driver = new Driver(graph);
    this.#listen(graph);
    this.apply({ kind: "open", pick: 1, steps: 1 });
  }

  get graph(): GlobalMappingGraph {
    return this.driver.graph;
  }

  /** Goes on with another graph, which is to behave as the one before. */
  exchange(graph: GlobalMappingGraph): void {
    this.#listen(graph);
    Object.assign(this.driver, { graph });
  }

  apply({ kind, pick, steps }: Action): void {
    const { driver, graph } = this;
    const accelerator = pick % graph.cluster.accelerators.length;
    const submitted = this.#submitted[pick % Math.max(1, this.#submitted.length)];
    if (kind === "open") this.#open(pick);
    else if (kind === "submit") this.#submit(pick);
    else if (kind === "step") driver.run(steps, pick);
    else if (kind === "lose") this.#lose(accelerator);
    else if (kind === "return") graph.returnAccelerator(accelerator);
    else if (kind === "drain") graph.drainAccelerator(accelerator, driver.nowNs);
    else if (kind === "cancel") graph.cancel(submitted?.id ?? -1, driver.nowNs);
    else if (kind === "release") this.#release(submitted, pick);
    else if (kind === "close") graph.closeRequest(this.#requests[pick % Math.max(1, this.#requests.length)] ?? -1);
    else if (kind === "recall") this.#recall(pick);
    else if (kind === "displace") for (const operator of graph.displaceable(pick % 3)) graph.displace(operator);
    else if (kind === "promote") this.#promote(pick);
    else if (kind === "unplace") this.#attempt(() => graph.unplace(this.#requests[pick % this.#requests.length] ?? -1));
    else driver.nowNs += pick;
    driver.effects();
  }

  /** Every accelerator comes back, everything is run, given back and closed. */
  end(): void {
    const { driver, graph } = this;
    for (const { index } of graph.cluster.accelerators) graph.returnAccelerator(index);
    driver.run();
    for (const { id, template } of this.#submitted) {
      for (const output of Object.keys(template.spec.outputs)) graph.releaseOutput(id, output);
    }
    for (const id of this.#requests) graph.closeRequest(id);
    driver.run();
  }

  #listen(graph: GlobalMappingGraph): void {
    const take = graph.takeEffects.bind(graph);
    graph.takeEffects = () => {
      const effects = take();
      const settled = effects.settled.map(({ instance, outcome }) => `${instance.id} ${outcome} ${instance.failure}`);
      const text = JSON.stringify({ ...effects, settled });
      if (text !== NOTHING) this.log.push(text);
      return effects;
    };
  }

  #open(pick: number): void {
    const id = this.#opened++;
    const limits = this.#templates.map(({ spec }) => ({ template: spec.name, symbols: { n: 5, s0: 30, s1: 20 } }));
    const opening: RequestOpening = {
      id,
      label: `request ${id}`,
      rank: pick % 2,
      deadlineNs: pick % 7 < 4 ? Number.POSITIVE_INFINITY : pick,
      limits: pick % 3 === 0 ? null : limits,
      concurrentInstances: 1 + (pick % 2),
      chains: 1 + (pick % 9 === 4 ? 1 : 0),
      mayPause: pick % 5 === 0,
      allowedPartitions: pick % 11 === 0 ? ["p"] : null,
      endsWithInstances: pick % 13 === 0,
    };
    if (this.#attempt(() => this.graph.openRequest(opening, this.driver.nowNs))) this.#requests.push(id);
  }

  #submit(pick: number): void {
    const request = this.#requests[pick % Math.max(1, this.#requests.length)] ?? -1;
    const template = this.#templates[pick % this.#templates.length];
    if (template === undefined) return;
    const id = this.#nextInstance;
    const earlier = this.#submitted
      .filter((each) => each.request === request && this.graph.instance(each.id) !== undefined)
      .reverse();
    const inputs: Record<string, { instance: number; output: string }> = {};
    const symbols: Record<string, number> = { n: pick % 6, s0: 0, s1: 0 };
    for (let slot = 0; slot < template.slots; slot++) {
      const from = earlier[(pick + slot) % Math.min(3, Math.max(1, earlier.length))];
      const [output] = Object.keys(from?.template.spec.outputs ?? {});
      if (from === undefined || output === undefined || pick % 4 === 0) continue;
      inputs[`x${slot}`] = { instance: from.id, output };
      const [name, port] = String(from.template.spec.outputs[output]).split(".");
      const index = from.template.spec.operators.findIndex((each) => each.name === name);
      const tensor = this.graph.instance(from.id)?.operators[index]?.outputs[Number(port?.slice(1))];
      symbols[`s${slot}`] = tensor?.bytes ?? 0;
    }
    const retain = Object.keys(template.spec.outputs).filter((_, i) => (pick >> i) % 2 === 0);
    const submission = {
      id,
      template: template.spec.name,
      symbols,
      inputs,
      retain,
      allowedPartitions: null,
      label: "",
      ...(pick % 7 < 3 ? { rank: pick % 3 } : {}),
      ...(pick % 5 === 2 ? { deadlineNs: pick % 4 } : {}),
      ...(pick % 3 === 1 ? { order: pick % 4 } : {}),
    };
    if (!this.#attempt(() => this.graph.insert(submission, request, this.driver.nowNs))) return;
    this.#submitted.push({ id, template, request });
    this.#nextInstance += 1;
  }

  #release(submitted: { id: number; template: PlannedTemplate } | undefined, pick: number): void {
    const outputs = Object.keys(submitted?.template.spec.outputs ?? {});
    const output = outputs[pick % Math.max(1, outputs.length)];
    if (submitted !== undefined && output !== undefined) this.graph.releaseOutput(submitted.id, output);
  }

  /**
   * Not while it has, or gets or gives, a result that only issued operators read: the graph forgets such a tensor with its last copy and makes it
   * again outside of itself. A snapshot does not carry what is outside of the graph.
   */
  #lose(accelerator: number): void {
    for (const { inputs } of this.graph.issuedOperators()) {
      for (const { retained, unissuedConsumers, copies } of inputs) {
        const isThere = copies.some((copy) => copy.accelerator === accelerator);
        if (isThere && !retained && unissuedConsumers === 0) return;
      }
    }
    this.driver.lose(accelerator);
  }

  #recall(pick: number): void {
    const waiting = [...this.graph.issuedOperators()].filter((each) => each.startedNs < 0 && each.state === "issued");
    const operator = waiting[pick % Math.max(1, waiting.length)];
    if (operator !== undefined) this.graph.recall(operator);
  }

  #promote(pick: number): void {
    const operators = this.#submitted.flatMap(({ id }) => this.graph.instance(id)?.operators ?? []);
    const live = operators.filter(({ state }) => state === "unscheduled" || state === "issued");
    const operator = live[pick % Math.max(1, live.length)];
    if (operator !== undefined) this.graph.promote(operator, pick % 2);
  }

  #attempt(action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      if (!(error instanceof GmgError)) throw error;
      this.log.push(error.message);
      return false;
    }
  }
}

const NOTHING = JSON.stringify({ releases: [], holds: [], withdrawals: [], reranks: [], settled: [] });

/** As it comes back from a file. */
export function throughJson(graph: GlobalMappingGraph): GlobalMappingGraph {
  return GlobalMappingGraph.restore(JSON.parse(JSON.stringify(graph.snapshot())));
}
