import type { PlannedOutage } from "./outages.ts";
import { issuesOf, type Plan, sendNs } from "./plan.ts";

interface Copy {
  readonly tensor: number;
  readonly accelerator: number;
  present: boolean;
  buffer: { bytes: number } | null;
}

interface Step {
  readonly atNs: number;
  readonly kind: number;
  readonly number: number;
}

/**
 * The rules of docs/execution-model.md, slowly: everything is issued at 0 and held by nobody, nothing is issued again after
 * an outage, and after every event all is found out again by looking through all of it. Shares no code with the executor.
 */
export function twinRun(
  plan: Plan,
  outages: readonly PlannedOutage[] = [],
  reranks: readonly PlannedRerank[] = [],
): TwinRun {
  const twin = new Twin(plan, outages, reranks);
  twin.run();
  return twin;
}

/** From then on an operator that has not started is of this class. */
export interface PlannedRerank {
  readonly atNs: number;
  readonly operator: number;
  readonly rank: number;
}

/** Per operator and per accelerator; −1 for what never started or ended. */
export interface TwinRun {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly peaks: readonly number[];
  readonly busyNs: readonly number[];
  /** Bytes in use per accelerator after each event, and when that was. */
  readonly used: readonly { readonly atNs: number; readonly bytes: readonly number[] }[];
}

class Twin {
  readonly starts: number[];
  readonly ends: number[];
  readonly peaks: number[];
  readonly busyNs: number[];
  readonly used: { atNs: number; bytes: number[] }[] = [];
  readonly #plan: Plan;
  readonly #outages: readonly PlannedOutage[];
  readonly #reranks: readonly PlannedRerank[];
  readonly #ranks: number[];
  readonly #vanished = new Set<number>();
  #transfers: {
    readonly transfer: number;
    readonly tensor: number;
    readonly source: number;
    readonly destination: number;
    state: string;
  }[];
  readonly #copies: Copy[] = [];
  readonly #readyNs: number[];
  readonly #running: (number | null)[];
  #steps: Step[] = [];
  #nowNs = 0;

  constructor(plan: Plan, outages: readonly PlannedOutage[], reranks: readonly PlannedRerank[]) {
    this.#plan = plan;
    this.#reranks = reranks;
    this.#ranks = plan.operators.map(({ rank }) => rank);
    this.#outages = [...outages].sort((a, b) => a.lostNs - b.lostNs || a.accelerator - b.accelerator);
    this.#transfers = issuesOf(plan).transfers.map((transfer) => ({ ...transfer, state: "planned" }));
    this.starts = plan.operators.map(() => -1);
    this.ends = plan.operators.map(() => -1);
    this.#readyNs = plan.operators.map(() => -1);
    this.peaks = Array.from({ length: plan.accelerators }, () => 0);
    this.busyNs = this.peaks.map(() => 0);
    this.#running = this.peaks.map(() => null);
  }

  run(): void {
    this.#findReady();
    for (let accelerator = 0; accelerator < this.#plan.accelerators; accelerator++) this.#start(accelerator);
    for (const [number, { lostNs }] of this.#outages.entries()) this.#steps.push({ atNs: lostNs, kind: 2, number });
    for (const [number, { atNs }] of this.#reranks.entries()) this.#steps.push({ atNs, kind: 3, number });
    for (;;) {
      this.used.push({ atNs: this.#nowNs, bytes: this.peaks.map((_, accelerator) => this.#usedBytes(accelerator)) });
      const step = this.#steps.sort((a, b) => a.atNs - b.atNs || a.kind - b.kind || a.number - b.number).shift();
      if (step === undefined) return;
      this.#nowNs = step.atNs;
      if (step.kind === 0) this.#endOperator(step.number);
      else if (step.kind === 1) this.#endTransfer(step.number);
      else if (step.kind === 2) this.#lose(this.#outages[step.number]?.accelerator ?? -1);
      else this.#rerank(step.number);
    }
  }

  /** Nothing that was there, or was to come from there or to go there, is ever heard of again. */
  #lose(accelerator: number): void {
    for (const [index, operator] of this.#plan.operators.entries())
      if (operator.accelerator === accelerator && this.ends[index] === -1) this.#vanished.add(index);
    const running = this.#running[accelerator] ?? null;
    if (running !== null) this.#count(accelerator, this.#nowNs - (this.starts[running] ?? 0));
    this.#running[accelerator] = null;
    for (const copy of [...this.#copies]) {
      const isOnItsWay = this.#transfers.some(
        ({ tensor, source, destination, state }) =>
          state === "sending" && source === accelerator && isAt(copy, tensor, destination),
      );
      if (copy.accelerator === accelerator || isOnItsWay) this.#copies.splice(this.#copies.indexOf(copy), 1);
    }
    this.#transfers = this.#transfers.map((one) =>
      one.state !== "done" && (one.source === accelerator || one.destination === accelerator)
        ? { ...one, state: "lost" }
        : one,
    );
    this.#steps = this.#steps.filter(({ kind, number }) =>
      kind === 0 ? !this.#vanished.has(number) : kind !== 1 || this.#transfers[number]?.state !== "lost",
    );
    this.#free();
    this.#select();
  }

  #rerank(number: number): void {
    const { operator, rank } = this.#reranks[number] as PlannedRerank;
    if (this.starts[operator] === -1) this.#ranks[operator] = rank;
  }

  #count(accelerator: number, durationNs: number): void {
    this.busyNs[accelerator] = (this.busyNs[accelerator] ?? 0) + durationNs;
  }

  #endOperator(index: number): void {
    const operator = this.#plan.operators[index];
    if (operator === undefined) return;
    this.#running[operator.accelerator] = null;
    this.ends[index] = this.#nowNs;
    this.#count(operator.accelerator, operator.durationNs);
    for (const { tensor } of operator.outputs) this.#makePresent(tensor, operator.accelerator);
    this.#free();
    this.#findReady();
    for (const transfer of this.#transfers) {
      const isMade = operator.outputs.some(({ tensor }) => tensor === transfer.tensor);
      if (isMade && transfer.state === "planned") transfer.state = "intent";
    }
    this.#select();
    this.#start(operator.accelerator);
  }

  #endTransfer(number: number): void {
    const transfer = this.#transfers[number];
    if (transfer === undefined) return;
    transfer.state = "done";
    this.#makePresent(transfer.tensor, transfer.destination);
    this.#free();
    this.#findReady();
    this.#select();
    this.#start(transfer.destination);
  }

  #select(): void {
    for (const transfer of this.#transfers) {
      const busy = this.#transfers.some(
        (one) =>
          one.state === "sending" && (one.source === transfer.source || one.destination === transfer.destination),
      );
      if (transfer.state !== "intent" || busy) continue;
      transfer.state = "sending";
      const bytes = this.#bytesOf(transfer.tensor);
      this.#allocate(transfer.tensor, transfer.destination, bytes, null);
      this.#steps.push({ atNs: this.#nowNs + sendNs(bytes), kind: 1, number: transfer.transfer });
    }
  }

  #start(accelerator: number): void {
    if (this.#running[accelerator] !== null) return;
    const rankOf = (index: number) => this.#ranks[index] ?? 0;
    const [first] = [...this.#plan.operators.entries()]
      .filter(
        ([index, one]) => one.accelerator === accelerator && this.#readyNs[index] !== -1 && this.starts[index] === -1,
      )
      .filter(([index]) => !this.#vanished.has(index))
      .sort(([a], [b]) => rankOf(a) - rankOf(b) || (this.#readyNs[a] ?? 0) - (this.#readyNs[b] ?? 0) || a - b);
    if (first === undefined) return;
    const [index, operator] = first;
    this.starts[index] = this.#nowNs;
    for (const { tensor, bytes, aliases } of operator.outputs) this.#allocate(tensor, accelerator, bytes, aliases);
    this.#running[accelerator] = index;
    this.#measure(accelerator);
    this.#steps.push({ atNs: this.#nowNs + operator.durationNs, kind: 0, number: index });
  }

  #findReady(): void {
    for (const [index, { accelerator, inputs }] of this.#plan.operators.entries()) {
      const ready = inputs.every((tensor) =>
        this.#copies.some((copy) => isAt(copy, tensor, accelerator) && copy.present),
      );
      if (this.#readyNs[index] === -1 && ready) this.#readyNs[index] = this.#nowNs;
    }
  }

  #makePresent(tensor: number, accelerator: number): void {
    for (const copy of this.#copies) if (isAt(copy, tensor, accelerator)) copy.present = true;
  }

  #allocate(tensor: number, accelerator: number, bytes: number, aliases: number | null): void {
    const shared = this.#copies.find((copy) => aliases !== null && isAt(copy, aliases, accelerator))?.buffer;
    const buffer = shared ?? { bytes: 0 };
    buffer.bytes = Math.max(buffer.bytes, this.#rounded(bytes));
    this.#copies.push({ tensor, accelerator, present: false, buffer });
    this.#measure(accelerator);
  }

  #free(): void {
    for (const copy of [...this.#copies]) {
      const used = this.#plan.operators.some(
        ({ accelerator, inputs }, index) =>
          accelerator === copy.accelerator && inputs.includes(copy.tensor) && this.ends[index] === -1,
      );
      const sent = this.#transfers.some(
        ({ tensor, source, state }) =>
          tensor === copy.tensor && source === copy.accelerator && state !== "done" && state !== "lost",
      );
      if (copy.present && !used && !sent) this.#copies.splice(this.#copies.indexOf(copy), 1);
    }
  }

  #measure(accelerator: number): void {
    this.peaks[accelerator] = Math.max(this.peaks[accelerator] ?? 0, this.#usedBytes(accelerator));
  }

  #usedBytes(accelerator: number): number {
    const buffers = new Set(this.#copies.filter((copy) => copy.accelerator === accelerator).map((copy) => copy.buffer));
    const running = this.#plan.operators[this.#running[accelerator] ?? -1];
    let usedBytes = this.#rounded(running?.workspaceBytes ?? 0);
    for (const buffer of buffers) usedBytes += buffer?.bytes ?? 0;
    return usedBytes;
  }

  #bytesOf(tensor: number): number {
    return (
      this.#plan.operators.flatMap(({ outputs }) => outputs).find((output) => output.tensor === tensor)?.bytes ?? 0
    );
  }

  #rounded(bytes: number): number {
    return Math.ceil(bytes / this.#plan.granularityBytes) * this.#plan.granularityBytes;
  }
}

function isAt(copy: Copy, tensor: number, accelerator: number): boolean {
  return copy.tensor === tensor && copy.accelerator === accelerator;
}
