/** Code `INVARIANT_VIOLATED`: something that always holds did not; `violations` says what, each in words. */
export class InvariantViolation extends Error {
  readonly code = "INVARIANT_VIOLATED";
  readonly violations: readonly string[];

  constructor(violations: readonly string[], context = "", options?: ErrorOptions) {
    super(`${violations.length} invariant(s) violated:\n  ${violations.join("\n  ")}${context}`, options);
    this.name = "InvariantViolation";
    this.violations = violations;
  }
}
