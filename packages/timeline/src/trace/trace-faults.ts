import { flowFaults } from "./trace-flows.ts";
import { type CheckedEvent, eventFaults } from "./trace-forms.ts";
import { nestingFaults, slicesByTrack } from "./trace-nesting.ts";

/** Faults beyond so many are not collected. */
const FAULTS_MAX = 100;

/**
 * What is wrong with a trace file by the rules of the Trace Event Format that the README lists; empty for one that follows them. Takes its text,
 * or what that parses to. Linear in the file but for sorting.
 */
export function chromeTraceFaults(trace: unknown): string[] {
  let value = trace;
  if (typeof trace === "string") {
    try {
      value = JSON.parse(trace);
    } catch {
      return ["the file is not JSON"];
    }
  }
  const events = eventsOf(value);
  if (events === null) return ["the file is to be a list of events, or an object with such a list as traceEvents"];
  const faults: string[] = [];
  const checked: CheckedEvent[] = [];
  for (const [index, event] of events.entries()) {
    const own = eventFaults(event);
    if (own.length === 0) checked.push(event as CheckedEvent);
    else if (faults.length < FAULTS_MAX) faults.push(...own.map((fault) => `event ${index}: ${fault}`));
  }
  const tracks = slicesByTrack(checked);
  faults.push(
    ...nestingFaults(tracks),
    ...flowFaults(checked, tracks),
    ...asynchronousFaults(checked),
    ...nameFaults(checked),
  );
  return faults.slice(0, FAULTS_MAX);
}

function eventsOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null || !("traceEvents" in value)) return null;
  return Array.isArray(value.traceEvents) ? value.traceEvents : null;
}

/** Asynchronous slices of one category and id begin before they end, as often as they end. */
function asynchronousFaults(events: readonly CheckedEvent[]): string[] {
  const groups = new Map<string, CheckedEvent[]>();
  for (const event of events) {
    if (event.ph !== "b" && event.ph !== "e" && event.ph !== "n") continue;
    const key = `${event.cat} ${event.id}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [event]);
    else group.push(event);
  }
  return [...groups].flatMap(([key, group]) => {
    let open = 0;
    for (const { ph } of group.sort((a, b) => a.ts - b.ts)) {
      if (ph === "e" && open === 0) return [`asynchronous ${key}: ends before it begins`];
      open += ph === "b" ? 1 : ph === "e" ? -1 : 0;
    }
    return open === 0 ? [] : [`asynchronous ${key}: does not end`];
  });
}

/** Tracks without names cannot be told apart. */
function nameFaults(events: readonly CheckedEvent[]): string[] {
  const named = new Set<string>();
  for (const { ph, name, pid, tid } of events) {
    if (ph !== "M") continue;
    if (name === "process_name") named.add(`${pid}`);
    if (name === "thread_name") named.add(`${pid} ${tid}`);
  }
  const missing = new Set<string>();
  for (const { ph, pid, tid } of events) {
    if (ph === "M") continue;
    if (!named.has(`${pid}`)) missing.add(`process ${pid} has no process_name`);
    if (tid !== undefined && !named.has(`${pid} ${tid}`))
      missing.add(`thread ${tid} of process ${pid} has no thread_name`);
  }
  return [...missing];
}
