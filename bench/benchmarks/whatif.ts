/**
 * A scheduling round: the state of a cluster is declared once, 13 candidates of 8 operators are laid over it and run. Every
 * accelerator has l = 3 operators issued, pairs of accelerators pass results on, and some operators run already.
 */
import {
  type AcceleratorState,
  type SimOperator,
  type SimTensor,
  Simulator,
  type SimulatorOptions,
} from "@slicescheduler/simulator";
import { Round, RoundEvaluator, SimulatorPool } from "@slicescheduler/simulator/pool";
import type { Measure } from "../measurement.ts";
import { w1TransferNs } from "../w1.ts";

const CANDIDATES = 13;
const BATCH = 8;
const HORIZON = 3;

/** Beside the caller's thread. */
const WORKERS = [1, 2];
/** Also far more candidates than a scheduler lays: where a pool would have to pay, if anywhere. */
const POOL_CANDIDATES = [CANDIDATES, 16 * CANDIDATES];

/** What a state and its candidates are declared to. */
type Declared = Pick<Simulator, "begin" | "addTensor" | "addOperator" | "addInput" | "addOutput" | "setRunning">;

export const measure: Measure = async () => {
  const points = [8, 64, 256, 1024].map((accelerators) => measurePoint(accelerators));
  const lines = points.map(
    (it) =>
      `${it.accelerators} accelerators: ${it.roundUs} µs per round, ${it.candidatesPerSecond} candidates/s; ` +
      `state ${it.shareReconstruction} %, overlay ${it.shareOverlay} %, advance ${it.shareAdvance} %; ` +
      `${it.decidedOpsPerMs} operators/ms decided on; ${it.allocatedBytesPerRound} bytes allocated per round, ${it.allocatedBytesPerRun} per run that is planned`,
  );
  const pool: PoolPoint[] = [];
  for (const accelerators of [8, 64, 256, 1024]) pool.push(...(await measurePool(accelerators)));
  for (const it of pool) {
    const pools = it.pools.map(({ workers, usPerRound }) => `${workers} → ${usPerRound}`).join(", ");
    lines.push(
      `${it.accelerators} accelerators, ${it.candidates} candidates: ${it.usSimulator} µs per round as calls of one simulator, ` +
        `${it.usEvaluator} written down (${it.usWriting}) and evaluated on one thread; pool, workers → µs: ${pools}; ` +
        `best pool ${it.bestPoolRatio} × one simulator: ${it.bestPoolRatio < 1 ? "pays" : "does not pay"}`,
    );
  }
  return { text: lines.join("\n"), json: { points, pool } };
};

function optionsOf(accelerators: number): SimulatorOptions {
  return {
    topology: {
      accelerators,
      portCapacity: new Array<number>(accelerators).fill(1),
      linkCapacity: [],
      route: () => [],
    },
    transferNs: (_source, _destination, bytes) => w1TransferNs(bytes),
  };
}

function statesOf(accelerators: number): readonly AcceleratorState[] {
  return new Array<AcceleratorState>(accelerators).fill({
    capacityBytes: 2 ** 52,
    fixedBytes: 0,
    granularityBytes: 512,
  });
}

function measurePoint(accelerators: number) {
  const rounds = Math.max(30, Math.round(20_000 / accelerators));
  const plain = timeRounds(accelerators, rounds);
  const { reconstruction, overlay, advance } = shareRounds(accelerators, rounds);
  const share = (us: number) => Math.round((100 * us) / (reconstruction + overlay + advance));
  return {
    accelerators,
    candidates: CANDIDATES,
    operators: accelerators * HORIZON,
    roundUs: plain.medianUs,
    candidatesPerSecond: Math.round((1e6 * CANDIDATES) / plain.medianUs),
    /** Operators that each decision took into account, also those whose times are known from the base's run, per ms of the round. */
    decidedOpsPerMs: Math.round((1000 * plain.operatorsPerRound) / plain.medianUs),
    shareReconstruction: share(reconstruction),
    shareOverlay: share(overlay),
    shareAdvance: share(advance),
    ...allocations(accelerators),
  };
}

/** Rounds as a scheduler makes them. */
function timeRounds(accelerators: number, rounds: number): { medianUs: number; operatorsPerRound: number } {
  const simulator = new Simulator(optionsOf(accelerators));
  const states = statesOf(accelerators);
  const times: number[] = [];
  let operators = 0;
  for (let round = 0; round < 2 * rounds; round++) {
    if (round === rounds) times.length = operators = 0;
    const begun = performance.now();
    operators += runRound(simulator, states, round, CANDIDATES, true).operators;
    times.push(performance.now() - begun);
  }
  return { medianUs: medianUs(times), operatorsPerRound: operators / rounds };
}

/**
 * The same rounds with every run made twice: the second time everything is planned already, so it is all advance. The rest of the
 * first is planning: of the base, which is reconstruction together with its declaration, or of an overlay. Only the shares mean something, since the
 * runs that were added warm the caches. Medians of rounds.
 */
function shareRounds(accelerators: number, rounds: number) {
  const simulator = new Simulator(optionsOf(accelerators));
  const states = statesOf(accelerators);
  const times = { reconstruction: [] as number[], overlay: [] as number[], advance: [] as number[] };
  for (let round = 0; round < 2 * rounds; round++) {
    if (round === rounds) for (const each of Object.values(times)) each.length = 0;
    const spent = { reconstruction: 0, overlay: 0, advance: 0 };
    const run = (kind: "reconstruction" | "overlay", begunMs: number, abandonAboveScore: number) => {
      const { scoreNs } = simulator.run({ abandonAboveScore });
      const firstMs = performance.now();
      simulator.run({ abandonAboveScore });
      const advanceMs = performance.now() - firstMs;
      spent.advance += advanceMs;
      spent[kind] += firstMs - begunMs - advanceMs;
      return scoreNs;
    };
    const begun = performance.now();
    const passed = declareState(simulator, states, round);
    simulator.mark();
    run("reconstruction", begun, Number.POSITIVE_INFINITY);
    let best = Number.POSITIVE_INFINITY;
    for (let candidate = 0; candidate < CANDIDATES; candidate++) {
      const laying = performance.now();
      simulator.rewind();
      layCandidate(simulator, passed, accelerators, round, candidate);
      best = Math.min(best, run("overlay", laying, best));
    }
    times.reconstruction.push(spent.reconstruction);
    times.overlay.push(spent.overlay);
    times.advance.push(spent.advance);
  }
  return {
    reconstruction: medianUs(times.reconstruction),
    overlay: medianUs(times.overlay),
    advance: medianUs(times.advance),
  };
}

/** Returns a result per accelerator that the candidates go on from. */
function declareState(simulator: Declared, states: readonly AcceleratorState[], round: number): readonly SimTensor[] {
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
  simulator: Declared,
  passed: readonly SimTensor[],
  accelerators: number,
  round: number,
  candidate: number,
): void {
  const first = 2 * ((round + candidate * 5) % (accelerators / 2));
  let input = passed[round % accelerators] as SimTensor;
  for (let each = 0; each < BATCH; each++) {
    const accelerator = first + (each < BATCH / 2 ? 0 : 1);
    const operator = simulator.addOperator(accelerator, 900_000 + 1000 * candidate, 0, 1_000_000 + each, 1 << 20);
    simulator.addInput(operator, input);
    input = simulator.addOutput(operator, 1 << 20, false);
  }
}

interface PoolPoint {
  readonly accelerators: number;
  readonly candidates: number;
  /** Median µs per round, all of them measured in turns. Without a bound, so that all do the same work. */
  readonly usSimulator: number;
  readonly usWriting: number;
  readonly usEvaluator: number;
  readonly pools: readonly { readonly workers: number; readonly usPerRound: number }[];
  /** The faster pool ÷ one simulator. */
  readonly bestPoolRatio: number;
}

/** One simulator, and the same round written down: on one thread, and on pools. */
async function measurePool(accelerators: number): Promise<PoolPoint[]> {
  const options = optionsOf(accelerators);
  const simulator = new Simulator(options);
  const evaluator = new RoundEvaluator(options);
  const written = new Round(options);
  const pools = WORKERS.map((workers) => new SimulatorPool({ ...options, workers }));
  const states = statesOf(accelerators);
  const points: PoolPoint[] = [];
  for (const candidates of POOL_CANDIDATES) {
    const rounds = Math.max(20, Math.round(200_000 / accelerators / candidates));
    const spent = { simulator: [] as number[], writing: [] as number[], evaluator: [] as number[] };
    const inPool = pools.map(() => [] as number[]);
    for (let round = -rounds; round < rounds; round++) {
      if (round === 0) for (const times of [...Object.values(spent), ...inPool]) times.length = 0;
      const at = round + rounds;
      let begun = performance.now();
      const { best } = runRound(simulator, states, at, candidates, false);
      spent.simulator.push(performance.now() - begun);
      begun = performance.now();
      writeRound(written, states, at, candidates);
      const writing = performance.now() - begun;
      spent.writing.push(writing);
      const expected = evaluator.evaluate(written).best;
      spent.evaluator.push(performance.now() - begun);
      if (expected !== best) throw new Error(`the evaluator chose ${expected}, the simulator ${best}`);
      for (const [index, pool] of pools.entries()) {
        begun = performance.now();
        const { best: chosen } = await pool.evaluate(written);
        inPool[index]?.push(writing + performance.now() - begun);
        if (chosen !== best) throw new Error(`the pool chose ${chosen}, the simulator ${best}`);
      }
    }
    const usPools = inPool.map(medianUs);
    points.push({
      accelerators,
      candidates,
      usSimulator: medianUs(spent.simulator),
      usWriting: medianUs(spent.writing),
      usEvaluator: medianUs(spent.evaluator),
      pools: WORKERS.map((workers, index) => ({ workers, usPerRound: usPools[index] ?? Number.NaN })),
      bestPoolRatio: Number((Math.min(...usPools) / medianUs(spent.simulator)).toFixed(2)),
    });
  }
  await Promise.all(pools.map((pool) => pool.close()));
  return points;
}

function medianUs(times: readonly number[]): number {
  return Math.round(1000 * ([...times].sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN));
}

/** Returns the best candidate, the first of equal ones, and the operators simulated. @param stopsEarly Hopeless candidates are abandoned. */
function runRound(
  simulator: Simulator,
  states: readonly AcceleratorState[],
  round: number,
  candidates: number,
  stopsEarly: boolean,
): { best: number; operators: number } {
  const passed = declareState(simulator, states, round);
  simulator.mark();
  let best = -1;
  let bestNs = Number.POSITIVE_INFINITY;
  let operators = 0;
  for (let candidate = 0; candidate < candidates; candidate++) {
    simulator.rewind();
    layCandidate(simulator, passed, states.length, round, candidate);
    const abandonAboveScore = stopsEarly ? bestNs : Number.POSITIVE_INFINITY;
    const { scoreNs, simulatedOperators } = simulator.run({ abandonAboveScore });
    operators += simulatedOperators;
    if (scoreNs >= bestNs) continue;
    best = candidate;
    bestNs = scoreNs;
  }
  return { best, operators };
}

function writeRound(to: Round, states: readonly AcceleratorState[], round: number, candidates: number): void {
  const passed = declareState(to, states, round);
  for (let candidate = 0; candidate < candidates; candidate++) {
    to.candidate();
    layCandidate(to, passed, states.length, round, candidate);
  }
}

/**
 * Bytes taken from the heap. `PerRun`: by a run that is planned, of which the event loop takes none and the rest, whatever the size, is
 * its result; `PerRound`: by a whole round, most of it by the benchmark's own lists and by numbers handed to `transferNs` and back. Means of many
 * repetitions; the least of several, so that a collection in between does not count.
 */
function allocations(accelerators: number) {
  const simulator = new Simulator(optionsOf(accelerators));
  const states = statesOf(accelerators);
  const rounds = Math.max(20, Math.round(2_000 / accelerators));
  for (let round = 0; round < 2 * rounds; round++) runRound(simulator, states, round, CANDIDATES, true);
  const allocatedBytesPerRound = allocatedBytes(rounds, (round) =>
    runRound(simulator, states, round, CANDIDATES, true),
  );
  runRound(simulator, states, 0, CANDIDATES, false);
  return { allocatedBytesPerRound, allocatedBytesPerRun: allocatedBytes(2_000, () => simulator.run()) };
}

function allocatedBytes(repetitions: number, once: (index: number) => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < 20; sample++) {
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < repetitions; index++) once(index);
    const grownBytes = process.memoryUsage().heapUsed - before;
    if (grownBytes >= 0) least = Math.min(least, grownBytes);
  }
  return Math.round(least / repetitions);
}
