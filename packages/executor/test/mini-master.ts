import { Arbiter } from "@slicescheduler/arbitration";
import { compileCluster } from "@slicescheduler/templates";
import {
  type Executor,
  type ExecutorEvent,
  type Outage,
  SimulatedTime,
  type VirtualExecutor,
  virtualExecutor,
} from "../src/index.ts";
import { clusterOf, issuesOf, type Plan, type PlannedTransfer, sendNs, templateOf } from "./plan.ts";

export interface Logged {
  readonly atNs: number;
  readonly event: ExecutorEvent;
}

/**
 * As little of a master as transfers need: the arbiter, a second try for receive buffers that did not fit, and transfers
 * forgotten that an accelerator took along.
 */
export class MiniMaster {
  readonly log: Logged[] = [];
  readonly #executor: Executor;
  readonly #arbiter: Arbiter;
  readonly #transfers: readonly PlannedTransfer[];
  readonly #bytesOf: ReadonlyMap<number, number>;
  readonly #refused = new Set<number>();

  constructor(executor: Executor, plan: Plan) {
    const { accelerators, linkCapacity } = compileCluster(clusterOf(plan));
    this.#executor = executor;
    this.#arbiter = new Arbiter({
      accelerators: plan.accelerators,
      portCapacity: accelerators.map(({ copyEngines }) => copyEngines),
      linkCapacity,
      route: () => [],
    });
    this.#transfers = issuesOf(plan).transfers;
    this.#bytesOf = new Map(
      plan.operators.flatMap(({ outputs }) => outputs.map((output) => [output.tensor, output.bytes])),
    );
  }

  handle(event: ExecutorEvent): void {
    const nowNs = this.#executor.clock.nowNs();
    this.log.push({ atNs: nowNs, event });
    switch (event.type) {
      case "intentsRaised":
        for (const transfer of event.transfers) this.#raise(transfer, nowNs);
        break;
      case "recvReady":
        this.#arbiter.recvReady(event.transfer, nowNs);
        this.#executor.execute([{ type: "activateSend", transfer: event.transfer }]);
        break;
      case "recvFailed":
        this.#arbiter.failed(event.transfer, nowNs);
        this.#refused.add(event.transfer);
        break;
      case "transferDone":
        this.#arbiter.done(event.transfer, nowNs);
        break;
      case "transferFailed":
        this.#arbiter.failed(event.transfer, nowNs);
        break;
      case "acceleratorLost":
        this.#forget(event.accelerator, nowNs);
        break;
      default:
    }
    this.#select(nowNs);
  }

  /** Raises again what did not fit. */
  retry(): void {
    const nowNs = this.#executor.clock.nowNs();
    const refused = [...this.#refused];
    this.#refused.clear();
    for (const transfer of refused) this.#raise(transfer, nowNs);
    this.#select(nowNs);
  }

  #forget(accelerator: number, nowNs: number): void {
    for (const { transfer, source, destination } of this.#transfers) {
      if (source !== accelerator && destination !== accelerator) continue;
      this.#refused.delete(transfer);
      if (this.#arbiter.state(transfer) !== "gone") this.#arbiter.failed(transfer, nowNs);
    }
  }

  #raise(transfer: number, nowNs: number): void {
    const planned = this.#transfers[transfer];
    if (planned === undefined) throw new Error(`transfer ${transfer} was never planned`);
    this.#arbiter.intent({ ...planned, bytes: this.#bytesOf.get(planned.tensor) ?? 0, rank: 0 }, nowNs);
  }

  #select(nowNs: number): void {
    const selected = this.#arbiter.select(nowNs);
    if (selected.length === 0) return;
    this.#executor.execute(
      selected.map(({ transfer, source, destination, bytes }) => {
        const tensor = this.#transfers[transfer]?.tensor ?? -1;
        return { type: "activateRecv", transfer, tensor, source, destination, bytes };
      }),
    );
  }
}

/** An opened virtual executor under a mini master, the plan's template registered, nothing issued. */
export function opened(
  plan: Plan,
  options: {
    seed?: number;
    cv?: number;
    hbmBytes?: number;
    outages?: readonly Outage[];
    onEvent?: (event: ExecutorEvent, executor: VirtualExecutor) => void;
  } = {},
): { executor: VirtualExecutor; master: MiniMaster; time: SimulatedTime } {
  const time = new SimulatedTime({ autoAdvance: false });
  const executor = virtualExecutor({
    seed: options.seed ?? 1,
    time,
    operatorNs: ({ operator }) => plan.operators[operator]?.durationNs ?? Number.NaN,
    transferNs: ({ bytes }) => sendNs(bytes),
    operatorCv: options.cv ?? 0,
    transferCv: options.cv ?? 0,
    outages: options.outages ?? [],
  });
  const master = new MiniMaster(executor, plan);
  executor.open({
    cluster: clusterOf(plan, options.hbmBytes),
    deliver: (event) => {
      executor.validate();
      master.handle(event);
      options.onEvent?.(event, executor);
      executor.validate();
    },
  });
  executor.execute([{ type: "registerTemplate", template: templateOf(plan) }]);
  return { executor, master, time };
}
