import { checkDag } from "./dag-check.ts";
import { quoted, requireWhole, SimulatorError, withContext, wordOf } from "./errors.ts";
import { linkNs } from "./link.ts";
import { Simulator } from "./simulator.ts";
import type { HbmSample, OutOfMemory, SimOperator, SimTensor, SimulatedTransfer } from "./types.ts";

export interface DagAccelerator {
  readonly name: string;
  /** Unlimited when left out. */
  readonly hbmBytes?: number;
  /** In use throughout: weights, baseline. Default 0. */
  readonly fixedBytes?: number;
  /** Transfers it can send at once, and as many it can receive, beside its operators. At least 1, default 1. */
  readonly copyEngines?: number;
}

export interface DagOperator {
  readonly name: string;
  readonly accelerator: string;
  readonly durationNs: number;
  /** Operators whose output it reads; those on other accelerators need a transfer. */
  readonly inputs?: readonly string[];
  /** Freed when its last reader and its last transfer have ended. Default 0. */
  readonly outputBytes?: number;
  readonly workspaceBytes?: number;
  /** Priority class, 0 is the most urgent. Default 0. */
  readonly rank?: number;
}

export interface Dag {
  readonly accelerators: readonly DagAccelerator[];
  /** In any order; the order decides between operators that are equally urgent and became ready together. */
  readonly operators: readonly DagOperator[];
  /** Of each pair of accelerators. Default: no latency, 25 GB/s. */
  readonly link?: { readonly latencyNs: number; readonly bytesPerSecond: number };
}

export interface DagTimeline {
  readonly outcome: "finished" | "outOfMemory";
  readonly makespanNs: number;
  /** In the order given; NaN for what was not reached. */
  readonly operators: readonly {
    readonly name: string;
    readonly accelerator: string;
    readonly startNs: number;
    readonly doneNs: number;
  }[];
  /** Indices refer to the order given. */
  readonly transfers: readonly SimulatedTransfer[];
  readonly accelerators: readonly {
    readonly name: string;
    readonly busyNs: number;
    readonly peakBytes: number;
    readonly hbm: readonly HbmSample[];
  }[];
  readonly outOfMemory: OutOfMemory | null;
}

/** More transfers at once than this are not told apart from it, nor are there as many. */
const PORT_CAPACITY_MAX = 2 ** 31 - 1;

/**
 * The timeline of a graph of operators on given accelerators: one call, no state. Throws `SimulatorError`: DAG_INVALID (a name
 * that is unknown or given twice, a part that is missing), CYCLE (names up to 8 of its operators), UNKNOWN_ACCELERATOR, INVALID_DURATION, INVALID_BYTES, INVALID_RANK,
 * INVALID_OPTION, BYTES_OVERFLOW, TIME_OVERFLOW; those of one operator or accelerator name it.
 */
export function simulateDag(dag: Dag): DagTimeline {
  checkDag(dag);
  const accelerators = indexNames("accelerator", dag.accelerators);
  const operators = indexNames("operator", dag.operators);
  const { latencyNs, bytesPerSecond } = dag.link ?? { latencyNs: 0, bytesPerSecond: 25e9 };
  requireWhole(latencyNs, 0, "link.latencyNs", "INVALID_DURATION");
  if (!(Number.isFinite(bytesPerSecond) && bytesPerSecond > 0))
    throw new SimulatorError(
      "INVALID_OPTION",
      `link.bytesPerSecond is ${wordOf(bytesPerSecond)}; it must be above 0 and finite`,
    );
  refuseCycle(dag.operators, operators);
  const simulator = new Simulator({
    topology: {
      accelerators: dag.accelerators.length,
      portCapacity: dag.accelerators.map(({ name, copyEngines = 1 }) => {
        const engines = requireWhole(copyEngines, 1, `copyEngines of accelerator ${quoted(name)}`, "INVALID_OPTION");
        return Math.min(engines, PORT_CAPACITY_MAX);
      }),
      linkCapacity: [],
      route: () => [],
    },
    transferNs: (_source, _destination, bytes) => linkNs({ latencyNs, bytesPerSecond }, bytes),
  });
  simulator.begin(
    0,
    dag.accelerators.map(({ name, hbmBytes = Number.MAX_SAFE_INTEGER, fixedBytes = 0 }) => {
      const of = `of accelerator ${quoted(name)}`;
      requireWhole(hbmBytes, 0, `hbmBytes ${of}`, "INVALID_BYTES");
      requireWhole(fixedBytes, 0, `fixedBytes ${of}`, "INVALID_BYTES");
      return { capacityBytes: hbmBytes, fixedBytes };
    }),
  );
  const added = addOperators(simulator, dag, accelerators, operators);
  const { outcome, makespanNs } = simulator.run({ timeline: true });
  return {
    outcome: outcome === "finished" ? "finished" : "outOfMemory",
    makespanNs,
    operators: dag.operators.map(({ name, accelerator }, index) => {
      const handle = added[index] as SimOperator;
      return { name, accelerator, startNs: simulator.startNs(handle), doneNs: simulator.doneNs(handle) };
    }),
    transfers: simulator.transfers(),
    accelerators: dag.accelerators.map(({ name }, index) => ({
      name,
      busyNs: simulator.busyNs(index),
      peakBytes: simulator.peakBytes(index),
      hbm: simulator.hbmTimeline(index),
    })),
    outOfMemory: simulator.outOfMemory(),
  };
}

function addOperators(
  simulator: Simulator,
  dag: Dag,
  accelerators: ReadonlyMap<string, number>,
  operators: ReadonlyMap<string, number>,
): SimOperator[] {
  const outputs: SimTensor[] = [];
  const added = dag.operators.map(
    ({ name, accelerator, durationNs, rank = 0, outputBytes = 0, workspaceBytes = 0 }, index) => {
      const on = accelerators.get(accelerator);
      if (on === undefined) {
        throw new SimulatorError(
          "UNKNOWN_ACCELERATOR",
          `operator ${quoted(name)} is on accelerator ${quoted(accelerator)}, which is not declared`,
          { operator: name, accelerator },
        );
      }
      return withContext(`operator ${quoted(name)}`, { operator: name }, () => {
        const operator = simulator.addOperator(on, durationNs, rank, index, workspaceBytes);
        outputs.push(simulator.addOutput(operator, outputBytes, false));
        return operator;
      });
    },
  );
  for (const [index, { inputs = [] }] of dag.operators.entries()) {
    for (const input of inputs)
      simulator.addInput(added[index] as SimOperator, outputs[operators.get(input) as number] as SimTensor);
  }
  return added;
}

function indexNames(what: string, items: readonly { readonly name: string }[]): ReadonlyMap<string, number> {
  const index = new Map<string, number>();
  for (const { name } of items) {
    if (index.has(name))
      throw new SimulatorError("DAG_INVALID", `there are two of ${what} ${quoted(name)}; names are unique`, {
        name,
      });
    index.set(name, index.size);
  }
  return index;
}

/** Takes away operators all of whose inputs are taken away; what is left is on a cycle, or behind one. */
function refuseCycle(operators: readonly DagOperator[], indexOf: ReadonlyMap<string, number>): void {
  const readers: number[][] = operators.map(() => []);
  const missing = operators.map(({ name, inputs = [] }, index) => {
    for (const input of inputs) {
      const producer = indexOf.get(input);
      if (producer === undefined) {
        throw new SimulatorError(
          "DAG_INVALID",
          `operator ${quoted(name)} reads ${quoted(input)}, which is no operator`,
          { operator: name, input },
        );
      }
      readers[producer]?.push(index);
    }
    return inputs.length;
  });
  const free = [...operators.keys()].filter((index) => missing[index] === 0);
  for (const index of free) {
    for (const reader of readers[index] ?? []) {
      const left = (missing[reader] as number) - 1;
      missing[reader] = left;
      if (left === 0) free.push(reader);
    }
  }
  if (free.length === operators.length) return;
  const cycle = cycleNames(operators, indexOf, missing);
  const count = cycle.length - 1;
  const named = count <= NAMED_MAX ? cycle : cycle.slice(0, NAMED_MAX);
  const more = count <= NAMED_MAX ? "" : ` → … (${count} in all)`;
  throw new SimulatorError(
    "CYCLE",
    `the operators ${named.map((name) => name.slice(0, 80)).join(" → ")}${more} wait for each other`,
    {
      operators: named,
      count,
    },
  );
}

/** Of a cycle, in an error. */
const NAMED_MAX = 8;

/** From any operator left, upstream through those left, until one comes up again. */
function cycleNames(
  operators: readonly DagOperator[],
  indexOf: ReadonlyMap<string, number>,
  missing: readonly number[],
): string[] {
  const isLeft = (name: string) => (missing[indexOf.get(name) as number] as number) > 0;
  const path: string[] = [];
  const positions = new Map<string, number>();
  let name: string | undefined = operators[missing.findIndex((count) => count > 0)]?.name;
  while (name !== undefined && !positions.has(name)) {
    positions.set(name, path.length);
    path.push(name);
    name = operators[indexOf.get(name) as number]?.inputs?.find(isLeft);
  }
  const cycle = name === undefined ? path : path.slice(positions.get(name));
  return [...cycle.reverse(), cycle[0] as string];
}
