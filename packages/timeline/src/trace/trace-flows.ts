import type { CheckedEvent } from "./trace-forms.ts";
import { type Slice, type Track, trackOf } from "./trace-nesting.ts";

/**
 * A flow has one start and an end, which is not before it, and each of its points lies within a slice of its track: from the slice's start on and before its
 * end. An end without `"bp": "e"` binds to the next slice of its track instead.
 */
export function flowFaults(events: readonly CheckedEvent[], tracks: ReadonlyMap<string, Track>): string[] {
  const flows = new Map<string, CheckedEvent[]>();
  for (const event of events) {
    if (event.ph !== "s" && event.ph !== "t" && event.ph !== "f") continue;
    const key = `${event.cat} ${event.name} ${event.id}`;
    const flow = flows.get(key);
    if (flow === undefined) flows.set(key, [event]);
    else flow.push(event);
  }
  if (flows.size === 0) return [];
  const withEnds = new Map([...tracks].map(([key, { slices }]) => [key, trackWithEnds(slices)]));
  return [...flows].flatMap(([key, flow]) => oneFlow(flow, withEnds).map((fault) => `flow ${key}: ${fault}`));
}

function oneFlow(flow: readonly CheckedEvent[], tracks: ReadonlyMap<string, TrackWithEnds>): string[] {
  const faults: string[] = [];
  const starts = flow.filter(({ ph }) => ph === "s");
  const ends = flow.filter(({ ph }) => ph === "f");
  const [start] = starts;
  if (start === undefined || starts.length > 1) return [`has ${starts.length} starts`];
  if (ends.length === 0) faults.push("has no end");
  for (const point of flow) {
    if (point.ts < start.ts) faults.push(`goes on at ${point.ts} µs, before it starts at ${start.ts} µs`);
    if (!isBound(point, tracks.get(trackOf(point)) ?? NO_TRACK))
      faults.push(`${point.ph} at ${point.ts} µs lies in no slice`);
  }
  return faults;
}

function isBound(point: CheckedEvent, { slices, endsUpTo }: TrackWithEnds): boolean {
  const { ts } = point;
  if (point.ph === "f" && point.bp !== "e") return (slices.at(-1)?.start ?? -1) >= ts;
  let low = 0;
  let high = slices.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((slices[middle] as Slice).start <= ts) low = middle + 1;
    else high = middle;
  }
  return low > 0 && (endsUpTo[low - 1] as number) > ts;
}

interface TrackWithEnds {
  readonly slices: readonly Slice[];
  /** Of each slice and those before it, the latest end: one that began no later and goes on. */
  readonly endsUpTo: readonly number[];
}

const NO_TRACK: TrackWithEnds = { slices: [], endsUpTo: [] };

function trackWithEnds(slices: readonly Slice[]): TrackWithEnds {
  let latest = -1;
  return {
    slices,
    endsUpTo: slices.map(({ end }) => {
      latest = Math.max(latest, end);
      return latest;
    }),
  };
}
