import type { IssueInstruction } from "@slicescheduler/executor";
import { expect, test } from "vitest";
import type { NativeFetched } from "../native/addon.ts";
import type { FetchedTensor, ObservedOperator } from "../options.ts";
import { Reports } from "./reports.ts";

const issue = (issueNumber: number): IssueInstruction => ({
  type: "issue",
  issueNumber,
  accelerator: 0,
  instance: 10 + issueNumber,
  template: "t",
  operator: 0,
  symbols: {},
  rank: 0,
  activated: true,
  inputs: [],
  outputs: [],
  workspaceBytes: 0,
});
const fetched = (issueNumber: number, name: string, dtype = "float32"): NativeFetched => ({
  issueNumber,
  name,
  dtype,
  shape: [1],
  data: Float32Array.of(issueNumber).buffer,
});
const measured = () => ({ observedNs: 1, outputBytes: 2, peakBytes: 3, declaredBytes: 4 });

/** The native list of what was fetched: given out once. */
function engineWith(...lists: (readonly NativeFetched[] | Error)[]) {
  return {
    takeFetched: () => {
      const list = lists.shift();
      if (list instanceof Error) throw list;
      return list;
    },
  };
}

function reportsTo(hear: (each: FetchedTensor | ObservedOperator) => void) {
  const heard: string[] = [];
  const thrown: unknown[] = [];
  const listener = (what: string, each: FetchedTensor | ObservedOperator) => {
    heard.push(`${each.issueNumber} ${what}`);
    hear(each);
  };
  const reports = new Reports(
    { onFetched: (each) => listener(each.name, each), onObserved: (each) => listener("observed", each) },
    () => "run",
    (error) => thrown.push(error),
  );
  return { reports, heard, thrown };
}

test("a tensor that cannot be handed out takes nothing else along", () => {
  const { reports, heard, thrown } = reportsTo(() => {});
  for (const number of [1, 2]) reports.add(issue(number), 2, measured);
  const engine = engineWith([fetched(2, "a"), fetched(1, "a", "ComplexFloat"), fetched(1, "b"), fetched(2, "b")]);
  for (const number of [1, 2]) reports.tell(number, engine);
  expect(heard).toEqual(["1 b", "1 observed", "2 a", "2 b", "2 observed"]);
  expect(thrown).toEqual([expect.objectContaining({ code: "DTYPE_UNSUPPORTED" })]);
});

test("a list that cannot be taken leaves what was taken before, and what comes after", () => {
  const { reports, heard, thrown } = reportsTo(() => {});
  for (const number of [1, 2, 3]) reports.add(issue(number), 1, measured);
  const failed = new Error("no memory");
  const engine = engineWith([fetched(1, "a"), fetched(2, "a")], failed, [fetched(3, "a")]);
  for (const number of [1, 2, 3]) reports.tell(number, engine);
  expect(heard).toEqual(["1 a", "1 observed", "2 a", "2 observed", "3 a", "3 observed"]);
  expect(thrown).toEqual([failed]);
});

test("a listener that throws hears of the rest all the same", () => {
  const { reports, heard, thrown } = reportsTo(({ issueNumber }) => {
    throw new Error(`of ${issueNumber}`);
  });
  reports.add(issue(1), 2, measured);
  reports.tell(1, engineWith([fetched(1, "a"), fetched(1, "b")]));
  expect(heard).toEqual(["1 a", "1 b", "1 observed"]);
  expect(thrown).toEqual(heard.map(() => new Error("of 1")));
  reports.tell(1, engineWith());
  expect(heard).toHaveLength(3);
});
