import type { MasterEvent } from "slicescheduler";
import { checkWhole, EventLogError } from "../errors.ts";
import { checkFault, eventFault } from "./event-forms.ts";
import type { DecisionCheck, EventLog, EventLogEntry, EventLogHeader } from "./header.ts";
import { headerOf } from "./header-form.ts";
import { parseJsonLine } from "./json-line.ts";

export interface EventLogLimits {
  /** Of one line. Default 2^24. */
  readonly lineCharactersMax?: number;
  /** Default 10,000,000. */
  readonly eventsMax?: number;
  /** Leave out a last line that was cut off, as by a crash, instead of refusing it. Default false. */
  readonly acceptsCutOff?: boolean;
}

/** Reads an event log in pieces, however they are cut. Errors: EVENT_LOG_INVALID with the line and the place in it; INVALID_OPTION. */
export class EventLogReader {
  readonly #lineCharactersMax: number;
  readonly #eventsMax: number;
  readonly #acceptsCutOff: boolean;
  readonly #entries: EventLogEntry[] = [];
  readonly #checks: (DecisionCheck & { entriesBefore: number })[] = [];
  #header: EventLogHeader | null = null;
  /** Pieces of a line whose end has not come. */
  #begun: string[] = [];
  #begunCharacters = 0;
  #line = 0;
  #nowNs = 0;

  constructor({ lineCharactersMax = 2 ** 24, eventsMax = 10_000_000, acceptsCutOff = false }: EventLogLimits = {}) {
    checkWhole("lineCharactersMax", lineCharactersMax, 1);
    checkWhole("eventsMax", eventsMax, 0);
    this.#lineCharactersMax = lineCharactersMax;
    this.#eventsMax = eventsMax;
    this.#acceptsCutOff = acceptsCutOff;
  }

  push(piece: string): void {
    let start = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", start)) {
      this.#begin(piece.slice(start, end));
      const line = this.#begun.join("");
      this.#begun = [];
      this.#begunCharacters = 0;
      this.#line++;
      this.#take(line);
      start = end + 1;
    }
    if (start < piece.length) this.#begin(piece.slice(start));
  }

  /** No further piece follows. */
  end(): EventLog {
    const isCutOff = this.#begunCharacters > 0 && !this.#takeLast(this.#begun.join(""));
    if (this.#header === null) this.#fail("", "the log is empty: its first line is to be a header");
    return { header: this.#header, entries: this.#entries, checks: this.#checks, isCutOff };
  }

  /** A last line without a line break is whole, or was cut off. */
  #takeLast(line: string): boolean {
    this.#line++;
    this.#begunCharacters = 0;
    if (this.#acceptsCutOff && this.#header !== null && !isJson(line)) return false;
    this.#take(line);
    return true;
  }

  #begin(part: string): void {
    this.#begunCharacters += part.length;
    if (this.#begunCharacters > this.#lineCharactersMax) {
      this.#line++;
      this.#fail(
        "",
        `the line has more than ${this.#lineCharactersMax} characters; raise lineCharactersMax if it is to`,
      );
    }
    this.#begun.push(part);
  }

  #take(line: string): void {
    let value: unknown;
    try {
      value = parseJsonLine(line);
    } catch {
      this.#fail("", "the line is not JSON; it was cut off, or this is no event log");
    }
    if (this.#header === null) this.#header = headerOf(value, (path, reason) => this.#fail(path, reason));
    else this.#takeEntry(value);
  }

  #takeEntry(value: unknown): void {
    if (this.#entries.length + this.#checks.length >= this.#eventsMax)
      this.#fail("", `the log has more than ${this.#eventsMax} events; raise eventsMax if it is to`);
    if (typeof value === "object" && value !== null && Object.hasOwn(value, "check"))
      this.#checks.push(this.#checkOf(value));
    else this.#entries.push(this.#entryOf(value));
  }

  #checkOf(value: object): DecisionCheck & { entriesBefore: number } {
    for (const name of Object.keys(value))
      if (name !== "check") this.#fail(name.slice(0, 60), "is no field of a check");
    const fault = checkFault((value as { readonly check: unknown }).check);
    if (fault !== null) this.#fail(fault.path, fault.reason);
    const { check } = value as { readonly check: DecisionCheck };
    return { ...check, entriesBefore: this.#entries.length };
  }

  #entryOf(value: unknown): EventLogEntry {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      this.#fail("", "the line is to be an object");
    const { nowNs, event, ...others } = value as Readonly<Record<string, unknown>>;
    for (const name of Object.keys(others)) this.#fail(name.slice(0, 60), "is no field of an entry");
    if (typeof nowNs !== "number" || !(nowNs >= this.#nowNs && nowNs < Number.POSITIVE_INFINITY))
      this.#fail("nowNs", `is to be a time from ${this.#nowNs} ns on, that of the entry before`);
    this.#nowNs = nowNs;
    const fault = eventFault(event);
    if (fault !== null) this.#fail(fault.path, fault.reason);
    return { nowNs, event: event as MasterEvent };
  }

  #fail(path: string, reason: string): never {
    throw new EventLogError("EVENT_LOG_INVALID", { line: Math.max(this.#line, 1), path }, reason);
  }
}

/** Reads a whole log, given as its text or in pieces. Errors as those of `EventLogReader`. */
export function readEventLog(text: string | Iterable<string>, limits?: EventLogLimits): EventLog {
  const reader = new EventLogReader(limits);
  for (const piece of typeof text === "string" ? [text] : text) reader.push(piece);
  return reader.end();
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
