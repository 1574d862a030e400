/** The rules of docs/execution-model.md with plain objects and a sort at each step: the twin of the fast simulator. */
import type { AcceleratorState, SimulatorOptions } from "../src/index.ts";

interface Buffer {
  bytes: number;
  readonly copies: Set<Copy>;
}

interface Copy {
  readonly tensor: Tensor;
  readonly accelerator: number;
  readonly kind: "present" | "produced" | "expected";
  held: boolean;
  readonly aliases: number;
  /** A transfer that is declared. */
  declared: { source: number; rank: number; remainingNs: number | null } | null;
  raisedNs: number | null;
  present: boolean;
  uses: number;
  sends: number;
  buffer: Buffer | null;
  arrival: Transfer | null;
}

interface Tensor {
  readonly index: number;
  readonly bytes: number;
  readonly copies: Copy[];
}

interface Operator {
  readonly index: number;
  readonly accelerator: number;
  readonly durationNs: number;
  readonly rank: number;
  readonly issueNumber: number;
  readonly workspaceBytes: number;
  readonly inputs: { tensor: Tensor; source: number }[];
  readonly outputs: Copy[];
  readySinceNs: number | null;
  remainingNs: number | null;
  needs: Copy[];
  readyNs: number | null;
  startNs: number;
  doneNs: number;
}

interface Transfer {
  readonly transfer: number;
  readonly from: Copy;
  readonly to: Copy;
  readonly rank: number;
  readonly durationNs: number;
  raisedNs: number;
  startNs: number;
  doneNs: number;
}

interface Memory {
  readonly state: AcceleratorState;
  usedBytes: number;
  peakBytes: number;
  busyNs: number;
  running: Operator | null;
  timeline: { atNs: number; usedBytes: number }[];
}

class OutOfMemory extends Error {
  readonly where: { accelerator: number; atNs: number; operator: number; transfer: number; bytesOver: number };
  constructor(where: OutOfMemory["where"]) {
    super("out of memory");
    this.where = where;
  }
}

export class SlowSimulator {
  readonly #options: SimulatorOptions;
  #nowNs = 0;
  #beginNs = 0;
  #memories: Memory[] = [];
  readonly #tensors: Tensor[] = [];
  readonly #operators: Operator[] = [];
  readonly #transfers: Transfer[] = [];
  /** What declared transfers bring, in order. */
  readonly #declared: Copy[] = [];
  #firstTarget = 0;

  constructor(options: SimulatorOptions) {
    this.#options = options;
  }

  begin(nowNs: number, accelerators: readonly AcceleratorState[]): void {
    this.#beginNs = this.#nowNs = nowNs;
    this.#memories = accelerators.map((state) => ({
      state,
      usedBytes: state.fixedBytes,
      peakBytes: 0,
      busyNs: 0,
      running: null,
      timeline: [],
    }));
  }

  mark(): void {
    this.#firstTarget = this.#operators.length;
  }

  addTensor(accelerator: number, bytes: number, held: boolean, aliases = -1): number {
    const tensor: Tensor = { index: this.#tensors.length, bytes, copies: [] };
    this.#tensors.push(tensor);
    tensor.copies.push(newCopy(tensor, accelerator, "present", held, aliases));
    return tensor.index;
  }

  addCopy(tensor: number, accelerator: number, held: boolean, aliases = -1): void {
    const it = this.#tensor(tensor);
    it.copies.push(newCopy(it, accelerator, "present", held, aliases));
  }

  addOperator(accelerator: number, durationNs: number, rank: number, issueNumber: number, workspaceBytes: number) {
    const index = this.#operators.length;
    this.#operators.push({
      ...{ index, accelerator, durationNs, rank, issueNumber, workspaceBytes, inputs: [], outputs: [] },
      ...{ readySinceNs: null, remainingNs: null, needs: [], readyNs: null, startNs: Number.NaN, doneNs: Number.NaN },
    });
    return index;
  }

  addInput(operator: number, tensor: number, source = -1): void {
    const { inputs } = this.#operator(operator);
    if (!inputs.some((it) => it.tensor.index === tensor)) inputs.push({ tensor: this.#tensor(tensor), source });
  }

  addOutput(operator: number, bytes: number, held: boolean, aliases = -1): number {
    const { accelerator, outputs } = this.#operator(operator);
    const tensor: Tensor = { index: this.#tensors.length, bytes, copies: [] };
    const copy = newCopy(tensor, accelerator, "produced", held, aliases);
    this.#tensors.push(tensor);
    tensor.copies.push(copy);
    outputs.push(copy);
    return tensor.index;
  }

  setRunning(operator: number, remainingNs: number): void {
    this.#operator(operator).remainingNs = remainingNs;
  }

  setReadySince(operator: number, sinceNs: number): void {
    this.#operator(operator).readySinceNs = sinceNs;
  }

  setTransferring(tensor: number, source: number, destination: number, remainingNs: number): void {
    const copy = this.#expected(tensor, destination);
    if (copy.declared === null) this.addTransfer(tensor, source, destination, 0);
    if (copy.declared !== null) copy.declared.remainingNs = remainingNs;
  }

  addTransfer(tensor: number, source: number, destination: number, rank: number): void {
    const copy = this.#expected(tensor, destination);
    copy.declared = { source, rank, remainingNs: null };
    this.#declared.push(copy);
  }

  setIntentSince(tensor: number, destination: number, sinceNs: number): void {
    this.#expected(tensor, destination).raisedNs = sinceNs;
  }

  setHeld(tensor: number, accelerator: number, held: boolean): void {
    this.#expected(tensor, accelerator).held = held;
  }

  run() {
    const issued = [...this.#operators].sort((a, b) => a.issueNumber - b.issueNumber);
    // They were planned before all that operators ask for.
    for (const copy of this.#declared) this.#arrivalOf(copy, copy.declared?.rank ?? 0, copy.declared?.source ?? -1);
    for (const operator of issued) this.#issue(operator);
    for (const { copies } of this.#tensors) for (const copy of copies) if (copy.present) this.#place(copy);
    for (const operator of issued) this.#enter(operator);
    for (const transfer of this.#transfers) this.#enterTransfer(transfer);
    let outOfMemory: OutOfMemory["where"] | null = null;
    for (const [accelerator, memory] of this.#memories.entries()) {
      memory.peakBytes = memory.usedBytes;
      memory.timeline.push({ atNs: this.#nowNs, usedBytes: memory.usedBytes });
      const bytesOver = memory.usedBytes - memory.state.capacityBytes;
      if (bytesOver > 0) outOfMemory ??= { accelerator, atNs: this.#nowNs, operator: -1, transfer: -1, bytesOver };
    }
    let endNs = this.#beginNs;
    try {
      if (outOfMemory === null) {
        this.#select();
        for (const accelerator of this.#memories.keys()) this.#startNext(accelerator);
        for (let more = this.#step(); more; more = this.#step()) endNs = this.#nowNs;
      }
    } catch (error) {
      if (!(error instanceof OutOfMemory)) throw error;
      outOfMemory = error.where;
      if (this.#stepped) endNs = this.#nowNs;
    }
    return this.#results(outOfMemory, endNs);
  }

  #stepped = false;

  #results(outOfMemory: OutOfMemory["where"] | null, endNs: number) {
    const done = this.#operators.filter((it) => !Number.isNaN(it.doneNs));
    const targets = this.#operators.slice(this.#firstTarget);
    const sum = targets.reduce((total, it) => total + it.doneNs - this.#beginNs, 0);
    const score = Number.isNaN(sum) ? Number.POSITIVE_INFINITY : this.#beginNs + sum / targets.length;
    const finished = outOfMemory === null && done.length === this.#operators.length;
    return {
      outcome: finished ? "finished" : outOfMemory === null ? "standstill" : "outOfMemory",
      makespanNs: endNs - this.#beginNs,
      simulatedOperators: done.length,
      score,
      startNs: this.#operators.map((it) => it.startNs),
      doneNs: this.#operators.map((it) => it.doneNs),
      peakBytes: this.#memories.map((it) => it.peakBytes),
      busyNs: this.#memories.map((it) => it.busyNs),
      outOfMemory,
      transfers: this.#transfers.map(({ transfer, from, to, raisedNs, startNs, doneNs }) => ({
        ...{ transfer, tensor: from.tensor.index, source: from.accelerator, destination: to.accelerator },
        ...{ bytes: from.tensor.bytes, raisedNs, startNs, doneNs },
      })),
      timelines: this.#memories.map(({ timeline }) =>
        timeline.filter((it, at) => at === 0 || it.usedBytes !== timeline[at - 1]?.usedBytes),
      ),
      waiters: [
        ...[...this.#operators]
          .sort((a, b) => a.issueNumber - b.issueNumber)
          .filter((it) => Number.isNaN(it.doneNs))
          .map((it) => ({
            operator: it.index,
            tensors: it.needs.filter((c) => !c.present).map((c) => c.tensor.index),
          })),
        ...this.#transfers.filter((it) => Number.isNaN(it.doneNs)).map((it) => ({ transfer: it.transfer })),
      ],
    };
  }

  #issue(operator: Operator): void {
    for (const { tensor, source } of operator.inputs) {
      const copy = this.#expected(tensor.index, operator.accelerator);
      if (copy.kind === "expected") this.#arrivalOf(copy, operator.rank, source);
      copy.uses++;
      operator.needs.push(copy);
    }
  }

  #arrivalOf(copy: Copy, rank: number, wanted: number): void {
    if (copy.arrival !== null) return;
    const source = wanted === -1 ? copy.tensor.copies[0]?.accelerator : wanted;
    const from = copy.tensor.copies.find((it) => it.accelerator === source);
    if (from === undefined) throw new Error("no source");
    copy.arrival = {
      ...{ transfer: this.#transfers.length, from, to: copy, rank },
      durationNs:
        copy.declared?.remainingNs ?? this.#options.transferNs(from.accelerator, copy.accelerator, copy.tensor.bytes),
      ...{ raisedNs: Number.NaN, startNs: Number.NaN, doneNs: Number.NaN },
    };
    from.sends++;
    this.#transfers.push(copy.arrival);
  }

  /** A copy present at begin: unneeded ones are gone already, but what they grew their buffer to stays. */
  #place(copy: Copy): void {
    const bytes = this.#rounded(copy.accelerator, copy.tensor.bytes);
    const memory = this.#memory(copy.accelerator);
    const shared = this.#aliased(copy);
    const buffer = shared ?? { bytes: 0, copies: new Set() };
    copy.buffer = buffer;
    const before = buffer.copies.size > 0 ? buffer.bytes : 0;
    buffer.bytes = Math.max(buffer.bytes, bytes);
    if (copy.held || copy.uses > 0 || copy.sends > 0) buffer.copies.add(copy);
    memory.usedBytes += (buffer.copies.size > 0 ? buffer.bytes : 0) - before;
  }

  #enter(operator: Operator): void {
    if (operator.remainingNs === null) {
      if (operator.needs.every((it) => it.present)) operator.readyNs = operator.readySinceNs ?? this.#nowNs;
      return;
    }
    this.#occupy(operator);
    operator.startNs = Math.min(this.#nowNs, this.#nowNs + operator.remainingNs - operator.durationNs);
  }

  #enterTransfer(transfer: Transfer): void {
    const { from, to } = transfer;
    if (typeof to.declared?.remainingNs !== "number") {
      if (from.present) transfer.raisedNs = to.raisedNs ?? this.#nowNs;
      return;
    }
    transfer.raisedNs = to.raisedNs ?? this.#nowNs;
    transfer.startNs = this.#nowNs;
    this.#receive(to);
  }

  #step(): boolean {
    const operators = this.#memories.flatMap(({ running }) =>
      running === null
        ? []
        : [
            {
              atNs:
                running.remainingNs === null
                  ? running.startNs + running.durationNs
                  : this.#beginNs + running.remainingNs,
              kind: 0,
              number: running.issueNumber,
              end: () => this.#endOperator(running),
            },
          ],
    );
    const transfers = this.#transfers
      .filter((it) => !Number.isNaN(it.startNs) && Number.isNaN(it.doneNs))
      .map((it) => ({
        atNs: it.startNs + it.durationNs,
        kind: 1,
        number: it.transfer,
        end: () => this.#endTransfer(it),
      }));
    const [event] = [...operators, ...transfers].sort(
      (a, b) => a.atNs - b.atNs || a.kind - b.kind || a.number - b.number,
    );
    if (event === undefined) return false;
    this.#nowNs = event.atNs;
    this.#stepped = true;
    event.end();
    return true;
  }

  #endOperator(operator: Operator): void {
    const memory = this.#memory(operator.accelerator);
    memory.running = null;
    operator.doneNs = this.#nowNs;
    memory.busyNs += operator.remainingNs ?? operator.durationNs;
    memory.usedBytes -= this.#rounded(operator.accelerator, operator.workspaceBytes);
    for (const copy of operator.needs) {
      copy.uses--;
      this.#freeIfUnneeded(copy);
    }
    for (const copy of operator.outputs) {
      copy.present = true;
      this.#freeIfUnneeded(copy);
    }
    this.#note(operator.accelerator);
    for (const copy of operator.outputs) this.#arrived(copy);
    for (const transfer of this.#transfers)
      if (operator.outputs.includes(transfer.from)) transfer.raisedNs = this.#nowNs;
    this.#select();
    this.#startNext(operator.accelerator);
  }

  #endTransfer(transfer: Transfer): void {
    const { from, to } = transfer;
    transfer.doneNs = this.#nowNs;
    from.sends--;
    this.#freeIfUnneeded(from);
    to.present = true;
    this.#freeIfUnneeded(to);
    this.#note(from.accelerator);
    this.#note(to.accelerator);
    this.#arrived(to);
    this.#select();
    this.#startNext(to.accelerator);
  }

  #arrived(copy: Copy): void {
    for (const operator of this.#operators) {
      if (operator.needs.includes(copy) && operator.needs.every((it) => it.present)) operator.readyNs = this.#nowNs;
    }
  }

  #select(): void {
    const { topology, agingNs = 1e9, reserveNs = 4e9 } = this.#options;
    const waited = (it: Transfer) => this.#nowNs - it.raisedNs;
    const effective = (it: Transfer) => it.rank - Math.floor(waited(it) / agingNs);
    const wants = ({ from, to }: Transfer) => [
      `egress ${from.accelerator}`,
      `ingress ${to.accelerator}`,
      ...(topology.route(from.accelerator, to.accelerator) ?? []).map((link) => `link ${link}`),
    ];
    const capacity = (port: string) => {
      const [kind, index] = port.split(" ");
      return (kind === "link" ? topology.linkCapacity : topology.portCapacity)[Number(index)] ?? 0;
    };
    const reserved = new Set<string>();
    const pending = this.#transfers.filter((it) => !Number.isNaN(it.raisedNs) && Number.isNaN(it.startNs));
    const chosen: Transfer[] = [];
    for (const transfer of pending.sort((a, b) => effective(a) - effective(b) || a.transfer - b.transfer)) {
      const inFlight = this.#transfers.filter((it) => !Number.isNaN(it.startNs) && Number.isNaN(it.doneNs));
      const taken = [...inFlight, ...chosen].flatMap(wants);
      const ways = wants(transfer);
      const fits = ways.every(
        (port) => taken.filter((it) => it === port).length < capacity(port) && !reserved.has(port),
      );
      if (fits) chosen.push(transfer);
      else if (waited(transfer) >= reserveNs) for (const port of ways) reserved.add(port);
    }
    for (const transfer of chosen) {
      this.#receive(transfer.to);
      this.#mustFit(transfer.to.accelerator, -1, transfer.transfer);
      transfer.startNs = this.#nowNs;
    }
  }

  #startNext(accelerator: number): void {
    if (this.#memory(accelerator).running !== null) return;
    const [operator] = this.#operators
      .filter((it) => it.accelerator === accelerator && it.readyNs !== null && Number.isNaN(it.startNs))
      .sort((a, b) => a.rank - b.rank || (a.readyNs ?? 0) - (b.readyNs ?? 0) || a.issueNumber - b.issueNumber);
    if (operator === undefined) return;
    this.#occupy(operator);
    this.#mustFit(accelerator, operator.index, -1);
    operator.startNs = this.#nowNs;
  }

  #occupy(operator: Operator): void {
    const memory = this.#memory(operator.accelerator);
    for (const copy of operator.outputs) {
      const bytes = this.#rounded(operator.accelerator, copy.tensor.bytes);
      const buffer = this.#aliased(copy) ?? { bytes: 0, copies: new Set() };
      memory.usedBytes += Math.max(bytes - buffer.bytes, 0);
      buffer.bytes = Math.max(buffer.bytes, bytes);
      buffer.copies.add(copy);
      copy.buffer = buffer;
    }
    memory.usedBytes += this.#rounded(operator.accelerator, operator.workspaceBytes);
    memory.running = operator;
  }

  #receive(copy: Copy): void {
    const bytes = this.#rounded(copy.accelerator, copy.tensor.bytes);
    copy.buffer = { bytes, copies: new Set([copy]) };
    this.#memory(copy.accelerator).usedBytes += bytes;
  }

  #mustFit(accelerator: number, operator: number, transfer: number): void {
    const memory = this.#memory(accelerator);
    const bytesOver = memory.usedBytes - memory.state.capacityBytes;
    if (bytesOver > 0) throw new OutOfMemory({ accelerator, atNs: this.#nowNs, operator, transfer, bytesOver });
    memory.peakBytes = Math.max(memory.peakBytes, memory.usedBytes);
    this.#note(accelerator);
  }

  #freeIfUnneeded(copy: Copy): void {
    if (!copy.present || copy.held || copy.uses > 0 || copy.sends > 0) return;
    const { buffer } = copy;
    if (buffer === null) throw new Error("freed before it was allocated");
    buffer.copies.delete(copy);
    if (buffer.copies.size === 0) this.#memory(copy.accelerator).usedBytes -= buffer.bytes;
  }

  #aliased(copy: Copy): Buffer | null {
    if (copy.aliases === -1) return null;
    return this.#tensor(copy.aliases).copies.find((it) => it.accelerator === copy.accelerator)?.buffer ?? null;
  }

  #note(accelerator: number): void {
    const { timeline, usedBytes } = this.#memory(accelerator);
    timeline.push({ atNs: this.#nowNs, usedBytes });
  }

  #rounded(accelerator: number, bytes: number): number {
    const { granularityBytes = 1 } = this.#memory(accelerator).state;
    return Math.ceil(bytes / granularityBytes) * granularityBytes;
  }

  #expected(tensor: number, accelerator: number): Copy {
    const it = this.#tensor(tensor);
    const known = it.copies.find((copy) => copy.accelerator === accelerator);
    if (known !== undefined) return known;
    const copy = newCopy(it, accelerator, "expected", false, -1);
    it.copies.push(copy);
    return copy;
  }

  #memory = (accelerator: number) => at(this.#memories, accelerator);
  #tensor = (tensor: number) => at(this.#tensors, tensor);
  #operator = (operator: number) => at(this.#operators, operator);
}

function newCopy(tensor: Tensor, accelerator: number, kind: Copy["kind"], held: boolean, aliases: number): Copy {
  return {
    ...{ tensor, accelerator, kind, held, aliases, present: kind === "present" },
    ...{ declared: null, raisedNs: null, uses: 0, sends: 0, buffer: null, arrival: null },
  };
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`nothing at ${index}`);
  return item;
}
