/** Which requests of a trace may wait: what the user says of it, held against the classes that are there. */
import { nearest, type TraceRequest } from "@slicescheduler/workloads";
import { UsageError } from "../errors.ts";
import type { ProgressPrinter } from "../progress.ts";

/** Classes in one message. */
const shownMax = 10;
const usual = "offline";

/**
 * Tells that no request may wait where the trace has classes that nobody spoke of.
 * @param offlineClasses as the user named them, or null.
 * Errors: USAGE for classes that no request has.
 */
export function checkClasses(
  rows: readonly TraceRequest[],
  offlineClasses: readonly string[] | null,
  progress: ProgressPrinter,
): void {
  const there = new Set(rows.flatMap((row) => (row.class === undefined ? [] : [row.class])));
  const names = shown([...there]);
  if (offlineClasses === null) {
    if (there.size > 1 && !there.has(usual))
      progress.line(
        `No request is of class "${usual}", so none may wait; --offline-class names those that may: ${names}`,
      );
    return;
  }
  const missing = offlineClasses.filter((name) => !there.has(name));
  if (missing.length === 0) return;
  throw new UsageError(
    missing.map((name) => {
      if (there.size === 0) return `--offline-class ${JSON.stringify(name)}: no request of the trace has a class`;
      const near = nearest(name, [...there]);
      const hint = near === undefined ? "" : `did you mean ${JSON.stringify(near)}? `;
      return `--offline-class ${JSON.stringify(name)}: no request is of that class; ${hint}there are ${names}`;
    }),
  );
}

function shown(names: readonly string[]): string {
  const rest = names.length - shownMax;
  const words = names.slice(0, shownMax).map((name) => JSON.stringify(name));
  return `${words.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
