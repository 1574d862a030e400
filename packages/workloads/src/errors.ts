/** Everything that can go wrong with a workload, as typed errors; callers match `code`, people read `message`. */

export type WorkloadErrorCode =
  | "TRACE_NOT_FOUND"
  | "TRACE_IS_DIRECTORY"
  | "TRACE_UNREADABLE"
  | "TRACE_TOO_LARGE"
  | "TRACE_EMPTY"
  | "TRACE_WRONG_HEADER"
  | "TRACE_MALFORMED_ROW"
  | "TRACE_OUT_OF_ORDER"
  | "TRACE_FAULTY"
  | "TRACE_UNWRITABLE"
  | "WORKLOAD_EMPTY"
  | "INVALID_OPTION"
  | "UNKNOWN_POLICY"
  | "MODEL_DOES_NOT_FIT"
  | "LINKS_MISSING"
  | "REPLAY_CHECK_FAILED";

/** Base class of all errors of this package. */
export class WorkloadError extends Error {
  readonly code: WorkloadErrorCode;
  /** What was found, without the place where it was found. */
  readonly reason: string;

  constructor(code: WorkloadErrorCode, message: string, reason: string = message, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.reason = reason;
  }
}

/** A trace file cannot be read or holds something it may not; the message is one line `file:line: reason`. */
export class TraceError extends WorkloadError {
  readonly file: string;
  /** 1-based line in the file, or null when the fault is not on one line. */
  readonly line: number | null;

  constructor(code: WorkloadErrorCode, file: string, line: number | null, reason: string, options?: ErrorOptions) {
    super(code, `${file}${line === null ? "" : `:${line}`}: ${reason}`, reason, options);
    this.file = file;
    this.line = line;
  }
}

/** One thing that is wrong with a file. */
export interface TraceFault {
  readonly code: "TRACE_MALFORMED_ROW" | "TRACE_OUT_OF_ORDER";
  /** 1-based line; of a record over several lines the last. Null in a JSON document, where the reason names the path. */
  readonly line: number | null;
  readonly reason: string;
}

/** A file has faults: all of them, in the order of their lines, up to the limit that was asked for. */
export class TraceFaultsError extends WorkloadError {
  readonly file: string;
  readonly faults: readonly TraceFault[];
  /** Whether reading ended at the limit, so that there may be more. */
  readonly limited: boolean;

  constructor(file: string, faults: readonly TraceFault[], limited: boolean) {
    const lines = faults.slice(0, 5).map(({ line, reason }) => (line === null ? reason : `line ${line}: ${reason}`));
    if (faults.length > lines.length) lines.push(`and ${faults.length - lines.length} more`);
    const count = `${faults.length}${limited ? " or more" : ""} fault(s)`;
    super("TRACE_FAULTY", `${file}: ${count}: ${lines.join("; ")}`, lines.join("; "));
    this.file = file;
    this.faults = faults;
    this.limited = limited;
  }
}

/** An option is outside its range; names the option, the value and the range. */
export class InvalidOptionError extends WorkloadError {
  readonly option: string;

  constructor(option: string, found: unknown, wanted: string) {
    super("INVALID_OPTION", `${option} must be ${wanted}, not ${String(found)}`);
    this.option = option;
  }
}

/** A recipe kept no request at all; says of how many rows and under which settings. */
export class EmptyWorkloadError extends WorkloadError {
  constructor(reason: string) {
    super("WORKLOAD_EMPTY", reason);
  }
}

/** No policy of that name exists; lists those that do and the nearest. */
export class UnknownPolicyError extends WorkloadError {
  readonly policy: string;
  readonly known: readonly string[];

  constructor(policy: string, known: readonly string[], near: string | undefined) {
    const hint = near === undefined ? "" : `did you mean "${near}"? `;
    super("UNKNOWN_POLICY", `unknown policy "${policy}"; ${hint}known: ${known.join(", ")}`);
    this.policy = policy;
    this.known = known;
  }
}

/** The model's weights and one request's memory exceed what an accelerator has. */
export class ModelDoesNotFitError extends WorkloadError {
  constructor(reason: string, options?: ErrorOptions) {
    super("MODEL_DOES_NOT_FIT", reason, reason, options);
  }
}

/** A policy lays a model instance over accelerators that no link joins. */
export class LinksMissingError extends WorkloadError {
  readonly policy: string;
  /** From which accelerator to which one there is none, each once. */
  readonly pairs: readonly (readonly [from: string, to: string])[];

  constructor(policy: string, missing: readonly (readonly [from: string, to: string])[]) {
    const pairs = [...new Map(missing.map((pair) => [JSON.stringify(pair), pair])).values()];
    const joined = [...new Set(pairs.map(([from, to]) => [from, to].sort().join(" and ")))];
    const more = joined.length > 1 ? ` and ${joined.length - 1} more pair(s)` : "";
    super(
      "LINKS_MISSING",
      `the cluster needs a defaultLink, or links both ways between ${joined[0]}${more}: policy "${policy}" lays model instances over them`,
    );
    this.policy = policy;
    this.pairs = pairs;
  }
}

/** One thing the end of a replay found wrong, with the numbers. */
export interface CheckFailure {
  readonly check: string;
  readonly detail: string;
}

/** A replay broke an invariant; lists every check that failed, each with its numbers. */
export class ReplayCheckError extends WorkloadError {
  readonly failures: readonly CheckFailure[];

  constructor(policy: string, failures: readonly CheckFailure[]) {
    const shown = failures.slice(0, 5).map((f) => `${f.check}: ${f.detail}`);
    if (failures.length > shown.length) shown.push(`and ${failures.length - shown.length} more`);
    super("REPLAY_CHECK_FAILED", `replay of ${policy} broke ${failures.length} invariant(s): ${shown.join("; ")}`);
    this.failures = failures;
  }
}
