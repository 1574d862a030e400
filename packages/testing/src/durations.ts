import type { VirtualOperator } from "@slicescheduler/executor";
import fc from "fast-check";

/** True durations of operators, as plain data: whole nanoseconds that depend on template, operator, accelerator kind and symbols alone. */
export interface Durations {
  readonly tableNs: readonly number[];
  readonly perSymbolNs: number;
}

export interface DurationOptions {
  /** Of an operator without symbols, at least 1. Default 1. */
  readonly durationNsMin?: number;
  /** Default 20. */
  readonly durationNsMax?: number;
}

/** Short durations with many equal ones, so that events coincide. */
export function durations(options: DurationOptions = {}): fc.Arbitrary<Durations> {
  const { durationNsMin = 1, durationNsMax = 20 } = options;
  return fc.record({
    tableNs: fc.array(fc.integer({ min: durationNsMin, max: durationNsMax }), { minLength: 1, maxLength: 6 }),
    perSymbolNs: fc.nat({ max: 3 }),
  });
}

/** The true duration of an operator, for `VirtualExecutorOptions.operatorNs`. */
export function operatorNs(
  { tableNs, perSymbolNs }: Durations,
  {
    template,
    operator,
    accelerator,
    symbols,
  }: Pick<VirtualOperator, "template" | "operator" | "accelerator" | "symbols">,
): number {
  let place = operator * 3;
  for (const text of [template, accelerator.kind]) for (let i = 0; i < text.length; i++) place += text.charCodeAt(i);
  let ns = tableNs[place % tableNs.length] ?? 1;
  for (const value of Object.values(symbols)) ns += value * perSymbolNs;
  return ns;
}
