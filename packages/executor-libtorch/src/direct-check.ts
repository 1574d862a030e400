import type { DirectLoopOptions, DirectStep } from "./direct.ts";
import { LibtorchError } from "./programs/errors.ts";

const SLOTS_MAX = 1_000_000;
const REPEAT_MAX = 10_000_000;

/** Throws INVALID_OPTION. */
export function checkRepeat(repeat: number): void {
  if (!isBelow(repeat - 1, REPEAT_MAX))
    fail(`repeat is ${repeat}, and has to be a whole number from 1 to ${REPEAT_MAX}`);
}

/** Throws INVALID_OPTION for steps and numbers that cannot be. */
export function checkDirect({ steps, hbmBytes = 0 }: DirectLoopOptions): void {
  if (!isBelow(hbmBytes, Infinity)) fail(`hbmBytes is ${hbmBytes}, and has to be a whole number of bytes`);
  const filled = new Set<number>();
  for (const [index, step] of steps.entries()) {
    const about = `step ${index} (${step.operator})`;
    checkReads(step, filled, about);
    checkWrites(step, filled, about);
  }
}

function checkReads({ inputs }: DirectStep, filled: ReadonlySet<number>, about: string): void {
  for (const slot of inputs) {
    if (slot !== null && !filled.has(slot)) fail(`${about} reads slot ${slot}, which no earlier step has filled`);
  }
}

function checkWrites({ outputs, program, drop = [] }: DirectStep, filled: Set<number>, about: string): void {
  if (outputs.length > program.outputs.length) {
    fail(`${about} names ${outputs.length} slots, and its program has ${program.outputs.length} outputs`);
  }
  for (const slot of outputs) {
    if (!isBelow(slot, SLOTS_MAX))
      fail(`${about} writes slot ${slot}; slots are whole numbers from 0 to ${SLOTS_MAX - 1}`);
    filled.add(slot);
  }
  for (const slot of drop) {
    if (!filled.delete(slot)) fail(`${about} drops slot ${slot}, which is not filled`);
  }
}

function isBelow(value: number, limit: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value < limit;
}

function fail(message: string): never {
  throw new LibtorchError("INVALID_OPTION", message);
}
