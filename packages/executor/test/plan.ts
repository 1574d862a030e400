import type { ClusterSpec, TemplateSpec } from "@slicescheduler/templates";
import fc from "fast-check";
import type { ExecutorInstruction, IssueInstruction } from "../src/index.ts";

export interface PlannedOperator {
  readonly accelerator: number;
  readonly rank: number;
  readonly durationNs: number;
  readonly workspaceBytes: number;
  /** Tensors; each is made by an operator before this one. */
  readonly inputs: readonly number[];
  readonly outputs: readonly { readonly tensor: number; readonly bytes: number; readonly aliases: number | null }[];
}

/** Operators in the order of their issue numbers; operator i is the template operator i of instance 0. */
export interface Plan {
  readonly accelerators: number;
  readonly granularityBytes: number;
  readonly operators: readonly PlannedOperator[];
}

export interface PlannedTransfer {
  readonly transfer: number;
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
}

const pick = fc.nat({ max: 1 << 20 });

/** Random layouts of random graphs. Times are short, so that many things happen at once. */
export const plans: fc.Arbitrary<Plan> = fc
  .record({
    accelerators: fc.integer({ min: 1, max: 4 }),
    granularityBytes: fc.constantFrom(1, 64),
    drawn: fc.array(
      fc.record({
        accelerator: pick,
        rank: fc.nat({ max: 2 }),
        durationNs: fc.integer({ min: 1, max: 6 }),
        workspaceBytes: fc.nat({ max: 200 }),
        inputs: fc.array(pick, { maxLength: 3 }),
        outputs: fc.array(fc.record({ bytes: fc.nat({ max: 500 }), aliases: fc.option(pick) }), { maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 16 },
    ),
  })
  .map(({ accelerators, granularityBytes, drawn }) => {
    let tensors = 0;
    const continued = new Set<number>();
    const operators = drawn.map((operator) => {
      const inputs = tensors === 0 ? [] : [...new Set(operator.inputs.map((input) => input % tensors))];
      const outputs = operator.outputs.map(({ bytes, aliases }, index) => {
        const input = aliases === null ? undefined : inputs[aliases % Math.max(inputs.length, 1)];
        const fresh = input !== undefined && !continued.has(input);
        if (fresh) continued.add(input);
        return { tensor: tensors + index, bytes, aliases: fresh ? input : null };
      });
      tensors += outputs.length;
      return { ...operator, accelerator: operator.accelerator % accelerators, inputs, outputs };
    });
    return { accelerators, granularityBytes, operators };
  });

export function clusterOf(plan: Plan, hbmBytes = 1_000_000): ClusterSpec {
  return {
    accelerators: Array.from({ length: plan.accelerators }, (_, index) => ({
      name: `a${index}`,
      kind: "k",
      hbmBytes,
      granularityBytes: plan.granularityBytes,
    })),
    defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
  };
}

/** A template with as many operators as the plan; instructions carry shapes and edges themselves. */
export function templateOf(plan: Plan): TemplateSpec {
  return {
    name: "plan",
    symbols: [],
    operators: plan.operators.map((_, index) => ({
      name: `o${index}`,
      outputs: { out: { shape: [1], dtype: "int8" as const } },
    })),
    outputs: {},
    partitions: [{ name: "one", accelerators: ["a0"], layout: plan.operators.map(() => 0) }],
  };
}

/** What a master would plan: a transfer for each input made elsewhere, one per tensor and destination. */
export function issuesOf(plan: Plan): { issues: IssueInstruction[]; transfers: PlannedTransfer[] } {
  const madeOn = new Map<number, number>();
  const transfers: PlannedTransfer[] = [];
  const issues = plan.operators.map((operator, index): IssueInstruction => {
    const destination = operator.accelerator;
    const inputs = operator.inputs.map((tensor) => {
      const source = madeOn.get(tensor) ?? -1;
      if (source === destination) return { tensor, transfer: null, source };
      let planned = transfers.find((other) => other.tensor === tensor && other.destination === destination);
      if (planned === undefined) {
        planned = { transfer: transfers.length, tensor, source, destination };
        transfers.push(planned);
      }
      return { tensor, transfer: planned.transfer, source };
    });
    for (const { tensor } of operator.outputs) madeOn.set(tensor, destination);
    return {
      type: "issue",
      issueNumber: index,
      accelerator: destination,
      instance: 0,
      template: "plan",
      operator: index,
      symbols: {},
      rank: operator.rank,
      activated: true,
      inputs,
      outputs: operator.outputs,
      workspaceBytes: operator.workspaceBytes,
    };
  });
  return { issues, transfers };
}

/** Releases of every copy that the plan will ever make. */
export function releasesOf(plan: Plan): ExecutorInstruction[] {
  const made = plan.operators.flatMap(({ accelerator, outputs }) =>
    outputs.map(({ tensor }) => ({ tensor, accelerator })),
  );
  const copies = issuesOf(plan).transfers.map(({ tensor, destination }) => ({ tensor, accelerator: destination }));
  return [...made, ...copies].map((copy) => ({ type: "release", ...copy }));
}

/** The plan and then the same once more, with tensors of its own. */
export function twice(plan: Plan): Plan {
  const tensors = plan.operators.reduce((sum, { outputs }) => sum + outputs.length, 0);
  const again = plan.operators.map((operator) => ({
    ...operator,
    inputs: operator.inputs.map((tensor) => tensor + tensors),
    outputs: operator.outputs.map(({ tensor, bytes, aliases }) => ({
      tensor: tensor + tensors,
      bytes,
      aliases: aliases === null ? null : aliases + tensors,
    })),
  }));
  return { ...plan, operators: [...plan.operators, ...again] };
}

/** Nanoseconds of a transfer in these tests. */
export function sendNs(bytes: number): number {
  return 1 + (bytes % 5);
}
