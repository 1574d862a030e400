import type { SimulatedTransfer } from "@slicescheduler/simulator";
import fc from "fast-check";
import { expect, test } from "vitest";
import { worlds } from "../src/index.ts";
import { MiniMaster, type MiniWorld } from "./mini-master.ts";
import { type Rebuilt, rebuild } from "./rebuild.ts";

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

/** What the simulator says of everything that has not ended, beside what the executor did. */
function compare(master: MiniMaster, { nowNs, simulator, operators, transfers }: Rebuilt): void {
  for (const [issueNumber, operator] of operators) {
    const observed = { issueNumber, ...master.operators.get(issueNumber) };
    const simulated = { issueNumber, startNs: simulator.startNs(operator), doneNs: simulator.doneNs(operator) };
    expect(simulated).toEqual(observed);
  }
  const simulated = simulator.transfers();
  expect(simulated).toHaveLength(transfers.length);
  for (const [i, transfer] of transfers.entries()) {
    const { startNs = -1, doneNs, raisedNs } = master.transfers.get(transfer) ?? {};
    // One on its way counts as begun with the simulation.
    const observed = { transfer, raisedNs, startNs: Math.max(startNs, nowNs), doneNs };
    expect({ transfer, ...pickTimes(simulated[i]) }).toEqual(observed);
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
        const rebuilt = rebuild(master, 0, world.arbitration);
        const result = rebuilt.simulator.run();
        master.begin();
        master.time.run();
        expect(result.outcome).toBe("finished");
        expect(result.simulatedOperators).toBe(master.operators.size);
        expect(result.makespanNs).toBe(master.time.nowNs());
        compare(master, rebuilt);
        const observed = master.executor.stats().accelerators;
        observed.forEach(({ name, peakHbmBytes, busyNs }, a) => {
          const simulated = { name, peakHbmBytes: rebuilt.simulator.peakBytes(a), busyNs: rebuilt.simulator.busyNs(a) };
          expect(simulated).toEqual({ name, peakHbmBytes, busyNs });
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

test(
  "so does a simulation from the graph's state in the middle of a run",
  () => {
    let [cut, inFlight] = [0, 0];
    fc.assert(
      fc.property(miniWorlds, fc.nat({ max: 60 }), (world, events) => {
        const master = new MiniMaster(world);
        master.begin();
        for (let i = 0; i < events && master.time.step(); i++);
        while (endsNow(master) && master.time.step());
        const nowNs = master.time.nowNs();
        const before = master.executor.stats().accelerators;
        const rebuilt = rebuild(master, nowNs, world.arbitration);
        const result = rebuilt.simulator.run({ timeline: true });
        cut += rebuilt.operators.size > 0 ? 1 : 0;
        inFlight += rebuilt.transfers.some((number) => (master.transfers.get(number)?.startNs ?? -1) >= 0) ? 1 : 0;
        before.forEach(({ name, usedHbmBytes }, a) => {
          expect({ name, usedHbmBytes: rebuilt.simulator.hbmTimeline(a)[0]?.usedBytes }).toEqual({
            name,
            usedHbmBytes,
          });
        });
        master.time.run();
        expect(result.outcome).toBe("finished");
        expect(nowNs + result.makespanNs).toBe(master.time.nowNs());
        compare(master, rebuilt);
        master.executor.stats().accelerators.forEach(({ name, peakHbmBytes }, a) => {
          const peak = Math.max(rebuilt.simulator.peakBytes(a), before[a]?.peakHbmBytes ?? 0);
          expect({ name, peakHbmBytes: peak }).toEqual({ name, peakHbmBytes });
        });
      }),
      { numRuns },
    );
    // About one world in eight is cut while something moves; that fewer than one in fifty are would say that nothing is tested.
    expect(Math.min(cut, inFlight)).toBeGreaterThan(numRuns / 50);
  },
  timeoutMs,
);

/** Whether something still ends at this instant: a simulation begins behind the whole instant. */
function endsNow(master: MiniMaster): boolean {
  const nowNs = master.time.nowNs();
  for (const operator of master.graph.issuedOperators()) {
    if (operator.startedNs >= 0 && operator.startedNs + master.exactNs(operator) === nowNs) return true;
  }
  for (const { source, destination, tensor, sendingNs } of master.graph.transfers()) {
    if (sendingNs >= 0 && sendingNs + master.cluster.transferNs(source, destination, tensor.bytes) === nowNs)
      return true;
  }
  return false;
}
