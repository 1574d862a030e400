/**
 * What the Global Mapping Graph costs: µs per operator for insert, place, issue and complete with few and with many operators in
 * it, and the memory of the process over many short instances in a row (`--long`: a million; `--cpu`, `--memory`: only one of both).
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  compileCluster,
  defineTemplate,
  GlobalMappingGraph,
  type InstanceNode,
  type OperatorNode,
} from "@slicescheduler/gmg";
import type { Measure } from "../measurement.ts";

const OPERATORS = [1000, 100_000];
/** A forward pass in pieces over two accelerators, with one transfer in the middle. */
const OPERATORS_PER_INSTANCE = 8;
const PAIRS = 4;
/** Instances that pass through a graph in one measured round. */
const BATCH = 25;
const WARM_UP_ROUNDS = 40;
const ROUNDS = 160;
const MIB = 2 ** 20;

export const measure: Measure = (args) => {
  const lines: string[] = [];
  const json: Record<string, unknown> = {};
  if (!args.includes("--memory")) {
    const { points, ratios } = cpuCosts();
    for (const { operators, insertUs, placeUs, issueUs, completeUs } of points) {
      lines.push(
        `${operators} operators in the graph, µs per operator: insert ${insertUs}, place ${placeUs}, issue ${issueUs}, complete ${completeUs} (medians)`,
      );
    }
    const words = Object.entries(ratios).map(([what, ratio]) => `${what} ×${ratio}`);
    lines.push(`most over fewest operators: ${words.join(", ")} (goal: at most ×1.5)`);
    Object.assign(json, { points, ratios });
  }
  if (!args.includes("--cpu")) {
    const memory = memoryOverInstances(args.includes("--long") ? 1_000_000 : 200_000);
    for (const { instances, heapMiB, rssMiB } of memory.points) {
      lines.push(`after ${instances} instances in a row: heap ${heapMiB} MiB, resident ${rssMiB} MiB`);
    }
    const { retained, survived, heapBytesPerInstance, usPerInstance } = memory;
    lines.push(
      `${heapBytesPerInstance} bytes of heap more per instance, ${usPerInstance} µs each; ${survived} of ${retained} retained results survived`,
    );
    json["memory"] = memory;
  }
  return { text: lines.join("\n"), json };
};

const COSTS = ["insertUs", "placeUs", "issueUs", "completeUs"] as const;
type Costs = Record<(typeof COSTS)[number], number>;

/** Rounds of the two sizes alternate, so that both meet the same machine. */
function cpuCosts() {
  const graphs = OPERATORS.map((operators) => ({ operators, busy: new BusyGraph(operators), rounds: [] as Costs[] }));
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (const { busy, rounds } of graphs) {
      const costs = busy.round();
      if (round >= WARM_UP_ROUNDS) rounds.push(costs);
    }
  }
  const points = graphs.map(({ operators, rounds }) => {
    const medians = COSTS.map((cost) => [cost, median(rounds.map((it) => it[cost]))] as const);
    return { operators, ...(Object.fromEntries(medians) as Costs) };
  });
  const [few, many] = [points[0], points.at(-1)];
  const ratios = Object.fromEntries(COSTS.map((cost) => [cost, rounded((many?.[cost] ?? 0) / (few?.[cost] ?? 1))]));
  for (const point of points) for (const cost of COSTS) point[cost] = rounded(point[cost]);
  return { points, ratios };
}

function newGraph(): GlobalMappingGraph {
  const names = Array.from({ length: 2 * PAIRS }, (_, index) => `a${index}`);
  const cluster = compileCluster({
    accelerators: names.map((name) => ({ name, kind: "k", hbmBytes: 2 ** 50 })),
    defaultLink: { latencyNs: 1000, bytesPerSecond: 1e10 },
  });
  const graph = new GlobalMappingGraph(cluster);
  graph.registerTemplate(pass(OPERATORS_PER_INSTANCE));
  graph.registerTemplate(pass(2));
  return graph;
}

function pass(operators: number) {
  const hidden = { shape: ["tokens", 4096], dtype: "float16" } as const;
  const half = Math.ceil(operators / 2);
  return defineTemplate({
    name: `pass${operators}`,
    symbols: ["tokens"],
    operators: Array.from({ length: operators }, (_, index) => ({
      name: `part${index}`,
      inputs: index === 0 ? [] : [`part${index - 1}.hidden`],
      outputs: { hidden, kv: { shape: ["tokens", 1024], dtype: "float16" } },
      workspaceBytes: "tokens * 8192",
    })),
    outputs: { hidden: `part${operators - 1}.hidden` },
    partitions: Array.from({ length: PAIRS }, (_, pair) => ({
      name: `pair${pair}`,
      accelerators: [`a${2 * pair}`, `a${2 * pair + 1}`],
      layout: Array.from({ length: operators }, (_, index) => (index < half ? 0 : 1)),
    })),
  });
}

/** A graph with so many operators, half of them issued, through which instances pass in the order of their arrival. */
class BusyGraph {
  readonly #graph = newGraph();
  /** In the order of their arrival; the first ones are issued. */
  readonly #waiting: InstanceNode[] = [];
  readonly #issued: InstanceNode[] = [];
  #next = 0;

  constructor(operators: number) {
    const instances = Math.round(operators / OPERATORS_PER_INSTANCE);
    for (let i = 0; i < instances; i++) this.#waiting.push(this.#insert());
    for (const instance of this.#waiting.splice(0, instances / 2)) {
      this.#place(instance);
      this.#issue(instance);
    }
  }

  round(): Costs {
    const arrived = this.#waiting.length;
    const insertUs = usPerOperator(() => {
      for (let i = 0; i < BATCH; i++) this.#waiting.push(this.#insert());
    });
    const chosen = this.#waiting.splice(0, BATCH);
    if (this.#waiting.length !== arrived) throw new Error("the graph does not keep its size");
    const placeUs = usPerOperator(() => {
      for (const instance of chosen) this.#place(instance);
    });
    const issueUs = usPerOperator(() => {
      for (const instance of chosen) this.#issue(instance);
    });
    const done = this.#issued.splice(0, BATCH);
    const completeUs = usPerOperator(() => {
      for (const instance of done) complete(this.#graph, instance, this.#next);
    });
    return { insertUs, placeUs, issueUs, completeUs };
  }

  #insert(): InstanceNode {
    const id = this.#next++;
    return insertAlone(this.#graph, id, `pass${OPERATORS_PER_INSTANCE}`, [], id % 4 === 0 ? 1 : 0);
  }

  /** What a decision asks before it issues. */
  #place({ operators }: InstanceNode): void {
    const free = this.#graph.placementOptions(operators[0] as OperatorNode).filter(({ shortage }) => shortage === null);
    if (free.length !== PAIRS) throw new Error(`of ${PAIRS} partitions ${free.length} have room`);
  }

  #issue(instance: InstanceNode): void {
    issueAll(this.#graph, instance, instance.id % PAIRS, this.#next);
    this.#issued.push(instance);
  }
}

/** In a request of its own. */
function insertAlone(
  graph: GlobalMappingGraph,
  id: number,
  template: string,
  retain: string[],
  rank: number,
): InstanceNode {
  const opening = {
    id,
    label: "",
    rank,
    deadlineNs: Number.POSITIVE_INFINITY,
    limits: null,
    concurrentInstances: 1,
    chains: 1,
    allowedPartitions: null,
    mayPause: false,
    endsWithInstances: true,
  };
  graph.openRequest(opening, id);
  const symbols = { tokens: 1 + (id % 512) };
  return graph.insert({ id, template, symbols, inputs: {}, retain, allowedPartitions: null, label: "" }, id, id);
}

function issueAll(graph: GlobalMappingGraph, instance: InstanceNode, pair: number, nowNs: number): void {
  const partition = instance.template.partitions[pair];
  if (partition === undefined) throw new Error(`there is no pair ${pair}`);
  for (const operator of instance.operators) graph.issue(operator, partition, nowNs);
  graph.takeEffects();
}

/** What the executor would report, in order; the transfer in the middle included. */
function complete(graph: GlobalMappingGraph, instance: InstanceNode, nowNs: number): void {
  for (const operator of instance.operators) {
    for (const tensor of operator.inputs) {
      for (const transfer of [...tensor.transfers]) {
        graph.transferReceiving(transfer);
        graph.transferDone(transfer, nowNs);
      }
    }
    graph.operatorStarted(operator, nowNs);
    graph.operatorDone(operator, nowNs);
  }
  graph.takeEffects();
  if (instance.state !== "done") throw new Error(`instance ${instance.id} is ${instance.state}`);
}

/** Short instances one after the other, the first of which leave results that somebody keeps. */
function memoryOverInstances(total: number) {
  const retained = 1000;
  const graph = newGraph();
  const kept: InstanceNode[] = [];
  const points: { instances: number; heapMiB: number; rssMiB: number }[] = [];
  const marks = [0.1, 0.5, 1].map((share) => share * total);
  const collect = garbageCollector();
  const begin = performance.now();
  for (let id = 0; id < total; id++) {
    const keep = id < retained;
    const instance = insertAlone(graph, id, "pass2", keep ? ["hidden"] : [], 0);
    issueAll(graph, instance, id % PAIRS, id);
    complete(graph, instance, id);
    if (keep) kept.push(instance);
    if (!marks.includes(id + 1)) continue;
    collect();
    const { heapUsed, rss } = process.memoryUsage();
    points.push({ instances: id + 1, heapMiB: rounded(heapUsed / MIB), rssMiB: rounded(rss / MIB) });
  }
  const usPerInstance = rounded(((performance.now() - begin) * 1000) / total);
  graph.validate();
  const survived = kept.filter(({ id, operators }) => {
    const writer = operators.at(-1);
    const hidden = writer?.outputs[0];
    return graph.instance(id) !== undefined && graph.ledger.isPresent(hidden?.id ?? -1, writer?.accelerator ?? 0);
  }).length;
  const [first, last] = [points[0], points.at(-1)];
  const grownBytes = ((last?.heapMiB ?? 0) - (first?.heapMiB ?? 0)) * MIB;
  const heapBytesPerInstance = rounded(grownBytes / (total - (marks[0] ?? 0)));
  return { points, retained, survived, heapBytesPerInstance, usPerInstance };
}

/** Node hides it unless it is asked for on the command line. */
function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}

function usPerOperator(act: () => void): number {
  const begin = performance.now();
  act();
  return ((performance.now() - begin) * 1000) / (BATCH * OPERATORS_PER_INSTANCE);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >>> 1] ?? Number.NaN;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
