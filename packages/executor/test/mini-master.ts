import {
  type Executor,
  type ExecutorEvent,
  SimulatedTime,
  type VirtualExecutor,
  virtualExecutor,
} from "../src/index.ts";
import { clusterOf, issuesOf, type Plan, type PlannedTransfer, sendNs, templateOf } from "./plan.ts";

export interface Logged {
  readonly atNs: number;
  readonly event: ExecutorEvent;
}

/** Selects transfers in the order of their numbers, one per egress and ingress. */
export class MiniMaster {
  readonly log: Logged[] = [];
  readonly #executor: Executor;
  readonly #transfers: readonly PlannedTransfer[];
  readonly #bytesOf: ReadonlyMap<number, number>;
  readonly #waiting = new Set<number>();
  readonly #sending = new Set<number>();

  constructor(executor: Executor, plan: Plan) {
    this.#executor = executor;
    this.#transfers = issuesOf(plan).transfers;
    this.#bytesOf = new Map(
      plan.operators.flatMap(({ outputs }) => outputs.map((output) => [output.tensor, output.bytes])),
    );
  }

  handle(event: ExecutorEvent): void {
    this.log.push({ atNs: this.#executor.clock.nowNs(), event });
    switch (event.type) {
      case "intentsRaised":
        for (const transfer of event.transfers) this.#waiting.add(transfer);
        this.select();
        break;
      case "recvReady":
        this.#executor.execute([{ type: "activateSend", transfer: event.transfer }]);
        break;
      case "recvFailed":
        this.#sending.delete(event.transfer);
        this.#waiting.add(event.transfer);
        break;
      case "transferDone":
      case "transferFailed":
        this.#sending.delete(event.transfer);
        this.select();
        break;
      default:
    }
  }

  select(): void {
    const selected: PlannedTransfer[] = [];
    for (const transfer of this.#transfers.filter((one) => this.#waiting.has(one.transfer))) {
      const sending = this.#transfers.filter((one) => this.#sending.has(one.transfer));
      if (sending.some((one) => one.source === transfer.source || one.destination === transfer.destination)) continue;
      this.#waiting.delete(transfer.transfer);
      this.#sending.add(transfer.transfer);
      selected.push(transfer);
    }
    if (selected.length === 0) return;
    this.#executor.execute(
      selected.map((transfer) => ({
        type: "activateRecv",
        ...transfer,
        bytes: this.#bytesOf.get(transfer.tensor) ?? 0,
      })),
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
    onEvent?: (event: ExecutorEvent, executor: VirtualExecutor) => void;
  } = {},
): { executor: VirtualExecutor; master: MiniMaster; time: SimulatedTime } {
  const time = new SimulatedTime({ autoAdvance: false });
  const executor = virtualExecutor({
    seed: options.seed ?? 1,
    time,
    operatorNs: ({ operatorIndex }) => plan.operators[operatorIndex]?.durationNs ?? Number.NaN,
    transferNs: ({ bytes }) => sendNs(bytes),
    operatorCv: options.cv ?? 0,
    transferCv: options.cv ?? 0,
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
