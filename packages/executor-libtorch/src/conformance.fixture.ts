import type { ConformanceBackend, ConformanceContext } from "@slicescheduler/testing";
import { type LibtorchExecutorOptions, libtorchExecutor, type Program } from "./index.ts";

const row = (length: string, value: number): Program["calls"][number] => ({
  op: "aten::full",
  args: [[{ symbol: length }], value],
  kwargs: { dtype: { dtype: "float64" } },
  results: [`row${value}`],
});

/** What the suite's operators compute: rows of numbers, in no more memory than they declare. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  work: { calls: [], outputs: [] },
  source: {
    calls: [
      { op: "aten::arange", args: [{ symbol: "made" }], kwargs: { dtype: { dtype: "float64" } }, results: ["out"] },
    ],
    outputs: [{ value: "out" }],
  },
  pair: { calls: [row("made", 1), row("restMade", 2)], outputs: [{ value: "row1" }, { value: "row2" }] },
  sink: { calls: [], outputs: [] },
  map: { calls: [row("made", 3)], outputs: [{ value: "row3" }] },
  join: { calls: [row("made", 4)], outputs: [{ value: "row4" }] },
  // Writes behind what is there, in place.
  grow: {
    calls: [
      { op: "aten::as_strided", args: [{ input: 0 }, [{ symbol: "made" }], [1]], results: ["out"] },
      {
        op: "aten::slice.Tensor",
        args: [{ value: "out" }, 0, { symbol: "taken" }, { symbol: "made" }],
        results: ["tail"],
      },
      { op: "aten::fill_.Scalar", args: [{ value: "tail" }, 5] },
    ],
    outputs: [{ value: "out" }],
  },
};

/** The executor with programs for the operators of the conformance suite. */
export function conformingBackend(
  options: LibtorchExecutorOptions,
  { templates }: ConformanceContext,
): ConformanceBackend {
  const executor = libtorchExecutor(options);
  for (const { name, operators } of templates)
    executor.define(
      name,
      Object.fromEntries(operators.map((operator) => [operator.name, PROGRAMS[operator.name] as Program])),
    );
  // What is rehearsed before the executor is open waits for that.
  let isOpen = false;
  const early: (() => void)[] = [];
  const { open } = executor;
  executor.open = (context) => {
    open.call(executor, context);
    isOpen = true;
    for (const each of early) each();
  };
  const rehearse = (...what: Parameters<typeof executor.rehearse>) => {
    if (isOpen) executor.rehearse(...what);
    else early.push(() => executor.rehearse(...what));
  };
  return {
    executor,
    failOperator: (issueNumber) => rehearse("fail", issueNumber),
    failTransfer: (transfer) => rehearse("failTransfer", transfer),
    loseAccelerator: (accelerator) => executor.loseAccelerator(accelerator),
    returnAccelerator: (accelerator) => executor.returnAccelerator(accelerator),
    holdOperator: (issueNumber) => {
      rehearse("hold", issueNumber);
      return () => rehearse("letGo", issueNumber);
    },
    read: (tensor, accelerator) => Array.from(executor.read(tensor, accelerator)?.data ?? [], Number),
  };
}
