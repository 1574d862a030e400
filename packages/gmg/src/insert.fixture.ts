/** For the tests of this package: a graph whose issued operators run at once, and instances in one line. */
import {
  type AcceleratorSpec,
  compileCluster,
  GlobalMappingGraph,
  type InstanceNode,
  type OperatorNode,
  type OperatorSpec,
  type RequestOpening,
  type Submission,
  type TemplateSpec,
} from "@slicescheduler/gmg";

export const u8 = (...shape: readonly (number | string)[]) => ({ shape, dtype: "uint8" as const });

/** A template of these operators on accelerator `a`, otherwise sound. */
export function of(operators: readonly Partial<OperatorSpec>[], more: Partial<TemplateSpec> = {}): TemplateSpec {
  return {
    name: "t",
    symbols: [],
    operators: operators.map((operator, i) => ({ name: `op${i}`, outputs: { o: u8(8) }, ...operator })),
    outputs: {},
    partitions: [{ name: "p", accelerators: ["a"], layout: operators.map(() => 0) }],
    ...more,
  };
}

/** A graph over accelerators `a` and `b`, with one request in it, and an executor that takes no time. */
export class Playground {
  readonly graph: GlobalMappingGraph;
  readonly #check: boolean;
  #nextInstance = 0;
  #nextRequest = 0;
  #nowNs = 0;

  /** Without `check` nothing is counted again, which is linear in the graph at every event. */
  constructor(accelerator: Partial<AcceleratorSpec> = {}, check = true) {
    const accelerators = ["a", "b"].map((name) => ({ name, kind: "demo", hbmBytes: 100_000, ...accelerator }));
    this.graph = new GlobalMappingGraph(
      compileCluster({ accelerators, defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 } }),
    );
    this.#check = check;
  }

  open(more: Partial<RequestOpening> = {}): number {
    const id = this.#nextRequest;
    const opening = {
      id,
      label: "",
      rank: 0,
      deadlineNs: Number.POSITIVE_INFINITY,
      limits: null,
      concurrentInstances: 1,
      chains: 1,
      allowedPartitions: null,
      endsWithInstances: false,
      mayPause: false,
      ...more,
    };
    this.graph.openRequest(opening, this.#nowNs);
    this.#nextRequest += 1;
    return id;
  }

  /** A refused submission uses no number up. */
  submit(request: number, more: Partial<Submission> = {}): InstanceNode {
    const id = this.#nextInstance;
    const submission = { id, template: "t", symbols: {}, inputs: {}, retain: [], allowedPartitions: null, label: "" };
    const instance = this.graph.insert({ ...submission, ...more }, request, this.#nowNs);
    this.#nextInstance = instance.id + 1;
    return instance;
  }

  /** Issues and runs whatever can be, the most urgent first, until nothing can; tells how many operators ran. */
  run(most = Number.POSITIVE_INFINITY): number {
    const { graph } = this;
    let ran = 0;
    for (let moved = true; moved && ran < most; ) {
      moved = false;
      for (const operator of [...graph.unscheduledFrontier]) {
        // Nothing ends before what it reads was made, which may have been issued and left alone.
        if (ran === most || operator.inputs.some(({ producer }) => producer.state !== "done")) continue;
        if (!this.issue(operator)) continue;
        this.finish(operator);
        ran += 1;
        moved = true;
      }
    }
    return ran;
  }

  /** False where there is no room for it now. */
  issue(operator: OperatorNode, partition?: string): boolean {
    const options = this.graph.placementOptions(operator).filter(({ shortage }) => shortage === null);
    const option = partition === undefined ? options[0] : options.find((each) => each.partition.name === partition);
    if (option === undefined) return false;
    this.graph.issue(operator, option.partition, this.#tick());
    this.#validate();
    return true;
  }

  start(operator: OperatorNode): void {
    for (const tensor of operator.inputs) {
      for (const transfer of [...tensor.transfers]) {
        if (transfer.destination !== operator.accelerator) continue;
        this.graph.transferReceiving(transfer);
        this.#validate();
        this.graph.transferDone(transfer, this.#tick());
        this.#validate();
      }
    }
    this.graph.operatorStarted(operator, this.#tick());
    this.#validate();
  }

  finish(operator: OperatorNode): void {
    this.start(operator);
    this.graph.operatorDone(operator, this.#tick());
    this.#validate();
    this.graph.takeEffects();
  }

  #tick(): number {
    return ++this.#nowNs;
  }

  #validate(): void {
    if (this.#check) this.graph.validate();
  }
}

/** Nothing is left of any request. */
export const EMPTY = { requests: 0, instances: 0, tensors: 0, issuedOperators: 0, transfers: 0 };
