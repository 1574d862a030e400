import type { IncomingMessage } from "node:http";
import type { SliceScheduler } from "slicescheduler";
import type { Refused } from "./guard.ts";

/** More is no action. */
const BODY_BYTES_MAX = 2048;

/** Drains, resumes or cancels, as the body says. Returns what was wrong with it, or null when it is done. */
export async function act(scheduler: SliceScheduler, request: IncomingMessage): Promise<Refused | null> {
  // A form of a page elsewhere cannot send this type without asking first, and is never answered that it may.
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    return { status: 415, code: "NOT_JSON", message: "send the action as application/json" };
  const body = await bodyOf(request);
  if (body === null)
    return { status: 413, code: "TOO_LARGE", message: `an action has at most ${BODY_BYTES_MAX} bytes` };
  const action = actionIn(body);
  if (action === null) return { status: 400, code: "NO_ACTION", message: `this is none of the actions: ${ACTIONS}` };
  try {
    if (action.action === "cancel") scheduler.cancelInstance(action.instance);
    else if (action.action === "drain") scheduler.drainAccelerator(action.accelerator);
    else scheduler.resumeAccelerator(action.accelerator);
    return null;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "FAILED";
    return { status: 409, code, message: error instanceof Error ? error.message : String(error) };
  }
}

const ACTIONS =
  '{"action":"drain","accelerator":"NAME"}, {"action":"resume","accelerator":"NAME"}, {"action":"cancel","instance":NUMBER}';

type Action =
  | { readonly action: "drain" | "resume"; readonly accelerator: string }
  | { readonly action: "cancel"; readonly instance: number };

function actionIn(body: string): Action | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { action, accelerator, instance } = value as Readonly<Record<string, unknown>>;
  if ((action === "drain" || action === "resume") && typeof accelerator === "string") return { action, accelerator };
  return action === "cancel" && typeof instance === "number" ? { action, instance } : null;
}

/** Null when it is too large; the rest of it is thrown away. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return length > BODY_BYTES_MAX ? null : Buffer.concat(chunks).toString("utf8");
}
