/** A master that says almost anything: it knows what it was told, but neither waits for it nor thinks. */
import {
  ExecutorError,
  type ExecutorEvent,
  type ExecutorInstruction,
  type IssuedInput,
} from "@slicescheduler/executor";
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/templates";
import type { LibtorchExecutor, Program } from "./index.ts";

const ELEMENT_BYTES = 8;
/** After so many turns of the event loop without an end there is none. */
const TURNS_MAX = 20_000;
const names = ["a0", "a1", "a2"];

export const cluster: ClusterSpec = {
  accelerators: names.map((name) => ({ name, kind: "cpu", hbmBytes: 8_192, granularityBytes: 64 })),
  defaultLink: { latencyNs: 1_000, bytesPerSecond: 1e9 },
};

const row = (length: string) => ({ shape: [length], dtype: "float64" }) as const;
const partitions = names.map((name) => ({ name, accelerators: [name], layout: [0] }));

/** Operators that read so many tensors, and make one or none; the last continues its input in place. */
export const templates: readonly TemplateSpec[] = [
  { name: "make", symbols: ["n"], operators: [{ name: "run", outputs: { out: row("n") } }], outputs: {}, partitions },
  ...[1, 2].map((reads) => ({
    name: `read${reads}`,
    symbols: ["n", "n0", "n1"],
    inputs: Object.fromEntries(Array.from({ length: reads }, (_, at) => [`in${at}`, row(`n${at}`)])),
    operators: [{ name: "run", inputs: ["in0", "in1"].slice(0, reads), outputs: { out: row("n") } }],
    outputs: {},
    partitions,
  })),
  {
    name: "continue",
    symbols: ["n"],
    inputs: { in0: row("n") },
    operators: [{ name: "run", inputs: ["in0"], outputs: { out: { ...row("n"), aliases: "in0" } } }],
    outputs: {},
    partitions,
  },
];

const fresh: Program = {
  calls: [
    { op: "aten::full", args: [[{ symbol: "n" }], 1], kwargs: { dtype: { dtype: "float64" } }, results: ["out"] },
  ],
  outputs: [{ value: "out" }],
};
const inPlace: Program = { calls: [{ op: "aten::add_.Scalar", args: [{ input: 0 }, 1] }], outputs: [{ input: 0 }] };

export function definePrograms(executor: LibtorchExecutor): void {
  for (const { name } of templates) executor.define(name, { run: name === "continue" ? inPlace : fresh });
}

interface Known {
  readonly tensor: number;
  readonly accelerator: number;
  readonly length: number;
}

/** One thing to say, by numbers from 0 to 1 that choose what, of what, and where. */
export type Draw = readonly [what: number, of: number, where: number, size: number];

export class RandomMaster {
  readonly executor: LibtorchExecutor;
  readonly events: ExecutorEvent[] = [];
  readonly #known: Known[] = [];
  readonly #issued: number[] = [];
  readonly #transfers = new Map<
    number,
    { readonly tensor: number; readonly source: number; readonly destination: number; readonly bytes: number }
  >();
  readonly #intents: number[] = [];
  readonly #received: number[] = [];
  #issue = 0;
  #transfer = 0;
  refused = 0;

  constructor(executor: LibtorchExecutor) {
    this.executor = executor;
  }

  hear(event: ExecutorEvent): void {
    this.events.push(event);
    if (event.type === "intentsRaised") this.#intents.push(...event.transfers);
    if (event.type === "recvReady") this.#received.push(event.transfer);
    if (event.type === "recvFailed") this.#intents.push(event.transfer);
  }

  /** Says them in one batch; one that is refused ends the batch, as the interface says. */
  say(draws: readonly Draw[]): void {
    this.#execute(draws.flatMap((draw) => this.#instruction(draw)));
  }

  /** Lets everything come to an end that can: what was held back, what waits for a transfer, and then all that is held. */
  async settle(turn: () => Promise<void>): Promise<void> {
    for (const issueNumber of this.#issued) this.#execute([{ type: "activate", issueNumber }]);
    for (let turns = 0; this.#isLeft() && turns < TURNS_MAX; turns++) {
      for (const { transfer } of this.executor.leftovers().transfers)
        this.#execute([{ type: "cancelTransfer", transfer }]);
      for (const { issueNumber } of this.executor.leftovers().operators)
        this.#execute([{ type: "withdraw", issueNumber }]);
      for (const { tensor, accelerator } of this.executor.leftovers().tensors)
        this.#execute([{ type: "release", tensor, accelerator }]);
      await turn();
    }
  }

  #isLeft(): boolean {
    return Object.values(this.executor.leftovers()).some(({ length }) => length > 0);
  }

  #execute(instructions: readonly ExecutorInstruction[]): void {
    try {
      this.executor.execute(instructions);
    } catch (error) {
      if (!(error instanceof ExecutorError) || error.code === "INVARIANT_BROKEN") throw error;
      this.refused++;
    }
  }

  #instruction([what, of, where, size]: Draw): readonly ExecutorInstruction[] {
    const accelerator = Math.floor(where * names.length);
    const pick = <Value>(values: readonly Value[]) => values[Math.floor(of * values.length)];
    const issueNumber = pick(this.#issued.slice(-12));
    const copy = pick(this.#known.slice(-12));
    if (what < 0.45) return [this.#new(what / 0.45, of, accelerator, size)];
    if (what < 0.58) return this.#takeOne(this.#intents, of, (transfer) => this.#recv(transfer));
    if (what < 0.7) return this.#takeOne(this.#received, of, (transfer) => ({ type: "activateSend", transfer }));
    if (what < 0.73)
      return this.#takeOne([...this.#transfers.keys()].slice(-6), of, (transfer) => ({
        type: "cancelTransfer",
        transfer,
      }));
    if (issueNumber === undefined || copy === undefined) return [];
    if (what < 0.78) return [{ type: "activate", issueNumber }];
    if (what < 0.83) return [{ type: "rerank", issueNumber, rank: Math.floor(size * 4) }];
    if (what < 0.87) return [{ type: "withdraw", issueNumber }];
    return [{ type: what < 0.9 ? "hold" : "release", tensor: copy.tensor, accelerator: copy.accelerator }];
  }

  #takeOne(
    from: number[],
    of: number,
    say: (transfer: number) => ExecutorInstruction | undefined,
  ): readonly ExecutorInstruction[] {
    const [transfer] = from.splice(Math.floor(of * from.length), 1);
    const said = transfer === undefined ? undefined : say(transfer);
    return said === undefined ? [] : [said];
  }

  #recv(transfer: number): ExecutorInstruction | undefined {
    const planned = this.#transfers.get(transfer);
    return planned && { type: "activateRecv", transfer, ...planned };
  }

  #new(kind: number, of: number, accelerator: number, size: number): ExecutorInstruction {
    const template = templates[Math.floor(kind * templates.length)]?.name ?? "make";
    const reads = { make: 0, read1: 1, read2: 2, continue: 1 }[template] ?? 0;
    const recent = this.#known.slice(-6);
    const read = Array.from({ length: reads }, (_, at) => recent[Math.floor(of * recent.length + at) % recent.length]);
    const inputs = read.filter((copy) => copy !== undefined);
    const isWhole = inputs.length === reads && new Set(inputs.map(({ tensor }) => tensor)).size === reads;
    const on = template === "continue" && isWhole ? (inputs[0]?.accelerator ?? 0) : accelerator;
    const length = template === "continue" && isWhole ? (inputs[0]?.length ?? 0) : Math.floor(size * size * 500);
    const issueNumber = this.#issue++;
    const tensor = issueNumber;
    this.#issued.push(issueNumber);
    this.#known.push({ tensor, accelerator: on, length });
    const from = isWhole ? inputs : [];
    return {
      type: "issue",
      issueNumber,
      accelerator: on,
      instance: issueNumber,
      template: isWhole ? template : "make",
      operator: 0,
      symbols: { n: length, n0: from[0]?.length ?? 0, n1: from[1]?.length ?? 0 },
      rank: Math.floor(of * 3),
      activated: size < 0.8,
      inputs: from.map((copy) => this.#input(copy, on)),
      outputs: [
        {
          tensor,
          bytes: length * ELEMENT_BYTES,
          aliases: template === "continue" && isWhole ? (from[0]?.tensor ?? null) : null,
        },
      ],
      workspaceBytes: Math.floor(of * 3) * 100,
    };
  }

  #input({ tensor, accelerator: source, length }: Known, destination: number): IssuedInput {
    if (source === destination) return { tensor, transfer: null, source: -1 };
    const planned = [...this.#transfers].find(([, each]) => each.tensor === tensor && each.destination === destination);
    const transfer = planned?.[0] ?? this.#transfer++;
    if (planned === undefined)
      this.#transfers.set(transfer, { tensor, source, destination, bytes: length * ELEMENT_BYTES });
    return { tensor, transfer, source };
  }
}
