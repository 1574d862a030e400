import type { ExecutorInstruction } from "@slicescheduler/executor";
import type { Violation } from "../violation.ts";
import { Device, type DeviceInfo, type Report } from "./device.ts";
import type { Machine } from "./machine-table.ts";
import type { SmallWorld } from "./small-world.ts";

/** What the executor is told, or what happens on its devices. */
export type ExecutorInput =
  | { readonly type: "takes"; readonly instructions: readonly ExecutorInstruction[] }
  | DeviceMove;

export type DeviceMove =
  | { readonly type: "operatorEnds" | "operatorFails"; readonly issueNumber: number }
  | { readonly type: "transferEnds" | "transferFails"; readonly transfer: number }
  | { readonly type: "isLost" | "isBack"; readonly accelerator: number };

/** The executor at the far end of a line: it starts what it can before anybody hears of anything. */
export class ExecutorMachine implements Machine<ExecutorInput, readonly Report[], DeviceInfo> {
  readonly device: Device;
  readonly #world: SmallWorld;

  constructor(world: SmallWorld) {
    this.#world = world;
    this.device = new Device(world);
  }

  apply(input: ExecutorInput): readonly Report[] {
    this.device.tick();
    if (input.type === "takes") this.device.execute(input.instructions);
    else moveDevice(this.device, input);
    const reports: Report[] = [];
    for (let event = this.device.next(); event !== undefined; event = this.device.next()) {
      if (this.#world.channel === "perAccelerator") reports.push(...this.device.reportsOf(event));
      else reports.push({ from: 0, event });
    }
    return reports;
  }

  encode(): string {
    return this.device.encode();
  }

  info(): DeviceInfo {
    return this.device.info();
  }

  check(): Violation | null {
    return this.device.check();
  }
}

/** What happens on the devices, before anybody answers. */
export function moveDevice(device: Device, move: DeviceMove): void {
  switch (move.type) {
    case "operatorEnds":
      device.endOperator(move.issueNumber);
      return;
    case "operatorFails":
      device.failOperator(move.issueNumber);
      return;
    case "transferEnds":
      device.endTransfer(move.transfer);
      return;
    case "transferFails":
      device.failTransfer(move.transfer);
      return;
    case "isLost":
      device.loseAccelerator(move.accelerator);
      return;
    case "isBack":
      device.returnAccelerator(move.accelerator);
  }
}

/** What may happen on the devices next: what began can end, what may go wrong can go wrong, and what was lost can come back. */
export function deviceMoves(
  { running, sending, lost }: DeviceInfo,
  { fault, cluster, channel }: SmallWorld,
  mayFail: boolean,
): readonly { readonly move: DeviceMove; readonly isFault: boolean }[] {
  const moves: { move: DeviceMove; isFault: boolean }[] = [];
  const add = (move: DeviceMove, isFault = false) => moves.push({ move, isFault });
  for (const issueNumber of running) add({ type: "operatorEnds", issueNumber });
  for (const transfer of sending) add({ type: "transferEnds", transfer });
  // A line would have to drop what was meant for it before: so it only comes back where there is none.
  if (channel === "immediate") for (const accelerator of lost) add({ type: "isBack", accelerator });
  if (!mayFail) return moves;
  if (fault === "operatorFails") for (const issueNumber of running) add({ type: "operatorFails", issueNumber }, true);
  if (fault === "transferFails") for (const transfer of sending) add({ type: "transferFails", transfer }, true);
  if (fault !== "acceleratorLost") return moves;
  for (const accelerator of cluster.accelerators.keys())
    if (!lost.includes(accelerator)) add({ type: "isLost", accelerator }, true);
  return moves;
}
