import { SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import type { ClusterSpec } from "@slicescheduler/gmg";
import { SliceScheduler } from "slicescheduler";
import { initialParameters, type Placed, trainingIteration } from "./training.ts";

/** What an iteration took, piece by piece. */
export interface ObservedPieces {
  /** By the operator's index in the template. */
  readonly operatorNs: readonly number[];
  /** By link, "source>destination" of the accelerators' indices: in the order in which transfers ended. */
  readonly transferNs: ReadonlyMap<string, readonly number[]>;
}

/**
 * How long an iteration takes in simulated time when each operator and transfer takes what it really took: what is left of the error when all durations are known is
 * what the simulation leaves out.
 */
export function retoldNs(placed: Placed, cluster: ClusterSpec, rows: number, pieces: ObservedPieces): number {
  const time = new SimulatedTime();
  const initial = initialParameters(placed);
  const iteration = trainingIteration(placed);
  const queues = new Map([...pieces.transferNs].map(([link, durations]) => [link, [...durations]]));
  const executor = virtualExecutor({
    seed: 1,
    time,
    operatorNs: ({ template, operator }) =>
      template === iteration.template.name ? (pieces.operatorNs[operator] ?? Number.NaN) : 1,
    transferNs: ({ source, destination }) => queues.get(`${source.index}>${destination.index}`)?.shift() ?? Number.NaN,
  });
  const scheduler = new SliceScheduler({ cluster, executor });
  const [first, second] = [scheduler.register(initial.template), scheduler.register(iteration.template)];
  const request = scheduler.openRequest();
  const parameters = scheduler.submit(first, { request, symbols: {}, retain: ["parameters"] });
  time.run();
  const sinceNs = time.nowNs();
  scheduler.submit(second, { request, symbols: { rows }, inputs: { parameters: parameters.output("parameters") } });
  let endNs = Number.NaN;
  scheduler.on("instanceDone", ({ atNs }) => {
    endNs = atNs;
  });
  time.run();
  scheduler.close();
  return endNs - sinceNs;
}
