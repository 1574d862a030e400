import type { CheckedEvent } from "./trace-forms.ts";

/** In microseconds as they stand, the end of a complete slice as importers compute it: `ts + dur`, in doubles. */
export interface Slice {
  readonly start: number;
  readonly end: number;
}

export interface Track {
  /** By rising start, the longer first. */
  readonly slices: readonly Slice[];
  readonly faults: readonly string[];
}

export const trackOf = ({ pid, tid }: CheckedEvent): string => `${pid} ${tid}`;

/** Slices by track, of X and of B with the E that ends it: the last one begun that has not ended, in the order of time, then of the file. */
export function slicesByTrack(events: readonly CheckedEvent[]): Map<string, Track> {
  const ofTrack = new Map<string, CheckedEvent[]>();
  for (const event of events) {
    if (event.ph !== "X" && event.ph !== "B" && event.ph !== "E") continue;
    const own = ofTrack.get(trackOf(event));
    if (own === undefined) ofTrack.set(trackOf(event), [event]);
    else own.push(event);
  }
  return new Map([...ofTrack].map(([track, own]) => [track, readTrack(track, own)]));
}

function readTrack(track: string, events: readonly CheckedEvent[]): Track {
  const slices: Slice[] = [];
  const faults: string[] = [];
  const begun: number[] = [];
  for (const { ph, ts, dur } of events.toSorted((a, b) => a.ts - b.ts)) {
    if (ph === "X") slices.push({ start: ts, end: ts + (dur ?? 0) });
    else if (ph === "B") begun.push(ts);
    else {
      const start = begun.pop();
      if (start === undefined) faults.push(`track ${track}: E at ${ts} µs ends nothing`);
      else slices.push({ start, end: ts });
    }
  }
  if (begun.length > 0) faults.push(`track ${track}: ${begun.length} slices begun by B do not end`);
  slices.sort((a, b) => a.start - b.start || b.end - a.end);
  return { slices, faults };
}

/** Slices of one track are apart or one within the other; what begins by B ends by E on the same track, in time. */
export function nestingFaults(tracks: ReadonlyMap<string, Track>): string[] {
  const faults: string[] = [];
  for (const [track, { slices, faults: own }] of tracks) {
    faults.push(...own);
    const open: Slice[] = [];
    for (const slice of slices) {
      while (open.length > 0 && (open.at(-1) as Slice).end <= slice.start) open.pop();
      const around = open.at(-1);
      if (around !== undefined && slice.end > around.end) {
        const [a, b] = [`${around.start} to ${around.end} µs`, `${slice.start} to ${slice.end} µs`];
        faults.push(`track ${track}: slices overlap without one being within the other, ${a} and ${b}`);
        break;
      }
      open.push(slice);
    }
  }
  return faults;
}
