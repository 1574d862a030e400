import type { ExecutorInstruction, IssuedInput, IssueInstruction } from "@slicescheduler/executor";
import { unitOf } from "../../hash.ts";
import type { Check, Stage } from "../check.ts";
import { WHERE } from "../rules.ts";
import type { Scene } from "../scene.ts";
import { made } from "../work.ts";
import { BASELINE_BYTES } from "../world.ts";

/** Everything at once, drawn from seeds: what no check thought of. */
export const mixtureChecks: readonly Check[] = [
  {
    rule: "a mixture of operators, transfers, releases and withdrawals keeps every rule, and all ends and leaves nothing",
    where: WHERE.operators,
    run: async (stage) => {
      for (let seed = 0; seed < SEEDS; seed++) await runMixture(stage, seed);
    },
  },
];

const SEEDS = 3;
const BATCHES = 8;
const ISSUES_PER_BATCH = 6;

/** Pairs of accelerators with a link. */
const LINKED = ["0 1", "1 0", "1 2"];

async function runMixture(stage: Stage, seed: number): Promise<void> {
  const scene = await stage.open({ keepsBooks: true });
  const mixture = new Mixture(scene, seed);
  for (let batch = 0; batch < BATCHES; batch++) {
    scene.execute(...mixture.next());
    const heard = scene.events.length;
    const more = mixture.draw(6);
    if (more > 0 && mixture.isPending())
      await scene.until(
        () => scene.events.length >= heard + more || !mixture.isPending(),
        () => "more events",
      );
  }
  scene.execute(...mixture.rest());
  await scene.until(
    () => !mixture.isPending(),
    () => `ends of ${mixture.pending().join(", ")}`,
  );
  await scene.quiet();
  scene.execute(...mixture.releases());
  await scene.quiet();
  const { violations } = scene.books ?? { violations: [] };
  scene.expect(
    violations.length === 0,
    "books that agree with what is reported",
    violations.map(({ words }) => words).join("; "),
  );
  for (const accelerator of scene.cluster.accelerators.keys()) {
    const usedBytes = scene.books?.usedBytes(accelerator) ?? 0;
    scene.expect(
      usedBytes === BASELINE_BYTES,
      `nothing in use on ${accelerator} by the books`,
      `${usedBytes - BASELINE_BYTES} bytes`,
    );
  }
  await stage.memory(scene).isEmpty(`all was released (mixture of seed ${seed})`);
}

interface Tensor {
  readonly tensor: number;
  /** Who makes it, and where. */
  readonly producer: IssueInstruction;
  /** Where a transfer brings it, and by which number. */
  readonly brought: Map<number, IssuedInput>;
}

/** Draws batches that a correct master could give, whatever was heard before. */
class Mixture {
  readonly #scene: Scene;
  readonly #seed: number;
  readonly #issued: IssueInstruction[] = [];
  readonly #held = new Set<number>();
  #tensors: Tensor[] = [];
  readonly #made: Tensor[] = [];
  /** What has not ended, by issue number, as far as events were looked at. */
  readonly #open = new Map<number, IssueInstruction>();
  /** Issue number of the producer of each tensor. */
  readonly #producers = new Map<number, number>();
  #heard = 0;
  #draws = 0;

  constructor(scene: Scene, seed: number) {
    this.#scene = scene;
    this.#seed = seed;
  }

  /** A whole number from 0, below this. */
  draw(below: number): number {
    return Math.floor(unitOf(this.#seed, 0, this.#draws++) * below);
  }

  next(): readonly ExecutorInstruction[] {
    const batch: ExecutorInstruction[] = [];
    for (let i = 0; i < ISSUES_PER_BATCH; i++) batch.push(this.#issue());
    for (const issueNumber of this.#held) if (this.draw(3) === 0) batch.push(this.#activate(issueNumber));
    const chosen = this.#tensors.filter(() => this.draw(5) === 0);
    for (const tensor of chosen) batch.push(...this.#release(tensor));
    if (this.draw(3) === 0) batch.push(...this.#withdraw());
    return batch;
  }

  /** Activates what is held back. */
  rest(): readonly ExecutorInstruction[] {
    return [...this.#held].map((issueNumber) => this.#activate(issueNumber));
  }

  releases(): readonly ExecutorInstruction[] {
    return this.#made.flatMap((tensor) => this.#release(tensor));
  }

  /** Issue numbers of what has not ended. */
  pending(): readonly number[] {
    const { events } = this.#scene;
    for (; this.#heard < events.length; this.#heard++) {
      const event = events[this.#heard];
      if (event !== undefined && "issueNumber" in event && event.type !== "operatorStarted")
        this.#open.delete(event.issueNumber);
    }
    return [...this.#open.keys()];
  }

  /** Whether something is left that will end without being told more. */
  isPending(): boolean {
    return this.pending().some((issueNumber) => !this.#waitsForActivation(issueNumber));
  }

  /** It is held back, or needs what is. */
  #waitsForActivation(issueNumber: number): boolean {
    if (this.#held.has(issueNumber)) return true;
    const inputs = this.#open.get(issueNumber)?.inputs ?? [];
    return inputs.some(({ tensor }) => {
      const producer = this.#producers.get(tensor) ?? -1;
      return this.#open.has(producer) && this.#waitsForActivation(producer);
    });
  }

  #issue(): ExecutorInstruction {
    const { numbers } = this.#scene;
    const on = this.draw(3);
    const options = { rank: this.draw(3), held: this.draw(6) === 0, scratchBytes: 64 * this.draw(4) };
    const bytes = 8 * (1 + this.draw(20));
    const reads = this.#reads(on, this.draw(3));
    const [first, second] = reads;
    let issue: IssueInstruction;
    if (first === undefined) issue = numbers.pair(on, [bytes, 64], options);
    else if (second !== undefined) issue = numbers.join(on, [first, second], bytes, options);
    else issue = this.draw(3) === 0 ? numbers.sink(on, first, options) : numbers.map(on, first, bytes, options);
    this.#issued.push(issue);
    this.#open.set(issue.issueNumber, issue);
    if (options.held) this.#held.add(issue.issueNumber);
    for (const at of issue.outputs.keys()) {
      const tensor: Tensor = { tensor: made(issue, at), producer: issue, brought: new Map() };
      this.#tensors.push(tensor);
      this.#made.push(tensor);
      this.#producers.set(tensor.tensor, issue.issueNumber);
    }
    return issue;
  }

  /** So many distinct tensors that can be read there, or fewer. */
  #reads(on: number, count: number): readonly IssuedInput[] {
    const { numbers } = this.#scene;
    const reads: IssuedInput[] = [];
    for (let i = 0; i < count && this.#tensors.length > 0; i++) {
      const tensor = this.#tensors[this.draw(this.#tensors.length)];
      if (tensor === undefined || reads.some((read) => read.tensor === tensor.tensor)) continue;
      const source = tensor.producer.accelerator;
      if (source === on) reads.push(numbers.here(tensor.tensor));
      else if (LINKED.includes(`${source} ${on}`)) reads.push(this.#brought(tensor, on));
    }
    return reads;
  }

  /** By the transfer that is on its way, or has brought it. */
  #brought(tensor: Tensor, on: number): IssuedInput {
    const { numbers } = this.#scene;
    const known = tensor.brought.get(on) ?? numbers.bring(tensor.tensor, tensor.producer.accelerator);
    tensor.brought.set(on, known);
    const hasEnded = this.#scene.has("transferDone", known.transfer ?? -1);
    return hasEnded ? numbers.here(tensor.tensor) : known;
  }

  #activate(issueNumber: number): ExecutorInstruction {
    this.#held.delete(issueNumber);
    return { type: "activate", issueNumber };
  }

  #release(tensor: Tensor): readonly ExecutorInstruction[] {
    this.#tensors = this.#tensors.filter((other) => other !== tensor);
    const places = [tensor.producer.accelerator, ...tensor.brought.keys()];
    return places.map((accelerator) => ({ type: "release", tensor: tensor.tensor, accelerator }));
  }

  /** Takes an operator back and all that needs it, the last first. */
  #withdraw(): readonly ExecutorInstruction[] {
    const start = this.#issued[this.draw(this.#issued.length)];
    if (start === undefined) return [];
    const chosen = [start];
    for (const issue of this.#issued) {
      const needs = issue.inputs.some(({ tensor }) =>
        chosen.some(({ outputs }) => outputs.some((output) => output.tensor === tensor)),
      );
      if (needs && !chosen.includes(issue)) chosen.push(issue);
    }
    // Transfers that nobody else waits for end with their consumers: what they were to bring is not read again.
    const brought = chosen.flatMap(({ inputs }) => inputs.filter(({ transfer }) => transfer !== null));
    const lost = new Set([...chosen.flatMap(({ outputs }) => outputs), ...brought].map(({ tensor }) => tensor));
    this.#tensors = this.#tensors.filter(({ tensor }) => !lost.has(tensor));
    for (const { issueNumber } of chosen) this.#held.delete(issueNumber);
    return chosen.reverse().map(({ issueNumber }) => ({ type: "withdraw", issueNumber }));
  }
}
