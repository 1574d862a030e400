/**
 * The simulator equals the virtual executor: what the scheduler's own reconstruction makes of a graph, with exact durations and
 * exact memory, ends as the executor does, to the nanosecond and to the byte, at whatever instant a run is cut.
 */
import type { CompiledPartition, OperatorNode } from "@slicescheduler/gmg";
import { collectBatch, Reconstruction } from "@slicescheduler/scheduler";
import { type SimOperator, type SimulatedTransfer, Simulator } from "@slicescheduler/simulator";
import fc from "fast-check";
import { expect, test } from "vitest";
import { worlds } from "../src/index.ts";
import { MiniMaster, type MiniWorld } from "./mini-master.ts";

const numRuns = Number(process.env["WORLDS"] ?? 150);
const timeoutMs = 20_000 + numRuns * 200;

const miniWorlds: fc.Arbitrary<MiniWorld> = fc
  .record({
    world: worlds({ careless: false }),
    picks: fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 20 }),
  })
  .map(
    ({
      world: { cluster, templates, workload, durations = { tableNs: [1], perSymbolNs: 0 }, arbitration = {} },
      picks,
    }) => ({
      cluster,
      templates,
      workload,
      durations,
      arbitration,
      picks,
    }),
  );

/** A batch that is to be issued on a partition. */
interface Batch {
  readonly operators: readonly OperatorNode[];
  readonly partition: CompiledPartition;
}

/** What the scheduler's reconstruction of this moment comes to. */
class Prediction {
  readonly nowNs: number;
  readonly simulator: Simulator;
  readonly result;
  readonly transfersInFlight: number;
  readonly #master: MiniMaster;
  /** By issue number. */
  readonly #operators = new Map<number, SimOperator>();
  /** Numbers of the transfers, in the order in which the simulator has them. */
  readonly #transfers: readonly number[];

  constructor(master: MiniMaster, { arbitration }: MiniWorld, batch: Batch | null = null) {
    const { cluster, graph, topology } = master;
    const transferNs = cluster.transferNs.bind(cluster);
    const operatorNs = master.exactNs.bind(master);
    this.#master = master;
    this.nowNs = master.time.nowNs();
    this.simulator = new Simulator({ topology, transferNs, ...arbitration });
    const reconstruction = new Reconstruction(graph, { operatorNs, transferNs }, this.simulator, { memory: "exact" });
    reconstruction.begin(this.nowNs, batch?.operators ?? []);
    if (batch !== null) reconstruction.lay(batch.operators, batch.partition);
    this.result = this.simulator.run({ timeline: true });
    let next = graph.nextIssueNumber;
    for (const [handle, { issueNumber }] of reconstruction.operators())
      this.#operators.set(issueNumber < 0 ? next++ : issueNumber, handle);
    // What the batch plans is numbered behind.
    const known = reconstruction.transfers.map(({ number }) => number);
    this.transfersInFlight = reconstruction.transfers.filter(({ sendingNs }) => sendingNs >= 0).length;
    const first = master.nextTransferNumber;
    this.#transfers = this.simulator.transfers().map((_, at) => known[at] ?? first + at - known.length);
  }

  get operators(): number {
    return this.#operators.size;
  }

  /** Everything that had not ended, beside what the executor has done since. */
  compare(peaksBefore: readonly number[]): void {
    const { simulator, nowNs } = this;
    const { operators, transfers, time, executor } = this.#master;
    expect(this.result.outcome).toBe("finished");
    for (const [issueNumber, operator] of this.#operators) {
      const observed = { issueNumber, ...operators.get(issueNumber) };
      const simulated = { issueNumber, startNs: simulator.startNs(operator), doneNs: simulator.doneNs(operator) };
      expect(simulated).toEqual(observed);
    }
    const simulated = simulator.transfers();
    for (const [i, transfer] of this.#transfers.entries()) {
      const { startNs = -1, doneNs, raisedNs } = transfers.get(transfer) ?? {};
      // One on its way counts as begun with the simulation.
      const observed = { transfer, raisedNs, startNs: Math.max(startNs, nowNs), doneNs };
      expect({ transfer, ...pickTimes(simulated[i]) }).toEqual(observed);
    }
    expect(nowNs + this.result.makespanNs).toBe(time.nowNs());
    executor.stats().accelerators.forEach(({ name, peakHbmBytes, usedHbmBytes }, a) => {
      const peak = Math.max(simulator.peakBytes(a), peaksBefore[a] ?? 0);
      const used = simulator.hbmTimeline(a).at(-1)?.usedBytes;
      expect({ name, peakHbmBytes: peak, usedHbmBytes: used }).toEqual({ name, peakHbmBytes, usedHbmBytes });
    });
  }
}

function pickTimes({ raisedNs, startNs, doneNs }: Partial<SimulatedTransfer> = {}) {
  return { raisedNs, startNs, doneNs };
}

test(
  "a simulation of everything issued at 0 equals what the virtual executor does, to the nanosecond and to the byte",
  () => {
    let [operators, transfers] = [0, 0];
    fc.assert(
      fc.property(miniWorlds, (world) => {
        const master = new MiniMaster(world);
        const prediction = new Prediction(master, world);
        master.begin();
        master.time.run();
        expect(prediction.result.simulatedOperators).toBe(master.operators.size);
        prediction.compare([]);
        master.executor.stats().accelerators.forEach(({ name, busyNs }, a) => {
          expect({ name, busyNs: prediction.simulator.busyNs(a) }).toEqual({ name, busyNs });
        });
        operators += master.operators.size;
        transfers += master.transfers.size;
      }),
      { numRuns },
    );
    expect(Math.min(operators, transfers)).toBeGreaterThan(numRuns);
  },
  timeoutMs,
);

/** How a run goes on before it is cut. */
interface Way {
  readonly steps: number;
  /** Which operators are taken back then. */
  readonly recalls: readonly number[];
  /** Further steps. */
  readonly more: number;
}

function ways(stepsMax: number): fc.Arbitrary<Way> {
  return fc.record({
    steps: fc.nat({ max: stepsMax }),
    recalls: fc.oneof(fc.constant([]), fc.array(fc.nat({ max: 1000 }), { maxLength: 3 })),
    more: fc.nat({ max: stepsMax >> 2 }),
  });
}

/** Goes on to the end of an instant: a simulation begins behind the whole of it. */
function cut(master: MiniMaster, { steps, recalls, more }: Way): void {
  master.begin();
  for (let i = 0; i < steps && master.time.step(); i++);
  for (const pick of recalls) master.recall(pick);
  for (let i = 0; i < more && master.time.step(); i++);
  while (endsNow(master) && master.time.step());
}

function endsNow(master: MiniMaster): boolean {
  const nowNs = master.time.nowNs();
  for (const operator of master.graph.issuedOperators()) {
    const { startedNs, accelerator } = operator;
    if (startedNs >= 0 && startedNs + master.exactNs(operator, accelerator) === nowNs) return true;
  }
  for (const { source, destination, tensor, sendingNs } of master.graph.transfers()) {
    if (sendingNs >= 0 && sendingNs + master.cluster.transferNs(source, destination, tensor.bytes) === nowNs)
      return true;
  }
  return false;
}

/** What is in use at the cut is what the simulation begins with. */
function compareBegin({ simulator }: Prediction, before: readonly { name: string; usedHbmBytes: number }[]): void {
  before.forEach(({ name, usedHbmBytes }, a) => {
    expect({ name, usedHbmBytes: simulator.hbmTimeline(a)[0]?.usedBytes }).toEqual({ name, usedHbmBytes });
  });
}

test(
  "so does a simulation from the graph's state in the middle of a run",
  () => {
    let [cuts, inFlight] = [0, 0];
    fc.assert(
      fc.property(miniWorlds, ways(50), (world, way) => {
        const master = new MiniMaster(world);
        cut(master, way);
        const before = master.executor.stats().accelerators;
        const prediction = new Prediction(master, world);
        compareBegin(prediction, before);
        cuts += prediction.operators > 0 ? 1 : 0;
        inFlight += prediction.transfersInFlight > 0 ? 1 : 0;
        master.time.run();
        prediction.compare(before.map(({ peakHbmBytes }) => peakHbmBytes));
      }),
      { numRuns },
    );
    // About one world in eight is cut while something moves; that fewer than one in fifty are would say that nothing is tested.
    expect(Math.min(cuts, inFlight)).toBeGreaterThan(numRuns / 50);
  },
  timeoutMs,
);

test(
  "and one of a batch laid over that state, if it is issued then",
  () => {
    let [laid, overlays] = [0, 0];
    fc.assert(
      fc.property(
        miniWorlds,
        ways(8),
        fc.record({ first: fc.nat({ max: 12 }), most: fc.integer({ min: 1, max: 6 }) }),
        (world, way, { first, most }) => {
          const master = new MiniMaster(world, first);
          cut(master, way);
          const choice = master.choose();
          if (choice === undefined) return;
          const { partition } = choice;
          const operators = collectBatch(choice.operator, most);
          const before = master.executor.stats().accelerators;
          const prediction = new Prediction(master, world, { operators, partition });
          master.give(operators, partition);
          master.time.run();
          prediction.compare(before.map(({ peakHbmBytes }) => peakHbmBytes));
          laid += 1;
          overlays += prediction.operators > operators.length ? 1 : 0;
        },
      ),
      { numRuns },
    );
    expect(Math.min(laid, overlays)).toBeGreaterThan(numRuns / 30);
  },
  timeoutMs,
);
