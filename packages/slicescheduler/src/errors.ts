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

/** Code `QUEUE_TIMEOUT`: no operator of its request started in time; `DEADLINE_EXCEEDED`: it was not done by its deadline. */
export class TimedOutError extends SliceSchedulerError {
  constructor(
    kind: "queueTimeout" | "deadline",
    instance: number,
    request: number,
    { sinceNs, atNs }: { readonly sinceNs: number; readonly atNs: number },
  ) {
    const waited = `it was submitted at ${sinceNs} ns and it is ${atNs} ns`;
    if (kind === "queueTimeout") {
      const message = `instance ${instance} of request ${request} waited too long for its first operator to start: ${waited}`;
      super("QUEUE_TIMEOUT", message, { instance, request, sinceNs, atNs });
    } else {
      const message = `instance ${instance} of request ${request} was not done by its deadline: ${waited}`;
      super("DEADLINE_EXCEEDED", message, { instance, request, sinceNs, atNs });
    }
  }
}

/** What a `TransferOverdueError` tells of the transfer. */
export interface OverdueTransfer {
  readonly transfer: number;
  readonly sourceName: string;
  readonly destinationName: string;
  readonly bytes: number;
  /** Where it is stuck. */
  readonly from: "receiving" | "sending" | "cancelling";
  /** When its data began to move; when it became an intent, if they never did. */
  readonly sinceNs: number;
  readonly deadlineNs: number;
  readonly atNs: number;
}

/** Code `TRANSFER_OVERDUE`: it needs a transfer whose end has not come by its deadline, see `deadlineFactor` and `deadlineMinNs`. */
export class TransferOverdueError extends SliceSchedulerError {
  constructor(instance: number, overdue: OverdueTransfer) {
    const { transfer, sourceName, destinationName, bytes, from, sinceNs, deadlineNs, atNs } = overdue;
    const step = from === "receiving" ? "has waited for its receive buffer, as an intent" : "has moved its data";
    super(
      "TRANSFER_OVERDUE",
      `instance ${instance} failed: transfer ${transfer}, ${bytes} bytes from ${sourceName} to ${destinationName}, ${step} since ${sinceNs} ns, was ` +
        `to end by ${deadlineNs} ns, and it is ${atNs} ns; its buffers stay until its end is heard, or one of the two accelerators is lost. ` +
        "Submit it again where its inputs can be made again; raise arbitration.deadlineMinNs or deadlineFactor if transfers may take so long",
      { instance, ...overdue },
    );
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
