/** A graph whose accelerators are lost, drained and come back while random requests run on it. */
import { type GlobalMappingGraph, GmgError } from "@slicescheduler/gmg";
import { expect } from "vitest";
import { Driver } from "./driver.ts";
import { buildWorld, type PlannedTemplate, type World } from "./graph-world.ts";

export const LOSS_KINDS = [
  "open",
  "submit",
  "step",
  "lose",
  "return",
  "drain",
  "cancel",
  "recall",
  "displace",
  "promote",
  "unplace",
] as const;

export interface LossStep {
  readonly kind: (typeof LOSS_KINDS)[number];
  /** Taken modulo what exists. */
  readonly pick: number;
  readonly steps: number;
}

/** What happened over all runs: the test is worth its time only if all of it did. */
export const seenLosses: Record<string, number> = {};

function tally(what: string): void {
  seenLosses[what] = (seenLosses[what] ?? 0) + 1;
}

interface Submitted {
  readonly id: number;
  readonly template: PlannedTemplate;
  readonly request: number;
}

export class LossPlay {
  readonly graph: GlobalMappingGraph;
  readonly driver: Driver;
  readonly #templates: readonly PlannedTemplate[];
  readonly #requests: number[] = [];
  readonly #submitted: Submitted[] = [];
  #opened = 0;

  constructor(world: World) {
    const { graph, templates } = buildWorld(world);
    this.graph = graph;
    this.driver = new Driver(graph);
    this.#templates = templates;
    this.#open(1);
  }

  step({ kind, pick, steps }: LossStep): void {
    const { graph, driver } = this;
    const accelerator = pick % graph.cluster.accelerators.length;
    if (kind === "open") this.#open(pick);
    else if (kind === "submit") this.#submit(pick);
    else if (kind === "step") driver.run(steps, pick);
    else if (kind === "return") graph.returnAccelerator(accelerator);
    else if (kind === "drain") graph.drainAccelerator(accelerator, driver.nowNs);
    else if (kind === "cancel") graph.cancel(at(this.#submitted, pick)?.id ?? -1, driver.nowNs);
    else if (kind === "recall") this.#recall(pick);
    else if (kind === "displace") for (const operator of graph.displaceable(pick % 3)) graph.displace(operator);
    else if (kind === "promote") this.#promote(pick);
    else if (kind === "unplace") {
      if (attempt(() => graph.unplace(at(this.#requests, pick) ?? -1))) tally("unplaced");
    } else {
      if (graph.availability(accelerator) !== "down") tally("lost");
      driver.lose(accelerator);
    }
    driver.effects();
  }

  /** All accelerators come back, and everything is given back. */
  end(): void {
    const { graph, driver } = this;
    for (const { index } of graph.cluster.accelerators) graph.returnAccelerator(index);
    driver.run();
    for (const { id, template } of this.#submitted) {
      for (const output of Object.keys(template.spec.outputs)) graph.releaseOutput(id, output);
    }
    for (const id of this.#requests) graph.closeRequest(id);
    driver.run();
    for (const runs of driver.runs.values()) if (runs > 1) tally("made again");
    for (const outcome of driver.outcomes) tally(outcome.split(" ")[1] ?? "");
  }

  /** Every instance has one outcome, and nothing is left. */
  expectAtRest(): void {
    const { graph, driver } = this;
    const ended = driver.outcomes.map((outcome) => Number(outcome.split(" ")[0]));
    expect(ended.sort((a, b) => a - b)).toEqual(this.#submitted.map(({ id }) => id));
    expect(graph.counts()).toEqual({ requests: 0, instances: 0, tensors: 0, issuedOperators: 0, transfers: 0 });
    for (const { index } of graph.cluster.accelerators) {
      expect(graph.ledger.usedBytes(index)).toBe(graph.ledger.fixedBytes(index));
      expect([graph.claims.reservedBytes(index), graph.claims.takenBytes(index)]).toEqual([0, 0]);
    }
  }

  #open(pick: number): void {
    const id = this.#opened++;
    const limits = this.#templates.map(({ spec }) => ({ template: spec.name, symbols: { n: 5, s0: 30, s1: 20 } }));
    const opening = {
      id,
      label: "",
      rank: pick % 2,
      deadlineNs: Number.POSITIVE_INFINITY,
      limits: pick % 3 === 0 ? null : limits,
      concurrentInstances: 1 + (pick % 2),
      chains: 1 + (pick % 3),
      mayPause: pick % 5 === 0,
      allowedPartitions: null,
      endsWithInstances: false,
    };
    if (attempt(() => this.graph.openRequest(opening, this.driver.nowNs))) this.#requests.push(id);
  }

  #submit(pick: number): void {
    const { graph } = this;
    const request = at(this.#requests, pick) ?? -1;
    const template = at(this.#templates, pick);
    if (template === undefined) return;
    const id = (this.#submitted.at(-1)?.id ?? -1) + 1;
    const earlier = this.#submitted
      .filter((each) => each.request === request && graph.instance(each.id) !== undefined)
      .slice(-3)
      .reverse();
    const inputs: Record<string, { instance: number; output: string }> = {};
    const symbols: Record<string, number> = { n: pick % 6, s0: 0, s1: 0 };
    for (let slot = 0; slot < template.slots; slot++) {
      const from = at(earlier, pick + slot);
      const [output] = Object.keys(from?.template.spec.outputs ?? {});
      if (from === undefined || output === undefined || pick % 4 === 0) continue;
      inputs[`x${slot}`] = { instance: from.id, output };
      symbols[`s${slot}`] = this.#outputBytes(from, output);
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
    };
    if (!attempt(() => graph.insert(submission, request, this.driver.nowNs))) return;
    tally(Object.keys(inputs).length > 0 ? "submitted with inputs" : "submitted");
    this.#submitted.push({ id, template, request });
  }

  #outputBytes({ id, template }: Submitted, output: string): number {
    const [name, port] = String(template.spec.outputs[output]).split(".");
    const index = template.spec.operators.findIndex((operator) => operator.name === name);
    return this.graph.instance(id)?.operators[index]?.outputs[Number(port?.slice(1))]?.bytes ?? 0;
  }

  #promote(pick: number): void {
    const operators = this.#submitted.flatMap(({ id }) => this.graph.instance(id)?.operators ?? []);
    const operator = at(
      operators.filter(({ state }) => state === "unscheduled" || state === "issued"),
      pick,
    );
    if (operator !== undefined && this.graph.promote(operator, pick % 2)) tally("promoted");
  }

  #recall(pick: number): void {
    const issued = [...this.graph.issuedOperators()];
    const operator = at(
      issued.filter(({ startedNs, state }) => startedNs < 0 && state === "issued"),
      pick,
    );
    if (operator !== undefined) this.graph.recall(operator);
  }
}

function at<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % list.length];
}

function attempt(action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (!(error instanceof GmgError)) throw error;
    tally(error.code);
    return false;
  }
}
