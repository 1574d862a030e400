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
 * The rules of docs/execution-model.md, slowly: everything is issued at 0 and held by nobody, and after every event all is
 * found out again by looking through all of it. Shares no code with the executor.
 */
export function twinRun(plan: Plan): { starts: number[]; ends: number[]; peaks: number[] } {
  const twin = new Twin(plan);
  twin.run();
  return { starts: twin.starts, ends: twin.ends, peaks: twin.peaks };
}

class Twin {
  readonly starts: number[];
  readonly ends: number[];
  readonly peaks: number[];
  readonly #plan: Plan;
  readonly #transfers: {
    readonly transfer: number;
    readonly tensor: number;
    readonly source: number;
    readonly destination: number;
    state: string;
  }[];
  readonly #copies: Copy[] = [];
  readonly #readyNs: number[];
  readonly #running: (number | null)[];
  readonly #steps: Step[] = [];
  #nowNs = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#transfers = issuesOf(plan).transfers.map((transfer) => ({ ...transfer, state: "planned" }));
    this.starts = plan.operators.map(() => -1);
    this.ends = plan.operators.map(() => -1);
    this.#readyNs = plan.operators.map(() => -1);
    this.peaks = Array.from({ length: plan.accelerators }, () => 0);
    this.#running = Array.from({ length: plan.accelerators }, () => null);
  }

  run(): void {
    this.#findReady();
    for (let accelerator = 0; accelerator < this.#plan.accelerators; accelerator++) this.#start(accelerator);
    for (;;) {
      const step = this.#steps.sort((a, b) => a.atNs - b.atNs || a.kind - b.kind || a.number - b.number).shift();
      if (step === undefined) return;
      this.#nowNs = step.atNs;
      if (step.kind === 0) this.#endOperator(step.number);
      else this.#endTransfer(step.number);
    }
  }

  #endOperator(index: number): void {
    const operator = this.#plan.operators[index];
    if (operator === undefined) return;
    this.#running[operator.accelerator] = null;
    this.ends[index] = this.#nowNs;
    for (const { tensor } of operator.outputs) this.#makePresent(tensor, operator.accelerator);
    this.#free();
    this.#findReady();
    for (const transfer of this.#transfers) {
      if (operator.outputs.some(({ tensor }) => tensor === transfer.tensor)) transfer.state = "intent";
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
    const [first] = [...this.#plan.operators.entries()]
      .filter(
        ([index, one]) => one.accelerator === accelerator && this.#readyNs[index] !== -1 && this.starts[index] === -1,
      )
      .sort(([a, x], [b, y]) => x.rank - y.rank || (this.#readyNs[a] ?? 0) - (this.#readyNs[b] ?? 0) || a - b);
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
        ({ tensor, source, state }) => tensor === copy.tensor && source === copy.accelerator && state !== "done",
      );
      if (copy.present && !used && !sent) this.#copies.splice(this.#copies.indexOf(copy), 1);
    }
  }

  #measure(accelerator: number): void {
    const buffers = new Set(this.#copies.filter((copy) => copy.accelerator === accelerator).map((copy) => copy.buffer));
    const running = this.#plan.operators[this.#running[accelerator] ?? -1];
    let usedBytes = this.#rounded(running?.workspaceBytes ?? 0);
    for (const buffer of buffers) usedBytes += buffer?.bytes ?? 0;
    this.peaks[accelerator] = Math.max(this.peaks[accelerator] ?? 0, usedBytes);
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
