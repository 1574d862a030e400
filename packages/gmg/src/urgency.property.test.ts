import { GmgError, type OperatorNode } from "@slicescheduler/gmg";
import fc from "fast-check";
import { expect, test } from "vitest";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

/** Two operators in a row, of which the first reads up to three earlier results and the second passes one on. */
const pass = of([{ inputs: ["x", "y", "z"] }, { inputs: ["op0.o"] }], {
  symbols: ["nx", "ny", "nz"],
  inputs: { x: u8("nx"), y: u8("ny"), z: u8("nz") },
  outputs: { inner: "op0.o", o: "op1.o" },
  partitions: ["a", "b"].map((name) => ({ name, accelerators: [name], layout: [0, 0] })),
});

const step = fc.record({
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constant("submit" as const) },
    { weight: 2, arbitrary: fc.constant("run" as const) },
    { weight: 2, arbitrary: fc.constant("issue" as const) },
    { weight: 2, arbitrary: fc.constant("cancel" as const) },
    { weight: 1, arbitrary: fc.constant("fail" as const) },
    { weight: 2, arbitrary: fc.constant("promote" as const) },
    { weight: 1, arbitrary: fc.constant("lose" as const) },
  ),
  pick: fc.nat(1 << 20),
  reads: fc.array(fc.nat(7), { maxLength: 3 }),
  rank: fc.option(fc.nat(4), { freq: 3 }),
  deadlineNs: fc.option(fc.nat(3), { freq: 2 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What was submitted, and what each operator reads, as the test itself knows it. */
class Known {
  readonly playground = new Playground({ hbmBytes: 1_000_000 }, false);
  readonly graph = this.playground.graph;
  readonly operators: OperatorNode[] = [];
  readonly readersOf = new Map<OperatorNode, OperatorNode[]>();
  readonly promoted = new Map<OperatorNode, number>();
  readonly request: number;

  constructor() {
    this.graph.registerTemplate(pass);
    this.request = this.playground.open({ rank: 3, deadlineNs: 2 });
  }

  take(next: Step): void {
    const { graph, playground } = this;
    const live = this.operators.filter((each) => isLive(this.now(each)));
    const operator = live[next.pick % Math.max(1, live.length)];
    if (next.kind === "submit") this.#submit(next);
    else if (next.kind === "run") playground.run(1 + (next.pick % 3));
    else if (next.kind === "issue") {
      for (const each of [...graph.unscheduledFrontier].slice(0, 2)) playground.issue(each);
    } else if (next.kind === "lose") {
      graph.loseAccelerator(next.pick % 2, 0);
      graph.returnAccelerator(next.pick % 2);
    } else if (operator === undefined) return;
    else if (next.kind === "cancel") graph.cancel(operator.instance.id, 0);
    else if (next.kind === "promote") {
      const rank = next.pick % 5;
      if (graph.promote(this.now(operator), rank)) this.promoted.set(operator, rank);
    } else if (this.now(operator).state === "issued") graph.operatorFailed(this.now(operator), 0);
    this.#withdraw();
    // A promotion ends with the instance, also where that has to run again.
    for (const each of this.promoted.keys()) if (this.now(each).instance.state !== "live") this.promoted.delete(each);
  }

  /** An instance that had left the graph and runs again has new nodes. */
  now(operator: OperatorNode): OperatorNode {
    return this.graph.instance(operator.instance.id)?.operators[operator.index] ?? operator;
  }

  /** The most urgent of the operator and all that needs its results, over whatever paths, found one by one. */
  urgencyOf(first: OperatorNode): readonly [number, number] {
    const found = new Set([first]);
    for (const each of found)
      for (const reader of this.readersOf.get(each) ?? []) if (isLive(this.now(reader))) found.add(reader);
    const [most = [0, 0]] = [...found]
      .map((each): [number, number] => {
        const { instance } = this.now(each);
        const rank = Math.min(instance.rank, this.promoted.get(each) ?? Number.POSITIVE_INFINITY);
        return [rank, instance.deadlineNs];
      })
      .sort(([a, x], [b, y]) => a - b || x - y || 0);
    return most;
  }

  #submit({ pick, reads, rank, deadlineNs }: Step): void {
    const sources = this.operators
      .filter(({ outputs }) => outputs[0]?.retained === true)
      .reverse()
      .filter((_, at) => reads.includes(at))
      .slice(0, 3);
    const inputs = sources.map(
      ({ instance, index }, i) =>
        ["xyz"[i] as string, { instance: instance.id, output: index === 0 ? "inner" : "o" }] as const,
    );
    const [nx, ny, nz] = [0, 1, 2].map((i) => (i < inputs.length ? 8 : 0));
    const more = { ...(rank === null ? {} : { rank }), ...(deadlineNs === null ? {} : { deadlineNs }) };
    try {
      const { operators } = this.playground.submit(this.request, {
        symbols: { nx: nx ?? 0, ny: ny ?? 0, nz: nz ?? 0 },
        inputs: Object.fromEntries(inputs),
        retain: pick % 4 === 0 ? ["o"] : ["o", "inner"],
        ...more,
      });
      const [head, tail] = operators as [OperatorNode, OperatorNode];
      this.operators.push(head, tail);
      this.readersOf.set(head, [tail]);
      this.readersOf.set(tail, []);
      for (const source of sources) this.readersOf.get(source)?.push(head);
    } catch (error) {
      if (!(error instanceof GmgError)) throw error;
    }
  }

  /** An executor that gives back at once what it is asked for. */
  #withdraw(): void {
    for (let { withdrawals } = this.graph.takeEffects(); withdrawals.length > 0; ) {
      for (const issueNumber of withdrawals) {
        const operator = this.graph.issued(issueNumber);
        if (operator !== undefined) this.graph.operatorWithdrawn(operator, 0);
      }
      ({ withdrawals } = this.graph.takeEffects());
    }
  }
}

function isLive({ state }: OperatorNode): boolean {
  return state === "unscheduled" || state === "issued";
}

test("across many instances that read each other's results, every operator is as urgent as the most urgent that needs it", () => {
  let inherited = 0;
  let fell = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 50, size: "max" }), (steps) => {
      const known = new Known();
      for (const next of steps) {
        const before = known.operators.map((each) => known.now(each).rank);
        known.take(next);
        known.graph.validate();
        for (const [i, each] of known.operators.entries()) {
          const operator = known.now(each);
          if (!isLive(operator)) continue;
          expect([operator.rank, operator.deadlineNs]).toEqual(known.urgencyOf(each));
          if (operator.rank < operator.ownRank) inherited += 1;
          if (operator.rank > (before[i] ?? operator.rank)) fell += 1;
        }
      }
      for (const { instance } of known.operators) known.graph.cancel(instance.id, 0);
      known.take({ kind: "run", pick: 0, reads: [], rank: null, deadlineNs: null });
      for (const { instance } of known.operators) {
        for (const output of ["o", "inner"]) known.graph.releaseOutput(instance.id, output);
      }
      known.graph.closeRequest(known.request);
      expect(known.graph.counts()).toEqual(EMPTY);
    }),
    { numRuns: Number(process.env["RUNS"] ?? 40) },
  );
  expect(inherited).toBeGreaterThan(50);
  expect(fell).toBeGreaterThan(10);
  if (process.env["RUNS"] !== undefined) console.log({ inherited, fell });
});
