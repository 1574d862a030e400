import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import type { MasterEvent } from "slicescheduler";
import type { Violation } from "../violation.ts";
import type { NewArbiter } from "./arbiter-twin.ts";
import { Device, type DeviceInfo } from "./device.ts";
import { type DeviceMove, moveDevice } from "./executor-machine.ts";
import type { Machine } from "./machine-table.ts";
import { type MasterInfo, MasterMachine } from "./master-machine.ts";
import type { SmallWorld } from "./small-world.ts";

export interface CoupledInput {
  readonly move: DeviceMove | { readonly type: "asks"; readonly events: readonly MasterEvent[] };
  /** See `MasterInput`; through all that the move causes. */
  readonly picks: readonly number[];
}

export interface CoupledOutput {
  /** Events of the executor and what each was answered, in order. */
  readonly effects: readonly (ExecutorEvent | ExecutorInstruction)[];
  readonly choices: readonly number[];
}

/** Master and executor in one process: each event is answered, and the answer carried out, before the next one is delivered. */
export class CoupledMachine implements Machine<CoupledInput, CoupledOutput, MasterInfo & DeviceInfo> {
  readonly master: MasterMachine;
  readonly device: Device;

  constructor(world: SmallWorld, newArbiter: NewArbiter | null) {
    this.master = new MasterMachine(world, newArbiter);
    this.device = new Device(world);
  }

  apply({ move, picks }: CoupledInput): CoupledOutput {
    const effects: (ExecutorEvent | ExecutorInstruction)[] = [];
    const choices: number[] = [];
    this.device.tick();
    const tell = (events: readonly MasterEvent[]) => {
      const { instructions, choices: between } = this.master.apply({ events, picks: picks.slice(choices.length) });
      choices.push(...between);
      effects.push(...instructions);
      if (instructions.length > 0) this.device.execute(instructions);
    };
    if (move.type === "asks") tell(move.events);
    else moveDevice(this.device, move);
    for (let event = this.device.next(); event !== undefined; event = this.device.next()) {
      effects.push(event);
      tell([event]);
    }
    return { effects, choices };
  }

  encode(): string {
    return `${this.master.encode()}\n${this.device.encode()}`;
  }

  info(): MasterInfo & DeviceInfo {
    return { ...this.master.info(), ...this.device.info() };
  }

  check(): Violation | null {
    return this.device.check() ?? this.master.check();
  }
}
