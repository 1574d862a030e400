/** What a check found, in the words of its rule. */
export interface Finding {
  readonly rule: string;
  /** Where the rule stands. */
  readonly where: string;
  readonly expected: string;
  readonly seen: string;
  /** What went to and fro last, the newest last. */
  readonly lastEvents: readonly string[];
}

/** Code `NOT_CONFORMING`: a backend does not keep a rule. */
export class ConformanceFailure extends Error {
  readonly code = "NOT_CONFORMING";
  readonly finding: Finding;

  constructor(finding: Finding, options?: ErrorOptions) {
    const { rule, where, expected, seen, lastEvents } = finding;
    const said = lastEvents.length === 0 ? "    nothing yet" : lastEvents.map((line) => `    ${line}`).join("\n");
    super(
      `${rule}\n  expected: ${expected}\n  seen:     ${seen}\n  rule:     ${where}\n  said last (→ to the executor, ← from it):\n${said}`,
      options,
    );
    this.name = "ConformanceFailure";
    this.finding = finding;
  }
}
