/** A slow, obvious twin of the graph: plain records of what happened, and everything else counted from them each time. */

export interface TwinRequest {
  readonly id: number;
  readonly rank: number;
  readonly deadlineNs: number;
  readonly endsWithInstances: boolean;
  closed: boolean;
  /** An instance of it has left the graph. */
  lostInstance: boolean;
}

export interface TwinInstance {
  readonly id: number;
  readonly request: TwinRequest;
  readonly rank: number;
  readonly deadlineNs: number;
  readonly order: number;
  readonly operators: TwinOperator[];
  state: "live" | "done" | "cancelled" | "failed";
}

export interface TwinOperator {
  readonly instance: TwinInstance;
  readonly index: number;
  readonly inputs: readonly TwinTensor[];
  readonly outputs: TwinTensor[];
  readonly workspaceBytes: number;
  state: "unscheduled" | "issued" | "done" | "cancelled" | "failed";
  accelerator: number;
  issueNumber: number;
  /** Its inputs where it runs. */
  copies: TwinCopy[];
  started: boolean;
  ended: boolean;
  /** Asked back, and not answered. */
  recalled: boolean;
  /** Infinity when it was not promoted. */
  promoted: number;
  /** The class that its executor was told; −1 before. */
  toldRank: number;
}

/** A class, and a deadline within it. */
export type Urgency = readonly [rank: number, deadlineNs: number];

export interface TwinTensor {
  readonly id: number;
  readonly producer: TwinOperator;
  readonly bytes: number;
  readonly aliases: TwinTensor | null;
  /** An output of the template: others are of no use outside of it. */
  readonly named: boolean;
  continued: boolean;
  retained: boolean;
}

export interface TwinCopy {
  readonly tensor: TwinTensor;
  readonly accelerator: number;
  /** Number of the buffer, or −1 before it is allocated. */
  buffer: number;
  present: boolean;
  lost: boolean;
  /** A release of it was asked for. */
  released: boolean;
}

export interface TwinTransfer {
  readonly number: number;
  readonly source: TwinCopy;
  readonly destination: TwinCopy;
  state: "waiting" | "receiving" | "ended";
}

export interface TwinEffects {
  readonly releases: string[];
  readonly holds: string[];
  readonly withdrawals: number[];
  readonly settled: string[];
}

export class Twin {
  readonly granularity: readonly number[];
  readonly fixedBytes: readonly number[];
  requests: TwinRequest[] = [];
  instances: TwinInstance[] = [];
  readonly copies: TwinCopy[] = [];
  readonly transfers: TwinTransfer[] = [];
  /** Every rounded size a buffer was ever asked for. */
  readonly buffers: { readonly accelerator: number; readonly sizes: number[] }[] = [];
  /** Withdrawals asked for and not answered. */
  withdrawals: TwinOperator[] = [];
  effects: TwinEffects = { releases: [], holds: [], withdrawals: [], settled: [] };

  constructor(granularity: readonly number[], fixedBytes: readonly number[]) {
    this.granularity = granularity;
    this.fixedBytes = fixedBytes;
  }

  operators(): TwinOperator[] {
    return this.instances.flatMap(({ operators }) => operators);
  }

  issued(): TwinOperator[] {
    return this.operators().filter((operator) => operator.issueNumber >= 0 && !operator.ended);
  }

  pendingTransfers(): TwinTransfer[] {
    return this.transfers.filter(({ state }) => state !== "ended");
  }

  readers(tensor: TwinTensor): TwinOperator[] {
    return this.operators().filter(({ inputs }) => inputs.includes(tensor));
  }

  isHeld(tensor: TwinTensor): boolean {
    return tensor.retained || this.readers(tensor).some(({ state, recalled }) => state === "unscheduled" || recalled);
  }

  isThere(copy: TwinCopy): boolean {
    if (copy.lost) return false;
    if (!copy.present || this.isHeld(copy.tensor)) return true;
    if (this.issued().some(({ copies }) => copies.includes(copy))) return true;
    return this.pendingTransfers().some(({ source }) => source === copy);
  }

  copyOn(tensor: TwinTensor, accelerator: number): TwinCopy | undefined {
    return this.copies.find((copy) => copy.tensor === tensor && copy.accelerator === accelerator && this.isThere(copy));
  }

  isKnown(tensor: TwinTensor): boolean {
    const { state, issueNumber, ended } = tensor.producer;
    if (state === "unscheduled" || (issueNumber >= 0 && !ended)) return true;
    return this.copies.some((copy) => copy.tensor === tensor && this.isThere(copy));
  }

  isInGraph(instance: TwinInstance): boolean {
    return (
      instance.state === "live" ||
      instance.operators.some((operator) => !operator.ended || operator.outputs.some((each) => this.isKnown(each)))
    );
  }

  isOpen(request: TwinRequest): boolean {
    if (this.instances.some((each) => each.request === request)) return true;
    return !(request.closed || (request.endsWithInstances && request.lostInstance));
  }

  /** Every path to whatever needs its results is followed. */
  urgencyOf(operator: TwinOperator): Urgency {
    const { rank, deadlineNs } = operator.instance;
    let most: Urgency = [Math.min(rank, operator.promoted), deadlineNs];
    for (const reader of operator.outputs.flatMap((tensor) => this.readers(tensor))) {
      if (reader.state !== "unscheduled" && reader.state !== "issued") continue;
      const its = this.urgencyOf(reader);
      if (its[0] < most[0] || (its[0] === most[0] && its[1] < most[1])) most = its;
    }
    return most;
  }

  /** Least urgent first, in a class the latest issue first. */
  displaceable(): TwinOperator[] {
    return this.issued()
      .filter(({ state, started, recalled }) => state === "issued" && !started && !recalled)
      .sort((a, b) => this.urgencyOf(b)[0] - this.urgencyOf(a)[0] || b.issueNumber - a.issueNumber);
  }

  frontier(): TwinOperator[] {
    const urgencies = new Map<TwinOperator, readonly number[]>();
    const urgency = (operator: TwinOperator) => {
      const found = urgencies.get(operator);
      if (found !== undefined) return found;
      const { instance, index } = operator;
      const [rank, deadlineNs] = this.urgencyOf(operator);
      const order = rank < instance.rank ? 0 : instance.order;
      const key = [rank, deadlineNs, order, instance.request.id, instance.id, index];
      urgencies.set(operator, key);
      return key;
    };
    return this.operators()
      .filter(
        ({ state, inputs }) =>
          state === "unscheduled" && inputs.every(({ producer }) => producer.state !== "unscheduled"),
      )
      .sort((a, b) => {
        const [x, y] = [urgency(a), urgency(b)];
        const at = x.findIndex((value, i) => value !== y[i]);
        return at < 0 ? 0 : (x[at] as number) < (y[at] as number) ? -1 : 1;
      });
  }

  missing(operator: TwinOperator): number {
    return operator.copies.filter(({ present }) => !present).length;
  }

  /** Why a tensor cannot be an input of a further instance, or null. */
  whyUnattachable(tensor: TwinTensor): "OUTPUT_LOST" | "OUTPUT_RELEASED" | null {
    const { state } = tensor.producer;
    if (state === "cancelled" || state === "failed") return "OUTPUT_LOST";
    // What only an operator that was asked back still holds may be gone already.
    const isWanted = tensor.retained || this.readers(tensor).some((reader) => reader.state === "unscheduled");
    return state === "unscheduled" || isWanted ? null : "OUTPUT_RELEASED";
  }

  round(accelerator: number, bytes: number): number {
    const granularity = this.granularity[accelerator] ?? 1;
    return Math.ceil(bytes / granularity) * granularity;
  }

  /** Bytes in buffers, of one request or of all. */
  bufferBytes(accelerator: number, request?: TwinRequest): number {
    const there = this.copies.filter(
      (copy) =>
        copy.accelerator === accelerator &&
        copy.buffer >= 0 &&
        (request === undefined || copy.tensor.producer.instance.request === request) &&
        this.isThere(copy),
    );
    let bytes = 0;
    for (const buffer of new Set(there.map((copy) => copy.buffer))) {
      bytes += Math.max(...(this.buffers[buffer]?.sizes ?? []));
    }
    return bytes;
  }

  usedBytes(accelerator: number): number {
    let bytes = (this.fixedBytes[accelerator] ?? 0) + this.bufferBytes(accelerator);
    for (const operator of this.issued()) {
      if (operator.started && operator.accelerator === accelerator) {
        bytes += this.round(accelerator, operator.workspaceBytes);
      }
    }
    return bytes;
  }

  issue(operator: TwinOperator, accelerator: number, issueNumber: number, nextTransfer: number): void {
    const copies = operator.inputs.map((tensor) => {
      const there = this.copyOn(tensor, accelerator);
      if (there !== undefined) return there;
      const source = this.copyOn(tensor, tensor.producer.accelerator);
      if (source === undefined) throw new Error(`tensor ${tensor.id} is not where it was produced`);
      const destination = this.place(tensor, accelerator);
      this.transfers.push({ number: nextTransfer++, source, destination, state: "waiting" });
      return destination;
    });
    for (const tensor of operator.outputs) this.place(tensor, accelerator);
    operator.state = "issued";
    operator.accelerator = accelerator;
    operator.issueNumber = issueNumber;
    operator.toldRank = this.urgencyOf(operator)[0];
    operator.copies = copies;
    this.tidy();
  }

  start(operator: TwinOperator): void {
    operator.started = true;
    for (const tensor of operator.outputs) {
      const copy = this.copyOn(tensor, operator.accelerator) as TwinCopy;
      const continued = tensor.aliases === null ? undefined : this.copyOn(tensor.aliases, operator.accelerator);
      this.allocate(copy, continued?.buffer ?? -1);
    }
  }

  complete(operator: TwinOperator): void {
    const made = operator.outputs.map((tensor) => this.copyOn(tensor, operator.accelerator) as TwinCopy);
    operator.ended = true;
    operator.recalled = false;
    if (operator.state === "issued") operator.state = "done";
    for (const copy of made) copy.present = true;
    const { instance } = operator;
    if (instance.state === "live" && instance.operators.every(({ ended }) => ended)) {
      instance.state = "done";
      this.effects.settled.push(`${instance.id} done`);
    }
    this.tidy();
  }

  /** It failed or was given back: nothing comes of it. */
  abort(operator: TwinOperator): void {
    if (!operator.started) this.letContinue(operator);
    for (const copy of this.copies) if (copy.tensor.producer === operator) copy.lost = true;
    operator.ended = true;
    operator.recalled = false;
    if (operator.state === "issued") {
      operator.state = "failed";
      this.settle(operator.instance, "failed");
    }
    this.tidy();
  }

  /** With all that is issued and needs its results; copies that were released are held again. */
  recall(first: TwinOperator): void {
    const found = [first];
    for (const { outputs } of found) {
      for (const reader of outputs.flatMap((tensor) => this.readers(tensor))) {
        if (reader.state === "issued" && !found.includes(reader)) found.push(reader);
      }
    }
    for (const operator of found.sort((a, b) => b.issueNumber - a.issueNumber)) {
      if (operator.started || operator.recalled) continue;
      const there = this.copies.filter((copy) => operator.inputs.includes(copy.tensor) && this.isThere(copy));
      operator.recalled = true;
      this.effects.withdrawals.push(operator.issueNumber);
      this.withdrawals.push(operator);
      for (const copy of there) {
        if (!copy.released) continue;
        copy.released = false;
        this.effects.holds.push(`${copy.tensor.id}@${copy.accelerator}`);
      }
    }
  }

  /** Nothing of it is in an executor or anywhere else. */
  isNowhere(request: TwinRequest): boolean {
    if (this.issued().some(({ instance }) => instance.request === request)) return false;
    if (this.pendingTransfers().some(({ source }) => source.tensor.producer.instance.request === request)) return false;
    return !this.copies.some((copy) => copy.tensor.producer.instance.request === request && this.isThere(copy));
  }

  /** Given back: as if it had never been issued. */
  unissue(operator: TwinOperator): void {
    for (const copy of this.copies) if (copy.tensor.producer === operator) copy.lost = true;
    operator.state = "unscheduled";
    operator.accelerator = -1;
    operator.issueNumber = -1;
    operator.copies = [];
    operator.recalled = false;
    this.tidy();
  }

  receive(transfer: TwinTransfer): void {
    transfer.state = "receiving";
    this.allocate(transfer.destination, -1);
  }

  arrive(transfer: TwinTransfer): void {
    transfer.state = "ended";
    transfer.destination.present = true;
    this.tidy();
  }

  cancelTransfer(transfer: TwinTransfer): void {
    transfer.state = "ended";
    transfer.destination.lost = true;
    this.tidy();
  }

  failTransfer(transfer: TwinTransfer): void {
    transfer.state = "ended";
    transfer.destination.lost = true;
    for (const operator of this.issued()) {
      if (operator.copies.includes(transfer.destination)) this.settle(operator.instance, "failed");
    }
    this.tidy();
  }

  cancel(instance: TwinInstance): void {
    this.settle(instance, "cancelled");
    this.tidy();
  }

  release(tensors: readonly TwinTensor[]): void {
    for (const tensor of tensors) tensor.retained = false;
    this.tidy();
  }

  settle(instance: TwinInstance, outcome: "cancelled" | "failed"): void {
    if (instance.state !== "live") return;
    instance.state = outcome;
    this.effects.settled.push(`${instance.id} ${outcome}`);
    const undone = instance.operators.filter(({ state }) => state !== "done");
    for (const { outputs } of instance.operators) for (const tensor of outputs) tensor.retained = false;
    const dependents = undone.flatMap(({ outputs }) => outputs.flatMap((tensor) => this.readers(tensor)));
    for (const operator of undone) {
      if (operator.state === "issued") {
        if (!operator.recalled) {
          this.effects.withdrawals.push(operator.issueNumber);
          this.withdrawals.push(operator);
        }
      } else if (operator.state === "unscheduled") {
        operator.ended = true;
        this.letContinue(operator);
      } else continue;
      operator.state = outcome;
    }
    for (const each of dependents) this.settle(each.instance, "failed");
  }

  /** It never started: what it was to continue in place is as it was. */
  letContinue(operator: TwinOperator): void {
    for (const { aliases } of operator.outputs) if (aliases !== null) aliases.continued = false;
  }

  /** After each change: notes the holds that fell, and forgets what has left the graph. */
  tidy(): void {
    for (const copy of this.copies) {
      if (copy.released || copy.lost || this.isHeld(copy.tensor)) continue;
      copy.released = true;
      this.effects.releases.push(`${copy.tensor.id}@${copy.accelerator}`);
    }
    // What has gone does not come back with a new reason to be there.
    for (const copy of this.copies) if (!this.isThere(copy)) copy.lost = true;
    for (const instance of this.instances) if (!this.isInGraph(instance)) instance.request.lostInstance = true;
    this.instances = this.instances.filter((instance) => this.isInGraph(instance));
    this.requests = this.requests.filter((request) => this.isOpen(request));
  }

  takeEffects(): TwinEffects {
    const { effects } = this;
    this.effects = { releases: [], holds: [], withdrawals: [], settled: [] };
    return effects;
  }

  place(tensor: TwinTensor, accelerator: number): TwinCopy {
    const copy = { tensor, accelerator, buffer: -1, present: false, lost: false, released: false };
    this.copies.push(copy);
    return copy;
  }

  allocate(copy: TwinCopy, continued: number): void {
    copy.buffer = continued >= 0 ? continued : this.buffers.push({ accelerator: copy.accelerator, sizes: [] }) - 1;
    this.buffers[copy.buffer]?.sizes.push(this.round(copy.accelerator, copy.tensor.bytes));
  }
}
