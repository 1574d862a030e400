import type { Explanation } from "slicescheduler";
import { decisionOf, type ViewDecision, type ViewTable } from "./state.ts";
import { moment, waitsFor } from "./words.ts";

/** What is known of one instance, in words. */
export interface ViewExplanation {
  readonly title: string;
  readonly operators: ViewTable;
  readonly decisions: readonly ViewDecision[];
}

const OPERATORS_SHOWN = 100;
const DECISIONS_SHOWN = 20;

export function explanationOf({
  instance,
  state,
  request,
  partition,
  operators,
  decisions,
}: Explanation): ViewExplanation {
  const where = partition === null ? "not laid on a partition yet" : `on ${partition}`;
  const shown = operators.slice(0, OPERATORS_SHOWN);
  return {
    title: `Instance ${instance}${request === null ? "" : ` of request ${request}`}: ${state}, ${where}`,
    operators: {
      rows: shown.map(({ operator, state, accelerator, waiting, issuedNs, startedNs, doneNs }) => ({
        key: operator,
        cells: [
          operator,
          state,
          accelerator ?? "",
          ...[issuedNs, startedNs, doneNs].map((ns) => (ns === null ? "" : moment(ns))),
          waiting === null ? "" : waitsFor(waiting),
        ],
      })),
      more: operators.length - shown.length,
    },
    decisions: decisions.slice(-DECISIONS_SHOWN).reverse().map(decisionOf),
  };
}
