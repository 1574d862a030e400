/** What proves the backend: the conformance suite, under any test runner. */
import { type ConformanceOptions, runExecutorConformance } from "@slicescheduler/testing";
import { type Kernel, LANE_MANIFEST, LaneExecutor } from "./lane-executor.ts";

/** Registers the suite's tests for the lanes. */
export function conformance(test: ConformanceOptions["test"]): readonly string[] {
  return runExecutorConformance({ test, manifest: LANE_MANIFEST, create: lanes });
}

/** Fresh lanes with a kernel for each of the suite's operators; some fail when they are told to. */
export function lanes() {
  const failing = new Set<number>();
  const kernel: Kernel = async ({ issueNumber, instance, inputs, outputs }) => {
    if (failing.has(issueNumber)) throw new Error("it was told to fail");
    for (const output of outputs)
      for (const at of output.keys()) output[at] = instance + (inputs[0]?.[at % inputs[0].length] ?? at);
  };
  const names = ["work", "source", "pair", "sink", "map", "join", "grow"];
  const executor = new LaneExecutor(Object.fromEntries(names.map((name) => [name, kernel])));
  return {
    executor,
    failOperator: (issueNumber: number) => void failing.add(issueNumber),
    read: (tensor: number, lane: number) => executor.read(tensor, lane),
  };
}
