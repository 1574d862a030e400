/**
 * How well an iteration is predicted (paper §5.4.2, Table 2): a training graph on two accelerators as a pipeline of two stages, real operators. After the iterations
 * from which the estimators learn, each iteration is asked for with `whatIf` before it is submitted, and then runs.
 */
import { libtorchExecutor } from "@slicescheduler/executor-libtorch";
import { percentiles, seededRandom } from "@slicescheduler/workloads";
import { type InstanceHandle, SliceScheduler } from "slicescheduler";
import type { Measure } from "../measurement.ts";
import { cpuCluster, machine, requireBackend } from "./live/backend.ts";
import { mean, percent, variation } from "./live/statistics.ts";
import { type ObservedPieces, retoldNs } from "./sim-accuracy/retold.ts";
import { initialParameters, type Placed, type TrainingShape, trainingIteration } from "./sim-accuracy/training.ts";

const PAPER = { meanError: 0.0183, simAi: 0.2058 };
const shape: TrainingShape = { layers: 8, hidden: 256, inner: 1024, microBatches: 4, learningRate: 4 };
const ROWS = 32;

export const measure: Measure = async (args) => {
  requireBackend();
  const learned = numberOf(args, "--learn", 256);
  const iterations = numberOf(args, "--iterations", 64);
  const training = new Training();
  try {
    await training.begin();
    for (let i = 0; i < learned; i++) await training.iterate();
    const observed: Iteration[] = [];
    for (let i = 0; i < iterations; i++) observed.push(await training.iterate());
    const errors = observed.map(({ predictedNs, actualNs }) => Math.abs(predictedNs - actualNs) / actualNs);
    const meanError = mean(errors);
    const actualMs = observed.map(({ actualNs }) => actualNs / 1e6);
    const noise = variation(actualMs);
    const [firstLoss = Number.NaN] = training.losses;
    const lastLoss = training.losses[training.losses.length - 1] ?? Number.NaN;
    const knownErrors = observed.map(
      ({ actualNs, pieces }) => Math.abs(training.retoldNs(pieces) - actualNs) / actualNs,
    );
    const text = [
      `${shape.layers} layers forward and backward, ${shape.microBatches} micro-batches of ${ROWS} rows, pipeline of two stages; ${machine(2)}`,
      `${learned} iterations to learn from, ${iterations} predicted; loss ${firstLoss.toFixed(4)} → ${lastLoss.toFixed(4)}`,
      `an iteration takes ${mean(actualMs).toFixed(1)} ms on average, CV of the iterations ${percent(noise)}`,
      `predicted against actual time: mean error ${percent(meanError)}, p50 / p90 / p99 ${spreadOf(errors)}`,
      `with all durations known: mean error ${percent(mean(knownErrors))}, what the simulation leaves out`,
      `paper: ${percent(PAPER.meanError)} (SimAI ${percent(PAPER.simAi)})`,
    ].join("\n");
    const bias = mean(observed.map(({ predictedNs, actualNs }) => (predictedNs - actualNs) / actualNs));
    return {
      text,
      json: {
        meanError,
        errorWithDurationsKnown: mean(knownErrors),
        iterations,
        learned,
        bias,
        iterationMs: mean(actualMs),
        iterationCv: noise,
        firstLoss,
        lastLoss,
        paper: PAPER,
      },
    };
  } finally {
    training.close();
  }
};

interface Iteration {
  readonly predictedNs: number;
  readonly actualNs: number;
  readonly pieces: ObservedPieces;
}

class Training {
  /** Mean over the micro-batches, per iteration. */
  readonly losses: number[] = [];
  readonly #executor: ReturnType<typeof libtorchExecutor>;
  readonly #scheduler: SliceScheduler;
  readonly #initial;
  readonly #iteration;
  readonly #batches: readonly Float32Array[];
  readonly #targets: readonly Float32Array[];
  #latest: InstanceHandle | undefined;
  readonly #cluster = cpuCluster(2, 1e9);
  readonly #placed: Placed = { shape, accelerators: this.#cluster.accelerators.map(({ name }) => name) };
  #loss = 0;
  #operatorNs: number[] = [];
  #transferNs = new Map<string, number[]>();

  constructor() {
    const initial = initialParameters(this.#placed);
    const iteration = trainingIteration(this.#placed);
    this.#executor = libtorchExecutor({
      onFetched: ({ data }) => {
        this.#loss += Number(data[0]) / shape.microBatches;
      },
    });
    for (const { template, programs } of [initial, iteration]) this.#executor.define(template.name, programs);
    for (let layer = 0; layer < shape.layers; layer++) {
      const tensor = {
        shape: [2, shape.inner, shape.hidden],
        dtype: "float32",
        std: 0.5 / Math.sqrt(shape.inner),
      } as const;
      this.#executor.defineWeights(`initial${layer}`, { seed: layer + 1, tensors: { parameters: tensor } });
    }
    this.#scheduler = new SliceScheduler({ cluster: this.#cluster, executor: this.#executor });
    this.#scheduler.on("operatorDone", ({ operator, observedNs }) => {
      this.#operatorNs[operator] = observedNs;
    });
    this.#scheduler.on("transferDone", ({ source, destination, observedNs }) => {
      const link = `${source}>${destination}`;
      this.#transferNs.set(link, [...(this.#transferNs.get(link) ?? []), observedNs]);
    });
    this.#initial = this.#scheduler.register(initial.template);
    this.#iteration = this.#scheduler.register(iteration.template);
    const random = seededRandom(1);
    const rows = () => Float32Array.from({ length: ROWS * shape.hidden }, () => 2 * random() - 1);
    this.#batches = Array.from({ length: shape.microBatches }, rows);
    // Something to learn: a smooth function of the batch.
    this.#targets = this.#batches.map((batch) => batch.map((x, i) => Math.tanh(2 * x + (batch[i ^ 1] ?? 0))));
  }

  async begin(): Promise<void> {
    this.#latest = this.#scheduler.submit(this.#initial, { symbols: {}, retain: ["parameters"] });
    await this.#latest.done;
  }

  /** One iteration, and what was predicted just before it. */
  async iterate(): Promise<Iteration> {
    const before = this.#latest;
    if (before === undefined) throw new Error("begin first");
    const options = {
      symbols: { rows: ROWS },
      inputs: { parameters: before.output("parameters") },
      retain: ["parameters"] as const,
      prepare: (instance: number) => this.#feed(instance),
    };
    const askedNs = this.#executor.clock.nowNs();
    const [predicted] = this.#scheduler.whatIf(this.#iteration, options).submitted;
    this.#loss = 0;
    this.#operatorNs = [];
    this.#transferNs = new Map();
    const handle = this.#scheduler.submit(this.#iteration, options);
    before.release("parameters");
    this.#latest = handle;
    const { submittedNs, doneNs } = await handle.done;
    this.losses.push(this.#loss);
    this.#executor.unfeed(handle.id);
    const pieces = { operatorNs: this.#operatorNs, transferNs: this.#transferNs };
    return { predictedNs: (predicted?.endNs ?? Number.NaN) - askedNs, actualNs: doneNs - submittedNs, pieces };
  }

  retoldNs(pieces: ObservedPieces): number {
    return retoldNs(this.#placed, this.#cluster, ROWS, pieces);
  }

  close(): void {
    this.#scheduler.close();
  }

  #feed(instance: number): void {
    const shapeOf = [ROWS, shape.hidden];
    for (const [name, all] of [
      ["batch", this.#batches],
      ["target", this.#targets],
    ] as const) {
      for (const [i, data] of all.entries()) {
        this.#executor.feed(instance, `${name}${i}`, { dtype: "float32", shape: shapeOf, data });
      }
    }
  }
}

function spreadOf(errors: readonly number[]): string {
  const found = percentiles(errors);
  return found === null ? "–" : [found.p50, found.p90, found.p99].map((value) => percent(value)).join(" / ");
}

function numberOf(args: readonly string[], name: string, fallback: number): number {
  const at = args.indexOf(name);
  return at < 0 ? fallback : Number(args[at + 1]);
}
