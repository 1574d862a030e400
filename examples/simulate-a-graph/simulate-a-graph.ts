/**
 * Graphs of operators in five formats, each read, simulated and drawn. The readers take content; files are the application's.
 * `node examples/run.mjs simulate-a-graph` prints them all.
 */
import { readFileSync } from "node:fs";
import {
  type Dag,
  FormatError,
  readDot,
  readOperatorsJson,
  readOperatorsJsonl,
  readStg,
  readW1,
  simulateDag,
} from "@slicescheduler/simulator";
import { gantt } from "./gantt.ts";

const content = (file: string) => readFileSync(new URL(`./graphs/${file}`, import.meta.url));

/** Each graph with what its format leaves open: units, accelerators, and where operators run. */
export const graphs = {
  "two-stages.json": () => readOperatorsJson(content("two-stages.json")),
  "requests.jsonl": () => readOperatorsJsonl(content("requests.jsonl"), { accelerators: 2, layout: "listScheduling" }),
  "nine.stg": () => readStg(content("nine.stg"), { timeUnitNs: 1_000_000, accelerators: 3, layout: "listScheduling" }),
  "diamond.dot": () => readDot(content("diamond.dot"), { timeUnitNs: 1000 }),
  "one-request.w1": () => readW1(content("one-request.w1")),
} satisfies Record<string, () => Dag>;

export function chart(dag: Dag): string {
  return gantt(simulateDag(dag));
}

/** What a reader says of a file that it cannot use. */
export function complaint(read: () => Dag): string {
  try {
    return chart(read());
  } catch (error) {
    if (error instanceof FormatError) return `${error.code}: ${error.message}`;
    throw error;
  }
}
