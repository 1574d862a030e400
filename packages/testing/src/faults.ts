import type { VirtualOperator, VirtualTransfer } from "@slicescheduler/executor";
import fc from "fast-check";

/** Which operators and transfers of a virtual executor fail, as plain data; by number, so that a run repeats. */
export interface Faults {
  /** Every so many-th issued operator fails as it starts; null: none. */
  readonly operatorEvery: number | null;
  /** Every so many-th transfer fails as it starts; null: none. */
  readonly transferEvery: number | null;
}

export const noFaults: Faults = { operatorEvery: null, transferEvery: null };

/** Rare and frequent failures of operators and transfers, or none of one of them. */
export function faults(): fc.Arbitrary<Faults> {
  const every = fc.option(fc.integer({ min: 2, max: 15 }), { freq: 3 });
  return fc.record({ operatorEvery: every, transferEvery: every });
}

/** Thrown in place of a duration: the virtual executor then reports the operator or transfer as failed. */
export class InjectedFault extends Error {
  constructor(what: string) {
    super(`${what} was made to fail`);
    this.name = "InjectedFault";
  }
}

export function failOperatorIfChosen({ operatorEvery }: Faults, { issueNumber }: VirtualOperator): void {
  if (isChosen(issueNumber, operatorEvery)) throw new InjectedFault(`issue ${issueNumber}`);
}

export function failTransferIfChosen({ transferEvery }: Faults, { transfer }: VirtualTransfer): void {
  if (isChosen(transfer, transferEvery)) throw new InjectedFault(`transfer ${transfer}`);
}

/** The virtual executor reports an injected fault and then throws it as well; whoever drives it goes on. */
export function tolerateInjected<Result>(drive: () => Result, otherwise: Result): Result {
  try {
    return drive();
  } catch (error) {
    const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
    if (errors.every((each) => each instanceof InjectedFault)) return otherwise;
    throw error;
  }
}

function isChosen(number: number, every: number | null): boolean {
  return every !== null && number % every === every - 1;
}
