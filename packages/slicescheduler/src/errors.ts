/** Base of the errors of the master itself; the graph's and the executor's errors keep their own classes and codes. */
export class SliceSchedulerError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.details = details;
  }
}

/** Code `INSTANCE_FAILED`: an operator of it, or of an instance whose results it needs, failed. */
export class InstanceFailedError extends SliceSchedulerError {
  constructor(instance: number, reason: string) {
    super("INSTANCE_FAILED", `instance ${instance} failed: ${reason}`, { instance, reason });
  }
}

/** Code `INSTANCE_CANCELLED`. */
export class InstanceCancelledError extends SliceSchedulerError {
  constructor(instance: number) {
    super("INSTANCE_CANCELLED", `instance ${instance} was cancelled`, { instance });
  }
}

/** Code `INVALID_OPTIONS`; `faults` names everything wrong at once. */
export class InvalidOptionsError extends SliceSchedulerError {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super("INVALID_OPTIONS", `the options have ${faults.length} fault(s):\n  ${faults.join("\n  ")}`, { faults });
    this.faults = faults;
  }
}
