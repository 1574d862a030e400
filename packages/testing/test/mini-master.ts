/**
 * A master that decides by lot: what it is told to is laid and issued at time 0, by the graph and the arbiter alone; afterwards it
 * only reports to both what the executor says, unless it is given a batch more. So what follows is settled by the rules, and can be
 * compared with a simulation.
 */
import { Arbiter, type ArbitrationOptions, type Topology } from "@slicescheduler/arbitration";
import { type ExecutorEvent, type ExecutorInstruction, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import {
  type Cluster,
  type ClusterSpec,
  type CompiledPartition,
  compileCluster,
  GlobalMappingGraph,
  type InstanceNode,
  type OperatorNode,
  SubmissionError,
  type TemplateSpec,
} from "@slicescheduler/gmg";
import { type Durations, operatorNs, type Workload } from "../src/index.ts";

export interface MiniWorld {
  readonly cluster: ClusterSpec;
  readonly templates: readonly TemplateSpec[];
  readonly workload: Workload;
  readonly durations: Durations;
  readonly arbitration: ArbitrationOptions;
  /** Choices among the frontier and the partitions, in turn. */
  readonly picks: readonly number[];
}

export interface Choice {
  readonly operator: OperatorNode;
  readonly partition: CompiledPartition;
}

/** When something began and ended; −1 before. */
export interface Span {
  startNs: number;
  doneNs: number;
}

export class MiniMaster {
  readonly cluster: Cluster;
  readonly graph: GlobalMappingGraph;
  readonly time = new SimulatedTime();
  readonly executor;
  readonly topology: Topology;
  /** By issue number, in order. */
  readonly operators = new Map<number, Span>();
  /** By transfer number. */
  readonly transfers = new Map<number, Span & { raisedNs: number }>();
  readonly #world: MiniWorld;
  readonly #arbiter: Arbiter;
  readonly #plan: ExecutorInstruction[] = [];
  #picked = 0;

  /** Lays so many operators, if there are as many that have memory; the executor knows nothing of them before `begin`. */
  constructor(world: MiniWorld, operatorsMax: number = Number.POSITIVE_INFINITY) {
    this.#world = world;
    this.cluster = compileCluster(world.cluster);
    this.graph = new GlobalMappingGraph(this.cluster);
    this.topology = {
      accelerators: this.cluster.accelerators.length,
      portCapacity: this.cluster.accelerators.map(({ copyEngines }) => copyEngines),
      linkCapacity: this.cluster.linkCapacity,
      route: (source, destination) => this.cluster.route(source, destination),
    };
    this.#arbiter = new Arbiter(this.topology, world.arbitration);
    this.executor = virtualExecutor({
      seed: 0,
      time: this.time,
      operatorNs: (work) => operatorNs(world.durations, work),
    });
    this.executor.open({ cluster: world.cluster, deliver: (event) => this.#deliver(event) });
    for (const template of world.templates) {
      const { partitions } = this.graph.registerTemplate(template);
      this.executor.execute([{ type: "registerTemplate", template }]);
      for (const { weights } of partitions) {
        this.executor.execute(weights.map((weight) => ({ type: "loadWeights", ...weight })));
      }
    }
    this.#submit();
    while (this.operators.size < operatorsMax) {
      const choice = this.choose();
      if (choice === undefined) break;
      this.#plan.push(...this.#issue([choice.operator], choice.partition));
    }
  }

  /** Gives the executor everything at once; the first operators start. */
  begin(): void {
    this.executor.execute(this.#plan);
  }

  /** The number that the next transfer will get. */
  get nextTransferNumber(): number {
    return this.graph.snapshot().counters.nextTransfer;
  }

  /** One operator of the frontier and a partition that has memory for it; undefined where there is none. */
  choose(): Choice | undefined {
    const candidates = [...this.graph.unscheduledFrontier].flatMap((operator) =>
      this.graph
        .placementOptions(operator)
        .flatMap(({ partition, shortage }) => (shortage === null ? [{ operator, partition }] : [])),
    );
    return candidates[this.#pick(Math.max(1, candidates.length))];
  }

  /** Issues a batch now. */
  give(batch: readonly OperatorNode[], partition: CompiledPartition): void {
    this.executor.execute(this.#issue(batch, partition));
  }

  /** Takes an operator back that has not started, with all that needs it. */
  recall(pick: number): void {
    const waiting = [...this.graph.issuedOperators()].filter(
      ({ startedNs, state, recalled }) => startedNs < 0 && state === "issued" && !recalled,
    );
    const operator = waiting[pick % Math.max(1, waiting.length)];
    if (operator === undefined) return;
    this.graph.recall(operator);
    this.executor.execute(this.#effects());
  }

  exactNs({ instance, index }: OperatorNode, accelerator: number): number {
    return operatorNs(this.#world.durations, {
      template: instance.template.name,
      operator: index,
      symbols: instance.binding.symbols,
      accelerator: this.cluster.accelerators[accelerator] as Cluster["accelerators"][number],
    });
  }

  #pick(count: number): number {
    const { picks } = this.#world;
    return (picks[this.#picked++ % Math.max(1, picks.length)] ?? 0) % count;
  }

  /** All of the workload at once; what is refused, with all that needs it, is left out. */
  #submit(): void {
    const { requests, instances } = this.#world.workload;
    const taken = new Map<number, InstanceNode>();
    const opened = new Map<number, number>();
    let nextRequest = 0;
    for (const [index, { request, inputs, template, symbols, retain, partitions }] of instances.entries()) {
      const sources = Object.entries(inputs).map(([name, { instance, output }]) => ({
        name,
        output,
        from: taken.get(instance),
      }));
      const from = sources[0]?.from;
      if (sources.some((source) => source.from === undefined)) continue;
      try {
        const shared = request === null ? from?.request.id : opened.get(request);
        const id = shared ?? nextRequest;
        if (shared === undefined) {
          const { limits, concurrentInstances } = requests[request ?? -1] ?? { limits: null, concurrentInstances: 2 };
          this.graph.openRequest(
            {
              id,
              label: "",
              rank: index % 3,
              deadlineNs: Number.POSITIVE_INFINITY,
              limits,
              concurrentInstances,
              chains: 1,
              mayPause: false,
              allowedPartitions: null,
              endsWithInstances: false,
            },
            0,
          );
          nextRequest += 1;
          if (request !== null) opened.set(request, id);
        }
        const bound = Object.fromEntries(
          sources.map(({ name, output, from: source }) => [name, { instance: source?.id ?? -1, output }]),
        );
        const submission = {
          id: index,
          template,
          symbols,
          inputs: bound,
          retain,
          allowedPartitions: partitions,
          label: "",
        };
        taken.set(index, this.graph.insert(submission, id, 0));
      } catch (error) {
        if (!(error instanceof SubmissionError)) throw error;
      }
    }
  }

  #issue(batch: readonly OperatorNode[], partition: CompiledPartition): ExecutorInstruction[] {
    const issues = batch.map((operator): ExecutorInstruction => {
      const issued = this.graph.issue(operator, partition, this.time.nowNs());
      this.operators.set(issued.issueNumber, { startNs: -1, doneNs: -1 });
      return { type: "issue", activated: true, ...issued };
    });
    return [...issues, ...this.#effects()];
  }

  #effects(): ExecutorInstruction[] {
    const { releases, holds, withdrawals } = this.graph.takeEffects();
    return [
      ...releases.map((copy): ExecutorInstruction => ({ type: "release", ...copy })),
      ...holds.map((copy): ExecutorInstruction => ({ type: "hold", ...copy })),
      ...withdrawals.map((issueNumber): ExecutorInstruction => ({ type: "withdraw", issueNumber })),
    ];
  }

  #deliver(event: ExecutorEvent): void {
    const nowNs = this.time.nowNs();
    this.#report(event, nowNs);
    const instructions = this.#effects();
    if (event.type === "recvReady") instructions.push({ type: "activateSend", transfer: event.transfer });
    for (const selection of this.#arbiter.select(nowNs)) {
      const { id: tensor } = this.#transfer(selection.transfer).tensor;
      instructions.push({ type: "activateRecv", tensor, ...selection });
    }
    if (instructions.length > 0) this.executor.execute(instructions);
  }

  #report(event: ExecutorEvent, nowNs: number): void {
    if (event.type === "intentsRaised") {
      for (const number of event.transfers) {
        const transfer = this.#transfer(number);
        const { source, destination, rank, tensor } = transfer;
        this.graph.transferIntended(transfer, nowNs);
        this.transfers.set(number, { raisedNs: nowNs, startNs: -1, doneNs: -1 });
        this.#arbiter.intent({ transfer: number, source, destination, rank, bytes: tensor.bytes }, nowNs);
      }
      return;
    }
    switch (event.type) {
      case "recvReady": {
        const transfer = this.#transfer(event.transfer);
        this.graph.transferReceiving(transfer);
        this.#arbiter.recvReady(event.transfer, nowNs);
        transfer.state = "sending";
        transfer.sendingNs = nowNs;
        span(this.transfers, event.transfer).startNs = nowNs;
        return;
      }
      case "transferDone":
        this.#arbiter.done(event.transfer, nowNs);
        this.graph.transferDone(this.#transfer(event.transfer), nowNs);
        span(this.transfers, event.transfer).doneNs = nowNs;
        return;
      case "operatorStarted":
        this.graph.operatorStarted(this.#issued(event.issueNumber), nowNs);
        span(this.operators, event.issueNumber).startNs = nowNs;
        return;
      case "operatorDone":
        this.graph.operatorDone(this.#issued(event.issueNumber), nowNs);
        span(this.operators, event.issueNumber).doneNs = nowNs;
        return;
      case "withdrawn":
        this.graph.operatorWithdrawn(this.#issued(event.issueNumber), nowNs);
        return;
      case "transferCancelled":
        this.graph.transferCancelled(this.#transfer(event.transfer), nowNs);
        return;
      default:
        throw new Error(`with memory claimed and no faults there is no ${event.type}`);
    }
  }

  #transfer(number: number) {
    const transfer = this.graph.transfer(number);
    if (transfer === undefined) throw new Error(`the graph knows no transfer ${number}`);
    return transfer;
  }

  #issued(issueNumber: number): OperatorNode {
    const operator = this.graph.issued(issueNumber);
    if (operator === undefined) throw new Error(`the graph has no issue ${issueNumber}`);
    return operator;
  }
}

function span<S extends Span>(spans: ReadonlyMap<number, S>, number: number): S {
  const found = spans.get(number);
  if (found === undefined) throw new Error(`nothing is known of number ${number}`);
  return found;
}
