import type { Violation } from "./violation.ts";

/** Code `INVARIANT_VIOLATED`: something that always holds did not; `violations` says what, each in words. */
export class InvariantViolation extends Error {
  readonly code = "INVARIANT_VIOLATED";
  readonly violations: readonly string[];
  /** The same, with its kind and how much of it. */
  readonly found: readonly Violation[];

  constructor(found: readonly Violation[], context = "", options?: ErrorOptions) {
    const violations = found.map(({ words }) => words);
    super(`${violations.length} invariant(s) violated:\n  ${violations.join("\n  ")}${context}`, options);
    this.name = "InvariantViolation";
    this.violations = violations;
    this.found = found;
  }
}
