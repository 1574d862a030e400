import type { Violation } from "../violation.ts";
import type { NewArbiter } from "./arbiter-twin.ts";
import { type CoupledInput, CoupledMachine, type CoupledOutput } from "./coupled-machine.ts";
import type { DeviceInfo } from "./device.ts";
import { deviceMoves } from "./executor-machine.ts";
import { MachineTable } from "./machine-table.ts";
import { faultsAtMaster, type MasterInfo } from "./master-machine.ts";
import type { SmallWorld } from "./small-world.ts";
import { everyChoice, type Look, type Move, outcomesLeft, type System, type SystemCounts } from "./system.ts";

/** Master and executor without anything between them: one machine, the script and the faults. */
export class CoupledSystem implements System {
  readonly width = 3;
  readonly first: readonly number[];
  readonly machines: MachineTable<CoupledInput, CoupledOutput, MasterInfo & DeviceInfo, CoupledMachine>;
  readonly #world: SmallWorld;
  readonly #instances: number;

  constructor(world: SmallWorld, newArbiter: NewArbiter | null) {
    this.#world = world;
    this.#instances = world.script.flat().filter(({ type }) => type === "instanceSubmitted").length;
    this.machines = new MachineTable(() => new CoupledMachine(world, newArbiter));
    this.first = [0, 0, world.fault === null ? 0 : 1];
  }

  movesFrom([machine = 0, asked = 0, faults = 0]: readonly number[]): readonly Move[] {
    const { script } = this.#world;
    const info = this.machines.info(machine);
    const moves: Move[] = [];
    const part = script[asked];
    if (part !== undefined) moves.push(...this.#moves(machine, { type: "asks", events: part }, [asked + 1, faults]));
    for (const { move, isFault } of deviceMoves(info, this.#world, faults > 0))
      moves.push(...this.#moves(machine, move, [asked, faults - (isFault ? 1 : 0)]));
    if (faults === 0) return moves;
    for (const event of faultsAtMaster(info, this.#world))
      moves.push(...this.#moves(machine, { type: "asks", events: [event] }, [asked, faults - 1]));
    return moves;
  }

  whatIsLeft([machine = 0, asked = 0]: readonly number[]): Violation | null {
    const { running, sending, outcomes, left, inMaster } = this.machines.info(machine);
    if (asked < this.#world.script.length || running.length + sending.length > 0) return null;
    const violation = outcomesLeft(outcomes, this.#instances);
    if (violation !== null) return violation;
    if (left !== null) return { kind: "leakedBytes", words: left, amount: 1 };
    if (inMaster === 0) return null;
    return {
      kind: "broken",
      words: `everything has ended, and ${inMaster} things are left in the graph`,
      amount: inMaster,
    };
  }

  compare(): Violation | null {
    return this.machines.compare();
  }

  lookAt([machine = 0]: readonly number[]): Look {
    const { master, device } = this.machines.machineAt(machine);
    return { master: master.core, device, instructions: [], events: [] };
  }

  counts(): SystemCounts {
    const { states, steps, applied, compared } = this.machines;
    return { machineStates: states, machineSteps: steps, machineInputs: applied, compared };
  }

  #moves(machine: number, move: CoupledInput["move"], rest: readonly number[]): Move[] {
    const results = everyChoice((picks) => {
      const step = this.machines.step(machine, { move, picks });
      return { step, choices: step.output?.choices ?? [] };
    });
    return results.map(({ step: { next, output, violation } }) => ({
      next: next < 0 || violation !== null ? null : [next, ...rest],
      violation,
      cause: move,
      effects: output?.effects ?? [],
    }));
  }
}
