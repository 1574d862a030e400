/**
 * How well durations of real operators and transfers are estimated (paper §5.4.1, Fig. 9): each estimate is taken from the scheduler's own estimators just before its
 * work is submitted, and compared with what was observed. Beside it, how much repeats of the same work differ among themselves: no estimate can be better.
 */
import { EstimatorBank, rooflineNs } from "@slicescheduler/estimators";
import { libtorchExecutor } from "@slicescheduler/executor-libtorch";
import { defineLlama, llamaModel, llamaPartitions, seededLlamaWeights } from "@slicescheduler/executor-libtorch/llama";
import { type Binding, type Cluster, compileCluster, compileTemplate, type Template } from "@slicescheduler/gmg";
import { type Random, seededRandom } from "@slicescheduler/workloads";
import { SliceScheduler } from "slicescheduler";
import type { Measure } from "../measurement.ts";
import { type Accuracy, accuracyOf, type Sample } from "./estimators/samples.ts";
import { CAPACITY, MOVED_ELEMENTS, moveTemplate, PROMPT_TOKENS, shape } from "./estimators/workload.ts";
import { cpuCluster, machine, requireBackend } from "./live/backend.ts";
import { percent } from "./live/statistics.ts";

const PAPER = { operator: { mape: 0.0032, cv: 0.0062 }, transfer: { mape: 0.0092, cv: 0.0163 } };
/** The first of all rounds only teach. */
const LEARNING_SHARE = 1 / 3;

export const measure: Measure = async (args) => {
  requireBackend();
  const at = args.indexOf("--rounds");
  const rounds = at < 0 ? 360 : Number(args[at + 1]);
  const run = new Run();
  try {
    for (let round = 0; round < rounds; round++) await run.round(round >= rounds * LEARNING_SHARE);
  } finally {
    run.close();
  }
  const operator = accuracyOf(run.operators);
  const transfer = accuracyOf(run.transfers);
  const text = [
    `a prefill and a decode step in ${PROMPT_TOKENS.length} sizes, tensors moved in ${MOVED_ELEMENTS.length}; ${machine(2)}`,
    `             MAPE     floor      CV of repeats   MAPE ÷ floor   samples   paper: MAPE / CV`,
    line("operators", operator, PAPER.operator),
    line("transfers", transfer, PAPER.transfer),
    `floor: the error of the median of all repeats, known beforehand`,
  ].join("\n");
  return { text, json: { operator, transfer, rounds, paper: PAPER } };
};

function line(name: string, { mape, cv, floor, samples }: Accuracy, paper: { mape: number; cv: number }): string {
  const cells = [percent(mape).padStart(8), percent(floor).padStart(10), percent(cv).padStart(12)];
  const ratio = (mape / floor).toFixed(2).padStart(15);
  return `${name} ${cells.join("")}${ratio}${String(samples).padStart(13)}   ${percent(paper.mape)} / ${percent(paper.cv)}`;
}

/** What an operator is expected to take, by index, from before it was submitted. */
interface Expected {
  readonly template: Template;
  readonly symbols: string;
  readonly predictedNs: readonly number[];
}

class Run {
  readonly operators: Sample[] = [];
  readonly transfers: Sample[] = [];
  readonly #spec = cpuCluster(2, 2e9);
  readonly #cluster: Cluster = compileCluster(this.#spec);
  readonly #bank = new EstimatorBank();
  readonly #executor = libtorchExecutor();
  readonly #scheduler: SliceScheduler;
  readonly #random: Random = seededRandom(1);
  readonly #handles;
  readonly #templates;
  readonly #expected = new Map<number, Expected>();
  /** Of the next transfer; null where none is expected. */
  #expectedTransferNs: number | null = null;
  #counts: boolean = false;

  constructor() {
    const names = this.#spec.accelerators.map(({ name }) => name) as [string, string];
    const model = llamaModel({ shape, partitions: llamaPartitions(names, shape.layers, [1]) });
    defineLlama(this.#executor, model, seededLlamaWeights(shape, 1));
    const move = moveTemplate(names);
    this.#executor.define(move.template.name, move.programs);
    this.#scheduler = new SliceScheduler({
      cluster: this.#spec,
      executor: this.#executor,
      scheduling: { estimators: this.#bank },
    });
    this.#handles = {
      prefill: this.#scheduler.register(model.prefill.template),
      decode: this.#scheduler.register(model.decode.template),
      move: this.#scheduler.register(move.template),
    };
    this.#templates = {
      prefill: compileTemplate(model.prefill.template, this.#cluster),
      decode: compileTemplate(model.decode.template, this.#cluster),
      move: compileTemplate(move.template, this.#cluster),
    };
    this.#listen();
  }

  /** A prefill, a decode step after it, and a transfer each way; nothing else runs meanwhile. */
  async round(counts: boolean): Promise<void> {
    this.#counts = counts;
    const tokens = this.#pick(PROMPT_TOKENS);
    const sizes = { tokens, capacity: CAPACITY };
    const prefill = this.#scheduler.submit(this.#handles.prefill, {
      symbols: sizes,
      retain: ["kv", "token"],
      prepare: (instance) => {
        const data = BigInt64Array.from({ length: tokens }, (_, i) => BigInt(i % shape.vocabulary));
        this.#executor.feed(instance, "prompt", { dtype: "int64", shape: [tokens], data });
        this.#expect(instance, this.#templates.prefill, sizes);
      },
    });
    await prefill.done;
    this.#executor.unfeed(prefill.id);
    const step = { past: tokens, capacity: CAPACITY };
    const decode = this.#scheduler.submit(this.#handles.decode, {
      symbols: step,
      inputs: { kv: prefill.output("kv"), token: prefill.output("token") },
      prepare: (instance) => this.#expect(instance, this.#templates.decode, step),
    });
    prefill.release("kv");
    prefill.release("token");
    await decode.done;
    for (const partition of ["there", "back"]) {
      const symbols = { elements: this.#pick(MOVED_ELEMENTS) };
      this.#expectTransfer(partition, 4 * symbols.elements);
      await this.#scheduler.submit(this.#handles.move, { symbols, partitions: [partition] }).done;
    }
  }

  close(): void {
    this.#scheduler.close();
  }

  #pick(values: readonly number[]): number {
    return values[Math.floor(this.#random() * values.length)] as number;
  }

  #listen(): void {
    this.#scheduler.on("operatorDone", ({ instance, operator, operatorName, observedNs }) => {
      const expected = this.#expected.get(instance);
      if (expected === undefined || !this.#counts) return;
      const group = `${expected.template.name}/${operatorName} ${expected.symbols}`;
      this.operators.push({ group, predictedNs: expected.predictedNs[operator] ?? Number.NaN, observedNs });
    });
    this.#scheduler.on("instanceDone", ({ instance }) => this.#expected.delete(instance));
    this.#scheduler.on("transferDone", ({ source, destination, bytes, observedNs }) => {
      const predictedNs = this.#expectedTransferNs;
      this.#expectedTransferNs = null;
      if (!this.#counts || predictedNs === null) return;
      this.transfers.push({ group: `${source} → ${destination} ${bytes}`, predictedNs, observedNs });
    });
  }

  #expectTransfer(partition: string, bytes: number): void {
    const [source, destination] = partition === "there" ? [0, 1] : [1, 0];
    const nameOf = (index: number) => this.#cluster.accelerators[index]?.name ?? "";
    const declaredNs = this.#cluster.transferNs(source, destination, bytes);
    const model = this.#bank.transfer(nameOf(source), nameOf(destination));
    this.#expectedTransferNs = model.predict([bytes], declaredNs).durationNs;
  }

  /** As the scheduler predicts: the model of the kind, from the roofline of what is declared. Both accelerators are alike. */
  #expect(instance: number, template: Template, symbols: Readonly<Record<string, number>>): void {
    const binding: Binding = template.bind(symbols);
    const [device] = this.#cluster.accelerators;
    if (device === undefined) return;
    const predictedNs = template.operators.map(({ durationModel }, index) => {
      const priorNs = rooflineNs({
        flops: binding.flops(index),
        movedBytes: binding.movedBytes(index),
        flopsPerSecond: device.flopsPerSecond ?? 1,
        hbmBytesPerSecond: device.hbmBytesPerSecond ?? 1,
      });
      return this.#bank.operator(durationModel, device.kind).predict(binding.features, priorNs).durationNs;
    });
    this.#expected.set(instance, { template, symbols: JSON.stringify(symbols), predictedNs });
  }
}
