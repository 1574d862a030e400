import { type GlobalMappingGraph, GmgError, type OperatorNode } from "@slicescheduler/gmg";
import { expect } from "vitest";
import { at, compareGraph, outputName, somePartitions, tally, wholeOf, whyRefused } from "./graph-compare.ts";
import { Twin, type TwinInstance, type TwinOperator, type TwinRequest, type TwinTensor } from "./graph-twin.ts";
import { buildWorld, type PlannedTemplate, type World } from "./graph-world.ts";
import { displace, promote, someUrgency, unplace } from "./urgency-play.ts";

/** One thing that an application, a scheduler or an executor does; picks are taken modulo what exists. */
export interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly pick: number;
  readonly others: readonly number[];
  readonly flags: number;
}

export const KINDS = [
  "open",
  "submit",
  "issue",
  "start",
  "complete",
  "failOperator",
  "receive",
  "arrive",
  "failTransfer",
  "recall",
  "displace",
  "promote",
  "unplace",
  "withdraw",
  "cancel",
  "release",
  "close",
] as const;

const OTHERWISE = ["arrive", "receive", "complete", "start", "issue", "submit", "open"] as const;

/** The graph beside its twin, and an executor that does what it is told. */
export class Play {
  readonly graph: GlobalMappingGraph;
  readonly twin: Twin;
  readonly templates: readonly PlannedTemplate[];
  readonly off: ReadonlySet<string>;
  nowNs = 0;
  nextRequest = 0;
  nextInstance = 0;

  constructor(world: World, off: readonly string[]) {
    const { graph, templates } = buildWorld(world);
    this.graph = graph;
    this.templates = templates;
    this.off = new Set(off);
    const { accelerators } = graph.cluster;
    this.twin = new Twin(
      accelerators.map(({ granularityBytes }) => granularityBytes),
      accelerators.map(({ index, baselineBytes, granularityBytes }) => {
        const weights = templates.some(({ spec }) =>
          spec.partitions.some(({ layout }) =>
            spec.operators.some(({ weights = {} }, i) => "shared" in weights && layout[i] === index),
          ),
        );
        return baselineBytes + (weights ? Math.ceil(9 / granularityBytes) * granularityBytes : 0);
      }),
    );
  }

  /** Does what it says, or, where there is nothing to do it to, something else that moves things on. */
  step({ kind, pick, others, flags }: Step): void {
    this.nowNs += 1;
    for (const each of [kind, ...OTHERWISE]) {
      if (this.off.has(each) || !this.#apply(each, pick, others, flags)) continue;
      tally(each);
      break;
    }
    this.compare();
  }

  #apply(kind: Step["kind"], pick: number, others: readonly number[], flags: number): boolean {
    const { twin } = this;
    switch (kind) {
      case "open":
        return this.open(others, flags);
      case "submit":
        return this.submit(at(twin.requests, pick), others, flags);
      case "issue":
        return this.issue(pick, 1 + (flags % 3), others);
      case "start":
        return this.start(at(this.startable(), pick));
      case "complete":
        return this.complete(at(this.running(), pick));
      case "failOperator":
        return this.failOperator(at([...this.running(), ...this.startable()], pick));
      case "receive":
        return this.receive(pick);
      case "arrive":
        return this.arrive(pick);
      case "failTransfer":
        return this.failTransfer(pick);
      case "recall":
        return this.recall(pick);
      case "displace":
        return displace(this, others[0] ?? 0);
      case "promote":
        return promote(this, pick, others[0] ?? 0);
      case "unplace":
        return unplace(this, at(twin.requests, pick));
      case "withdraw":
        return this.withdraw(pick);
      case "cancel":
        return this.cancel(at(twin.instances, pick));
      case "release":
        return this.release(at(twin.instances, pick), others[0] ?? 0);
      case "close":
        return this.close(at(twin.requests, pick));
    }
  }

  open(others: readonly number[], flags: number): boolean {
    const limits = this.templates.map(({ spec }) => ({ template: spec.name, symbols: { n: 5, s0: 30, s1: 20 } }));
    const request: TwinRequest = {
      id: this.nextRequest++,
      rank: (others[0] ?? 0) % 3,
      deadlineNs: flags % 2 === 0 ? Number.POSITIVE_INFINITY : (others[1] ?? 0) % 4,
      endsWithInstances: (flags & 2) !== 0,
      closed: false,
      lostInstance: false,
    };
    const code = this.attempt(() =>
      this.graph.openRequest(
        {
          id: request.id,
          label: "",
          rank: request.rank,
          deadlineNs: request.deadlineNs,
          limits: (flags & 4) === 0 ? null : limits,
          concurrentInstances: 1 + ((flags >> 3) % 2),
          chains: 1,
          mayPause: (flags & 16) !== 0,
          allowedPartitions: somePartitions(others[2] ?? 0),
          endsWithInstances: request.endsWithInstances,
        },
        this.nowNs,
      ),
    );
    if (code === null) this.twin.requests.push(request);
    return code === null;
  }

  submit(request: TwinRequest | undefined, others: readonly number[], flags: number): boolean {
    const template = at(this.templates, others[0] ?? 0);
    if (request === undefined || template === undefined) return false;
    const known = this.twin.instances.filter((each) => each.request === request || flags % 16 === 15);
    const external: (TwinTensor | null)[] = [];
    const inputs: Record<string, { instance: number; output: string }> = {};
    const symbols: Record<string, number> = { n: (others[1] ?? 0) % 6, s0: 0, s1: 0 };
    for (let slot = 0; slot < template.slots; slot++) {
      const tensors = known
        .flatMap(({ operators }) => operators.flatMap(({ outputs }) => outputs))
        .filter(({ named }) => named);
      // The latest results more often than not, as decode steps have them.
      const tensor = (flags >> slot) % 4 === 0 ? undefined : at(tensors.reverse(), (others[2 + slot] ?? 0) % 5);
      external.push(tensor ?? null);
      if (tensor === undefined) continue;
      inputs[`x${slot}`] = { instance: tensor.producer.instance.id, output: outputName(tensor) };
      symbols[`s${slot}`] = tensor.bytes;
    }
    const names = Object.keys(template.spec.outputs);
    const retain = names.filter((_, i) => ((others[4] ?? 0) >> i) % 2 === 1);
    const id = this.nextInstance++;
    const urgency = someUrgency(others[5] ?? 0, others[4] ?? 0);
    const expected = whyRefused(this.twin, request, template, external);
    const code = this.attempt(() =>
      this.graph.insert(
        {
          id,
          template: template.spec.name,
          symbols,
          inputs,
          retain,
          allowedPartitions: somePartitions(others[5] ?? 0),
          label: "",
          ...urgency,
        },
        request.id,
        this.nowNs,
      ),
    );
    if (code !== null) {
      const beforeThat = ["UNKNOWN_PARTITION", "LIMITS_EXCEEDED", "REQUEST_CLOSED"];
      const afterThat = ["UNKNOWN_PARTITION", "NEVER_FITS", "CLAIM_TOO_LARGE_NOW"];
      expect(expected === null ? [...beforeThat, ...afterThat] : [expected, ...beforeThat]).toContain(code);
      return false;
    }
    expect(expected).toBe(null);
    const { rank = request.rank, deadlineNs = request.deadlineNs, order = 0 } = urgency;
    const instance: TwinInstance = { id, request, rank, deadlineNs, order, operators: [], state: "live" };
    this.#mirror(instance, template, symbols, external, new Set(retain));
    return true;
  }

  #mirror(
    instance: TwinInstance,
    template: PlannedTemplate,
    symbols: Readonly<Record<string, number>>,
    external: readonly (TwinTensor | null)[],
    retain: ReadonlySet<string>,
  ): void {
    const node = this.graph.instance(instance.id);
    template.operators.forEach((planned, index) => {
      const read = planned.inputs.map(({ operator, output }) =>
        operator < 0 ? (external[output] ?? null) : (instance.operators[operator]?.outputs[output] as TwinTensor),
      );
      const operator: TwinOperator = {
        instance,
        index,
        inputs: [...new Set(read.filter((tensor) => tensor !== null))],
        outputs: [],
        workspaceBytes: planned.workspaceBytes,
        state: "unscheduled",
        accelerator: -1,
        issueNumber: -1,
        copies: [],
        started: false,
        ended: false,
        recalled: false,
        promoted: Number.POSITIVE_INFINITY,
        toldRank: -1,
      };
      planned.outputs.forEach(({ alias, bytesOf }, o) => {
        const aliases = alias < 0 ? null : (read[alias] ?? null);
        if (aliases !== null) aliases.continued = true;
        operator.outputs.push({
          id: node?.operators[index]?.outputs[o]?.id ?? -1,
          producer: operator,
          bytes: bytesOf(symbols),
          aliases,
          named: `o${index}_${o}` in template.spec.outputs,
          continued: false,
          retained: retain.has(`o${index}_${o}`),
        });
      });
      instance.operators.push(operator);
    });
    this.twin.instances.push(instance);
  }

  issue(pick: number, most: number, [partitionPick = 0]: readonly number[]): boolean {
    const options = [...this.graph.unscheduledFrontier].flatMap((operator) =>
      this.graph
        .placementOptions(operator)
        .filter(({ shortage }) => shortage === null)
        .map(({ partition }) => ({ operator, partition })),
    );
    const first = at(options, pick);
    if (first === undefined) return false;
    const { instance } = first.operator;
    const partition = at(
      options.filter(({ operator }) => operator === first.operator).map((option) => option.partition),
      partitionPick,
    );
    for (let count = 0; count < most; count++) {
      const operator =
        count === 0
          ? first.operator
          : [...this.graph.unscheduledFrontier].find(
              (each) => each.instance === instance && this.graph.placementOptions(each).length > 0,
            );
      if (operator === undefined || partition === undefined) break;
      const nextTransfer = 1 + Math.max(-1, ...this.twin.transfers.map(({ number }) => number));
      const twin = this.#twinOf(operator);
      const { issueNumber, accelerator } = this.graph.issue(operator, partition, this.nowNs);
      this.twin.issue(twin, accelerator, issueNumber, nextTransfer);
    }
    return true;
  }

  /** Operators that an executor could start: nothing is missing, and the accelerator is idle. */
  startable(): TwinOperator[] {
    const busy = new Set(this.running().map(({ accelerator }) => accelerator));
    return this.twin
      .issued()
      .filter((each) => !each.started && !busy.has(each.accelerator) && this.twin.missing(each) === 0);
  }

  running(): TwinOperator[] {
    return this.twin.issued().filter(({ started }) => started);
  }

  start(operator: TwinOperator | undefined): boolean {
    if (operator === undefined) return false;
    this.graph.operatorStarted(this.nodeOf(operator), this.nowNs);
    this.twin.start(operator);
    return true;
  }

  complete(operator: TwinOperator | undefined): boolean {
    if (operator === undefined) return false;
    this.graph.operatorDone(this.nodeOf(operator), this.nowNs);
    this.twin.complete(operator);
    return true;
  }

  failOperator(operator: TwinOperator | undefined): boolean {
    if (operator === undefined) return false;
    this.#cancelOnward(operator);
    this.graph.operatorFailed(this.nodeOf(operator), this.nowNs);
    this.twin.abort(operator);
    return true;
  }

  receive(pick: number): boolean {
    const raised = this.twin.pendingTransfers().filter(({ source, state }) => state === "waiting" && source.present);
    const transfer = at(raised, pick);
    const node = this.graph.transfer(transfer?.number ?? -1);
    if (transfer === undefined || node === undefined) return false;
    this.graph.transferIntended(node, this.nowNs);
    this.graph.transferReceiving(node);
    this.twin.receive(transfer);
    return true;
  }

  arrive(pick: number): boolean {
    const transfer = at(this.#receiving(), pick);
    const node = this.graph.transfer(transfer?.number ?? -1);
    if (transfer === undefined || node === undefined) return false;
    this.graph.transferDone(node, this.nowNs);
    this.twin.arrive(transfer);
    return true;
  }

  failTransfer(pick: number): boolean {
    const transfer = at(this.#receiving(), pick);
    const node = this.graph.transfer(transfer?.number ?? -1);
    if (transfer === undefined || node === undefined) return false;
    this.graph.transferFailed(node, this.nowNs);
    this.twin.failTransfer(transfer);
    return true;
  }

  recall(pick: number): boolean {
    const operator = at(
      this.twin.issued().filter(({ state, started, recalled }) => state === "issued" && !started && !recalled),
      pick,
    );
    if (operator === undefined) return false;
    this.graph.recall(this.nodeOf(operator));
    this.twin.recall(operator);
    return true;
  }

  /** A started operator ends as usual; another one is given back, after the planned transfers that only it waited for. */
  withdraw(pick: number): boolean {
    const { twin } = this;
    // What was asked back is given back in the order in which it was asked for.
    const recalled = twin.withdrawals.find((each) => each.recalled);
    const operator = at(
      twin.withdrawals.filter((each) => !each.recalled || each === recalled),
      pick,
    );
    if (operator === undefined) return false;
    twin.withdrawals = twin.withdrawals.filter((each) => each !== operator);
    if (operator.ended || operator.started) return true;
    for (const transfer of twin.pendingTransfers()) {
      const { source, destination } = transfer;
      if (source.present || !operator.copies.includes(destination)) continue;
      if (twin.issued().some((each) => each !== operator && each.copies.includes(destination))) continue;
      this.#cancelTransfer(transfer.number);
    }
    this.#cancelOnward(operator);
    this.graph.operatorWithdrawn(this.nodeOf(operator), this.nowNs);
    if (operator.state === "issued") twin.unissue(operator);
    else twin.abort(operator);
    return true;
  }

  cancel(instance: TwinInstance | undefined): boolean {
    if (instance === undefined) return false;
    this.graph.cancel(instance.id, this.nowNs);
    this.twin.cancel(instance);
    return true;
  }

  release(instance: TwinInstance | undefined, pick: number): boolean {
    const tensors = instance?.operators.flatMap(({ outputs }) => outputs) ?? [];
    const tensor = at(
      tensors.filter(({ named }) => named),
      pick,
    );
    if (instance === undefined || tensor === undefined) return false;
    this.graph.releaseOutput(instance.id, outputName(tensor));
    this.twin.release([tensor]);
    return true;
  }

  close(request: TwinRequest | undefined): boolean {
    if (request === undefined) return false;
    this.graph.closeRequest(request.id);
    request.closed = true;
    this.twin.tidy();
    return true;
  }

  compare(): void {
    compareGraph(this.graph, this.twin);
  }

  /** Until nothing moves any more: the executor ends what it has, and the scheduler issues what has room. */
  settle(): void {
    for (let moved = true; moved; ) {
      moved = false;
      for (const kind of ["withdraw", "receive", "arrive", "start", "complete", "issue"] as const) {
        while (this.#apply(kind, 0, [0], 0)) {
          moved = true;
          this.nowNs += 1;
        }
      }
    }
    this.compare();
  }

  /** Gives everything back; whatever a claim covers has then run to its end, without a cancel. */
  drain(): void {
    const { twin, graph } = this;
    for (const instance of [...twin.instances]) {
      for (const tensor of instance.operators.flatMap(({ outputs }) => outputs)) {
        if (tensor.named) graph.releaseOutput(instance.id, outputName(tensor));
        twin.release([tensor]);
      }
    }
    for (const request of [...twin.requests]) this.close(request);
    this.settle();
    // Requests with more live instances than their claim covers are promised nothing, and may keep others waiting.
    const overdrawn = twin.requests.filter((request) => {
      const { limits, concurrentInstances } = graph.request(request.id);
      const live = twin.instances.filter((each) => each.request === request && each.state === "live").length;
      return limits !== null && live > concurrentInstances;
    });
    if (overdrawn.length === 0) expect(twin.instances.filter(({ state }) => state === "live")).toEqual([]);
    else tally("overdrawn");
    for (const instance of [...twin.instances]) this.cancel(instance);
    this.settle();
    expect(graph.counts()).toEqual({ requests: 0, instances: 0, tensors: 0, issuedOperators: 0, transfers: 0 });
    expect(graph.unscheduledFrontier.size).toBe(0);
    for (const { index } of graph.cluster.accelerators) {
      expect(graph.ledger.usedBytes(index)).toBe(graph.ledger.fixedBytes(index));
      expect(graph.claims.reservedBytes(index)).toBe(0);
      expect(graph.claims.takenBytes(index)).toBe(0);
      expect(graph.claims.workspaceBytes(index)).toBe(0);
      expect(graph.claims.lackForWeights(wholeOf(graph, index))).toBe(null);
    }
    for (let rank = 0; rank < 4; rank++) expect(graph.issuedOfRank(rank)).toBe(0);
  }

  #receiving() {
    return this.twin.pendingTransfers().filter(({ state }) => state === "receiving");
  }

  #cancelOnward(operator: TwinOperator): void {
    for (const { number, source } of this.twin.pendingTransfers()) {
      if (source.tensor.producer === operator) this.#cancelTransfer(number);
    }
  }

  #cancelTransfer(number: number): void {
    const node = this.graph.transfer(number);
    const transfer = this.twin.transfers.find((each) => each.number === number);
    if (node === undefined || transfer === undefined) throw new Error(`there is no transfer ${number}`);
    this.graph.transferCancelled(node, this.nowNs);
    this.twin.cancelTransfer(transfer);
  }

  /** The code of the refusal, or null. */
  attempt(action: () => void): string | null {
    const before = this.graph.counts();
    try {
      action();
      return null;
    } catch (error) {
      if (!(error instanceof GmgError)) throw error;
      expect(this.graph.counts()).toEqual(before);
      tally(error.code);
      return error.code;
    }
  }

  nodeOf(operator: TwinOperator): OperatorNode {
    const node = this.graph.issued(operator.issueNumber);
    if (node === undefined) throw new Error(`the graph does not have issue ${operator.issueNumber}`);
    return node;
  }

  #twinOf({ instance, index }: OperatorNode): TwinOperator {
    const twin = this.twin.instances.find(({ id }) => id === instance.id)?.operators[index];
    if (twin === undefined) throw new Error(`the twin does not have operator ${index} of instance ${instance.id}`);
    return twin;
  }
}
