/** Sizes that a cover is made for: bytes in the proportions that instances are expected to have. Any others are bounded as well. */
import {
  type AcceleratorIndex,
  type Binding,
  type Cluster,
  GmgError,
  type OperatorInput,
  roundUpBytes,
  type Template,
} from "@slicescheduler/templates";
import type { Holding, Lifetimes } from "./lifetimes.ts";

/** Where an instance's input slots are before it runs. */
export interface InstanceInputs {
  /**
   * Per input slot: the accelerator; −1 where it cannot be told, which counts as elsewhere for every reader; null where nothing
   * is bound to it.
   */
  readonly homes: readonly (AcceleratorIndex | null)[];
  /**
   * Per input slot: whether its tensor may be kept after this instance has read it, by the application or by other readers.
   * Default true for all. With true the bound is largest where the tensor is elsewhere; with false it need not be.
   */
  readonly kept?: readonly boolean[];
}

/** Per holding of an accelerator: rounded bytes, and 1 where it may stay. */
export interface HoldingBytes {
  readonly bytes: Float64Array;
  readonly permanent: Uint8Array;
}

/** The bytes of an instance's holdings on an accelerator. Linear in their tensors. Throws BYTES_OVERFLOW. */
export function holdingBytes(
  { holdings }: Lifetimes,
  accelerator: AcceleratorIndex,
  granularityBytes: number,
  binding: Binding,
  inputs: InstanceInputs,
): HoldingBytes {
  const bytes = new Float64Array(holdings.length);
  const permanent = new Uint8Array(holdings.length);
  for (let x = 0; x < holdings.length; x++) {
    const holding = holdings[x] as Holding;
    const { slot, kind } = holding;
    const home = slot < 0 ? undefined : inputs.homes[slot];
    const isKept = slot >= 0 && home !== null && (inputs.kept?.[slot] ?? true);
    const isHere = home === accelerator;
    // A slot is copied or grown in place, not both.
    const isThere = slot < 0 || (kind === "growth" ? isHere || home === null : !isHere && home !== null);
    bytes[x] = isThere ? bufferBytes(holding, granularityBytes, binding, isHere) : 0;
    permanent[x] = holding.permanent || isKept ? 1 : 0;
  }
  return { bytes, permanent };
}

function bufferBytes(
  { members, kind }: Holding,
  granularityBytes: number,
  binding: Binding,
  isSlotHere: boolean,
): number {
  let most = 0;
  for (let i = kind === "growth" ? 1 : 0; i < members.length; i++) {
    most = Math.max(most, tensorBytes(members[i] as OperatorInput, granularityBytes, binding));
  }
  if (!isSlotHere) return most;
  return Math.max(0, most - tensorBytes(members[0] as OperatorInput, granularityBytes, binding));
}

function tensorBytes({ operator, output, slot }: OperatorInput, granularityBytes: number, binding: Binding): number {
  return roundUpBytes(slot < 0 ? binding.outputBytes(operator, output) : binding.inputBytes(slot), granularityBytes);
}

/** An instance as it may come. */
export interface Reference {
  readonly binding: Binding;
  readonly inputs: InstanceInputs;
}

/** A few instances with small, middling and large symbols, their inputs where they are read or elsewhere. */
export function referencesOf(template: Template, acceleratorOf: readonly AcceleratorIndex[]): Reference[] {
  const homes: (AcceleratorIndex | null)[] = Array.from({ length: template.inputSlots }, () => -1);
  for (const { index, inputs } of template.operators) {
    for (const { slot } of inputs) if (slot >= 0) homes[slot] = acceleratorOf[index] as AcceleratorIndex;
  }
  const bindings = symbolChoices(template).flatMap((symbols) => bound(template, symbols));
  const places = template.inputSlots === 0 ? [homes] : [homes, homes.map(() => -1)];
  return bindings.flatMap((binding) => places.map((there) => ({ binding, inputs: { homes: there } })));
}

function symbolChoices(template: Template): Record<string, number>[] {
  const { symbols, spec } = template;
  const bounds: Readonly<Record<string, number | undefined>> = spec.bounds ?? {};
  const within = (name: string, value: number) => Math.min(value, bounds[name] ?? value);
  const each = (value: (at: number) => number) =>
    Object.fromEntries(symbols.map((name, at) => [name, within(name, value(at))]));
  const choices = [64, 4096, 1].map((value) => each(() => value));
  if (symbols.length < 2) return symbols.length === 0 ? choices.slice(0, 1) : choices;
  return [...choices, each((at) => (at === 0 ? 4096 : 1)), each((at) => (at === 0 ? 1 : 4096))];
}

/** None where the sizes make no sense. */
function bound(template: Template, symbols: Record<string, number>): Binding[] {
  try {
    return [template.bind(symbols)];
  } catch (error) {
    if (error instanceof GmgError) return [];
    throw error;
  }
}

/** The bytes of each reference, each proportion once; those that overflow are left out. Equal bytes if nothing else is left. */
export function referenceWeights(
  lifetimes: Lifetimes,
  accelerator: AcceleratorIndex,
  cluster: Cluster,
  references: readonly Reference[],
): HoldingBytes[] {
  const granularityBytes = cluster.accelerators[accelerator]?.granularityBytes ?? 1;
  const known = new Set<string>();
  const found = references.flatMap(({ binding, inputs }) => {
    try {
      const weights = holdingBytes(lifetimes, accelerator, granularityBytes, binding, inputs);
      const most = weights.bytes.reduce((a, b) => Math.max(a, b), 1);
      const key = weights.bytes.map((bytes) => Math.round((bytes / most) * PROPORTION_STEPS)).join();
      if (known.has(key)) return [];
      known.add(key);
      return [weights];
    } catch (error) {
      if (error instanceof GmgError) return [];
      throw error;
    }
  });
  if (found.length > 0) return found;
  const { length } = lifetimes.holdings;
  return [{ bytes: new Float64Array(length).fill(1), permanent: new Uint8Array(length) }];
}

/** Proportions closer than this are not told apart. */
const PROPORTION_STEPS = 1000;
