/**
 * A scheduling round: the state of a cluster is declared once, 13 candidates of 8 operators are laid over it and run. Every
 * accelerator has l = 3 operators issued, pairs of accelerators pass results on, and some operators run already.
 */
import { type AcceleratorState, type SimOperator, type SimTensor, Simulator } from "@slicescheduler/simulator";
import type { Measure } from "../measurement.ts";
import { w1TransferNs } from "../w1.ts";

const CANDIDATES = 13;
const BATCH = 8;
const HORIZON = 3;

export const measure: Measure = () => {
  const points = [8, 64, 256, 1024].map((accelerators) => measurePoint(accelerators));
  const lines = points.map(
    (it) =>
      `${it.accelerators} accelerators: ${it.usPerRound} µs per round, ${it.candidatesPerSecond} candidates/s; ` +
      `state ${it.shareReconstruction} %, overlay ${it.shareOverlay} %, advance ${it.shareAdvance} %; ` +
      `${it.decidedOpsPerMs} operators/ms decided on; ${it.bytesPerRound} bytes allocated per round, ${it.bytesPerAdvance} per run`,
  );
  return { text: lines.join("\n"), json: { points, pool: null } };
};

function newSimulator(accelerators: number): Simulator {
  return new Simulator({
    topology: {
      accelerators,
      portCapacity: new Array<number>(accelerators).fill(1),
      linkCapacity: [],
      route: () => [],
    },
    transferNs: (_source, _destination, bytes) => w1TransferNs(bytes),
  });
}

function measurePoint(accelerators: number) {
  const simulator = newSimulator(accelerators);
  const states = new Array<AcceleratorState>(accelerators).fill({
    capacityBytes: 2 ** 52,
    fixedBytes: 0,
    granularityBytes: 512,
  });
  const rounds = Math.max(30, Math.round(20_000 / accelerators));
  const spent = { reconstruction: 0, overlay: 0, advance: 0 };
  const totals: number[] = [];
  let simulated = 0;
  for (let round = 0; round < 2 * rounds; round++) {
    if (round === rounds) {
      spent.reconstruction = spent.overlay = spent.advance = simulated = totals.length = 0;
    }
    const begun = performance.now();
    const passed = declareState(simulator, states, round);
    simulator.mark();
    // The base is planned, and run, with the first candidate; an empty one takes that upon itself.
    simulator.run();
    const declared = performance.now();
    spent.reconstruction += declared - begun;
    let best = Number.POSITIVE_INFINITY;
    let counted = declared;
    for (let candidate = 0; candidate < CANDIDATES; candidate++) {
      layCandidate(simulator, passed, accelerators, round, candidate);
      const { scoreNs, simulatedOperators } = simulator.run({ abandonAboveScore: best });
      best = Math.min(best, scoreNs);
      simulated += simulatedOperators;
      const laid = performance.now();
      // The same once more, planned already: what of it was the run.
      simulator.run({ abandonAboveScore: best });
      const again = performance.now();
      spent.advance += again - laid;
      spent.overlay += Math.max(0, laid - counted - (again - laid));
      counted = performance.now();
    }
    totals.push(declared - begun);
  }
  const totalMs = spent.reconstruction + spent.overlay + spent.advance;
  const share = (ms: number) => Math.round((100 * ms) / totalMs);
  return {
    accelerators,
    operators: accelerators * HORIZON,
    usPerRound: Math.round((1000 * totalMs) / rounds),
    candidatesPerSecond: Math.round((1000 * rounds * CANDIDATES) / totalMs),
    /** Operators that each decision took into account, also those whose times are known from the base's run, per ms of the round. */
    decidedOpsPerMs: Math.round(simulated / totalMs),
    shareReconstruction: share(spent.reconstruction),
    shareOverlay: share(spent.overlay),
    shareAdvance: share(spent.advance),
    ...allocations(accelerators, states),
  };
}

/** Returns a result per accelerator that the candidates go on from. */
function declareState(simulator: Simulator, states: readonly AcceleratorState[], round: number): readonly SimTensor[] {
  simulator.begin(round * 1000, states);
  const passed: SimTensor[] = [];
  let issueNumber = 0;
  for (let pair = 0; pair < states.length; pair += 2) {
    let input: SimTensor | -1 = -1;
    for (let each = 0; each < 2 * HORIZON; each++) {
      const accelerator = pair + (each < HORIZON ? 0 : 1);
      const durationNs = 1_000_000 + ((pair * 7919 + each * 104_729 + round * 31) % 500_000);
      const operator: SimOperator = simulator.addOperator(accelerator, durationNs, 0, issueNumber++, 1 << 20);
      if (input === -1) simulator.setRunning(operator, durationNs >> 1);
      else simulator.addInput(operator, input);
      input = simulator.addOutput(operator, 1 << 20, false);
      if (each % HORIZON === HORIZON - 1) passed.push(simulator.addTensor(accelerator, 1 << 24, true));
    }
  }
  return passed;
}

/** A chain over a pair of accelerators, which starts with a result of another. */
function layCandidate(
  simulator: Simulator,
  passed: readonly SimTensor[],
  accelerators: number,
  round: number,
  candidate: number,
): void {
  simulator.rewind();
  const first = 2 * ((round + candidate * 5) % (accelerators / 2));
  let input = passed[round % accelerators] as SimTensor;
  for (let each = 0; each < BATCH; each++) {
    const accelerator = first + (each < BATCH / 2 ? 0 : 1);
    const operator = simulator.addOperator(accelerator, 900_000 + 1000 * candidate, 0, 1_000_000 + each, 1 << 20);
    simulator.addInput(operator, input);
    input = simulator.addOutput(operator, 1 << 20, false);
  }
}

/** Heap that grows in a round, and in a run that is planned; the least of several, without a collection in between. */
function allocations(accelerators: number, states: readonly AcceleratorState[]) {
  const simulator = newSimulator(accelerators);
  const perRound: number[] = [];
  const perAdvance: number[] = [];
  for (let round = 0; round < 40; round++) {
    const before = process.memoryUsage().heapUsed;
    const passed = declareState(simulator, states, round);
    simulator.mark();
    for (let candidate = 0; candidate < CANDIDATES; candidate++) {
      layCandidate(simulator, passed, accelerators, round, candidate);
      simulator.run();
    }
    const between = process.memoryUsage().heapUsed;
    for (let run = 0; run < CANDIDATES; run++) simulator.run();
    const after = process.memoryUsage().heapUsed;
    if (between >= before) perRound.push(between - before);
    if (after >= between) perAdvance.push((after - between) / CANDIDATES);
  }
  return { bytesPerRound: Math.min(...perRound), bytesPerAdvance: Math.round(Math.min(...perAdvance)) };
}
