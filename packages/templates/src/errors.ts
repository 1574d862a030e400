/** The errors of this package, and the base of those of memory and graph: a subclass per cause, each with a stable `code` and typed `details`. */

/** One thing wrong with a specification, and where: `operators[3].outputs.kv.shape[1]`. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** Base of every error that templates, memory and graph throw on purpose; match on `code`, not on the message. */
export class GmgError extends Error {
  readonly code: string;
  /** The numbers and names of the message, as plain data. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.details = details;
  }
}

const FAULTS_IN_MESSAGE = 20;
const NAME_SHOWN_MAX = 256;

/** A specification or a saved state is wrong; `faults` names everything wrong with it, not only the first thing. */
export class ValidationError extends GmgError {
  readonly faults: readonly Fault[];

  constructor(code: string, subject: string, faults: readonly Fault[]) {
    super(code, faultsMessage(subject, faults), { subject, faults });
    this.faults = faults;
  }
}

/** Code `CLUSTER_INVALID`. */
export class ClusterInvalidError extends ValidationError {
  constructor(faults: readonly Fault[]) {
    super("CLUSTER_INVALID", "cluster", faults);
  }
}

/** Code `TEMPLATE_INVALID`. */
export class TemplateInvalidError extends ValidationError {
  constructor(template: string, faults: readonly Fault[]) {
    // A name that is too long is one of the faults.
    super("TEMPLATE_INVALID", `template ${JSON.stringify(template.slice(0, NAME_SHOWN_MAX))}`, faults);
  }
}

function faultsMessage(subject: string, faults: readonly Fault[]): string {
  const lines = faults.slice(0, FAULTS_IN_MESSAGE).map(({ path, message }) => `  ${path}: ${message}`);
  if (faults.length > FAULTS_IN_MESSAGE) lines.push(`  … and ${faults.length - FAULTS_IN_MESSAGE} more`);
  return `${subject} has ${faults.length} ${faults.length === 1 ? "fault" : "faults"}:\n${lines.join("\n")}`;
}

/** Code `UNKNOWN_ACCELERATOR`: no accelerator of that name or index; `near` lists similar names. */
export class UnknownAcceleratorError extends GmgError {
  readonly accelerator: string | number;
  readonly near: readonly string[];

  constructor(accelerator: string | number, accelerators: number, near: readonly string[] = []) {
    const what = typeof accelerator === "number" ? `index ${accelerator}` : JSON.stringify(accelerator);
    super("UNKNOWN_ACCELERATOR", `no accelerator ${what} among the ${accelerators} of the cluster${didYouMean(near)}`, {
      accelerator,
      accelerators,
      near,
    });
    this.accelerator = accelerator;
    this.near = near;
  }
}

/** Code `NO_ROUTE`: no link connects source to destination and the cluster has no default link. */
export class NoRouteError extends GmgError {
  readonly source: string;
  readonly destination: string;

  constructor(source: string, destination: string) {
    super(
      "NO_ROUTE",
      `no link connects ${JSON.stringify(source)} to ${JSON.stringify(destination)}; declare one in links, or a defaultLink`,
      { source, destination },
    );
    this.source = source;
    this.destination = destination;
  }
}

/** Code `BYTES_OVERFLOW`: a size passes 2^53 − 1, beyond which numbers are not exact. */
export class BytesOverflowError extends GmgError {
  constructor(what: string, cause?: unknown) {
    super("BYTES_OVERFLOW", `${what} passes 2^53 − 1, the largest exact whole number`, { what }, cause);
  }
}

/** Code `INVARIANT_BROKEN`: a recount from scratch disagrees with the state kept; a bug, not a misuse. */
export class InvariantBrokenError extends GmgError {
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super("INVARIANT_BROKEN", message, details);
  }
}

/** The tail of a message that offers similar names; empty when there are none. */
export function didYouMean(near: readonly string[]): string {
  if (near.length === 0) return "";
  return `; did you mean ${near.map((name) => JSON.stringify(name)).join(" or ")}?`;
}
