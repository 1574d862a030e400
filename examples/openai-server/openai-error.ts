/** An error as OpenAI's interface tells it: `{ error: { message, type, param, code } }`. */
export class OpenAiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;

  constructor(
    status: number,
    message: string,
    { code = null, param = null }: { code?: string | null; param?: string | null } = {},
  ) {
    super(message);
    this.name = "OpenAiError";
    this.status = status;
    this.type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
    this.code = code;
    this.param = param;
  }

  get body() {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

/** Of a request that somebody cancelled in the live view: not to be sent again. */
export const CANCELLED = "cancelled";

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

/** What the scheduler threw, in the terms of the interface. */
export function asOpenAiError(error: unknown): OpenAiError {
  if (error instanceof OpenAiError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error ? error.message : String(error);
  switch (code) {
    case "QUEUE_FULL":
      return new OpenAiError(429, "too many requests wait already; try again later", { code: "rate_limit_exceeded" });
    case "QUEUE_TIMEOUT":
      return new OpenAiError(429, "the request waited too long for a place; try again later", {
        code: "queue_timeout",
      });
    case "NEVER_FITS":
      return new OpenAiError(400, "the request needs more memory than there is", { code: "context_length_exceeded" });
    case "ACCELERATOR_UNAVAILABLE":
      return new OpenAiError(503, "no accelerator takes requests now; try again later", {
        code: "accelerators_unavailable",
      });
    case "INSTANCE_FAILED":
    case "TRANSFER_OVERDUE":
      return new OpenAiError(503, "the request lost what it ran on; try again", { code: "request_lost" });
    case "INSTANCE_CANCELLED":
      return new OpenAiError(503, "the request was cancelled by whoever runs the server", { code: CANCELLED });
    case "CLOSED":
      return new OpenAiError(503, "the server is shutting down", { code: "shutting_down" });
    default:
      return new OpenAiError(500, message, { code: "server_error" });
  }
}
