/** What the scheduling module refuses: `UNKNOWN_TENANT`, `QUEUE_FULL`. */
export class SchedulerError extends Error {
  readonly code: "UNKNOWN_TENANT" | "QUEUE_FULL";
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: SchedulerError["code"], message: string, details: Readonly<Record<string, unknown>>) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.details = details;
  }
}
