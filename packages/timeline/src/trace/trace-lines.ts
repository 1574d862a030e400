export type Json = Readonly<Record<string, string | number>>;
export type TrackKind = "operators" | "out" | "in";

/** Tracks of an accelerator: so many of each kind have numbers of their own. */
const LANES_MAX = 1000;
const KINDS: readonly TrackKind[] = ["operators", "out", "in"];

/** 0 would be the idle process. */
export function pidOf(accelerator: number): number {
  return accelerator + 1;
}

/** Distinct in the whole trace, as some importers want it, and rising in the order in which the tracks are to stand. */
export function tidOf(accelerator: number, kind: TrackKind, lane: number): number {
  const base = (pidOf(accelerator) * KINDS.length + KINDS.indexOf(kind)) * LANES_MAX;
  return base + Math.min(lane, LANES_MAX - 1);
}

export function idOf(number: number): string {
  return `0x${number.toString(16)}`;
}

/** Events as lines of JSON. */
export class TraceLines {
  /** Names and categories come again and again. */
  readonly #quoted = new Map<string, string>();

  metadata(name: string, pid: number, tid: number | null, args: Json): string {
    const thread = tid === null ? "" : `,"tid":${tid}`;
    return `{"ph":"M","name":"${name}","pid":${pid}${thread},"args":${JSON.stringify(args)}}`;
  }

  /**
   * Beginning and end as events of their own. A complete event tells its end as `ts + dur`, which importers add up in doubles of microseconds: what follows at
   * once then seems to overlap by a rounding error, and is nested or dropped. Here the end is the same number as the next beginning.
   */
  *slice(
    name: string,
    category: string,
    pid: number,
    tid: number,
    startNs: number,
    endNs: number,
    args: Json,
  ): Iterable<string> {
    const track = `"pid":${pid},"tid":${tid}`;
    yield `{"ph":"B","name":${this.#quote(name)},"cat":${this.#quote(category)},${track},"ts":${microseconds(startNs)},"args":${JSON.stringify(args)}}`;
    yield `{"ph":"E","name":${this.#quote(name)},${track},"ts":${microseconds(endNs)}}`;
  }

  flow(phase: "s" | "f", id: string, pid: number, tid: number, atNs: number): string {
    const binding = phase === "f" ? ',"bp":"e"' : "";
    return `{"ph":"${phase}","name":"transfer","cat":"transfer","id":"${id}","pid":${pid},"tid":${tid},"ts":${microseconds(atNs)}${binding}}`;
  }

  counter(name: string, pid: number, atNs: number, args: Json): string {
    return `{"ph":"C","name":"${name}","pid":${pid},"ts":${microseconds(atNs)},"args":${JSON.stringify(args)}}`;
  }

  instant(name: string, scope: "g" | "p", pid: number, tid: number, atNs: number, args: Json): string {
    return `{"ph":"i","name":"${name}","cat":"notice","s":"${scope}","pid":${pid},"tid":${tid},"ts":${microseconds(atNs)},"args":${JSON.stringify(args)}}`;
  }

  asynchronous(phase: "b" | "n" | "e", name: string, id: string, pid: number, atNs: number, args: Json): string {
    return `{"ph":"${phase}","name":${this.#quote(name)},"cat":"request","id":"${id}","pid":${pid},"ts":${microseconds(atNs)},"args":${JSON.stringify(args)}}`;
  }

  #quote(text: string): string {
    let quoted = this.#quoted.get(text);
    if (quoted === undefined) {
      quoted = JSON.stringify(text);
      this.#quoted.set(text, quoted);
    }
    return quoted;
  }
}

/** Exact to the nanosecond, which a division would not be. */
function microseconds(ns: number): string {
  if (!Number.isSafeInteger(ns) || ns < 0) return String(Math.max(0, ns) / 1000);
  const rest = ns % 1000;
  const whole = (ns - rest) / 1000;
  return rest === 0 ? String(whole) : `${whole}.${String(rest).padStart(3, "0")}`;
}
