import type { Fault } from "./errors.ts";
import { didYouMean } from "./errors.ts";

/** More faults than this are not collected: who has a thousand fixes the first ones first. */
const FAULTS_MAX = 1000;
const NAME_LENGTH_MAX = 256;
/** Characters of a path, and of a message. */
const TEXT_SHOWN_MAX = 1000;
/** Names compared for suggestions, about 1 µs each. */
const COMPARISONS_MAX = 200_000;

/**
 * Collects what is wrong with a value that came from outside (a JSON file, an untyped caller), and reads fields from it
 * without trusting its type. Every reader returns a usable value of the right type, so that checking goes on to the end.
 */
export class Faults {
  readonly list: Fault[] = [];
  /** Of all faults, those included that were too many for the list. */
  count = 0;
  #comparisonsLeft = COMPARISONS_MAX;

  /** The tail of a message that offers similar names. A thousand faults over many names would be slow: it then stays empty. */
  suggest(name: string, known: ReadonlyMap<string, unknown> | ReadonlySet<string> | readonly string[]): string {
    const count = "size" in known ? known.size : known.length;
    if (count > this.#comparisonsLeft) return "";
    this.#comparisonsLeft -= count;
    return didYouMeanOneOf(name, "size" in known ? known.keys() : known);
  }

  /** No further fault is collected, so that none need be put into words. */
  get full(): boolean {
    return this.list.length >= FAULTS_MAX;
  }

  add(path: string, message: string): void {
    this.count++;
    if (!this.full) this.list.push({ path: cut(path), message: cut(message) });
  }

  get none(): boolean {
    return this.list.length === 0;
  }

  /** A plain object; complains about keys that are not in `known`. */
  record(value: unknown, path: string, known?: readonly string[]): Readonly<Record<string, unknown>> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.add(path, `must be an object, is ${describe(value)}`);
      return {};
    }
    if (known !== undefined) {
      for (const key of Object.keys(value)) {
        if (!known.includes(key)) this.add(at(path, key), `is not a known field${didYouMean(nearNames(key, known))}`);
      }
    }
    return value as Record<string, unknown>;
  }

  array(value: unknown, path: string): readonly unknown[] {
    if (Array.isArray(value)) {
      // Loops over a list do not all see a hole in it.
      if (!value.includes(undefined) || Object.keys(value).length === value.length) return value;
      this.add(path, "must not have holes");
      return [];
    }
    this.add(path, `must be an array, is ${describe(value)}`);
    return [];
  }

  /** A free name: not empty, no control characters, at most 256 characters. */
  name(value: unknown, path: string): string {
    if (typeof value !== "string") {
      this.add(path, `must be a name, is ${describe(value)}`);
      return "";
    }
    if (value.length === 0) this.add(path, "must not be empty");
    else if (value.length > NAME_LENGTH_MAX)
      this.add(path, `has ${value.length} characters, at most ${NAME_LENGTH_MAX}`);
    else if (hasControlCharacter(value)) this.add(path, `has a control character: ${JSON.stringify(value)}`);
    return value;
  }

  /** A whole number from `min` to 2^53 − 1, of a unit where it has one. */
  whole(value: unknown, path: string, min: number, unit?: string): number {
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= min) return value;
    const what = unit === undefined ? "a whole number" : `a whole number of ${unit}`;
    this.add(path, `must be ${what} from ${min} to 2^53 − 1, is ${describe(value)}`);
    return min;
  }

  /** A finite number above 0, or undefined where there is none. */
  optionalRate(value: unknown, path: string, unit: string): number | undefined {
    if (value === undefined || (typeof value === "number" && Number.isFinite(value) && value > 0)) return value;
    this.add(path, `must be a finite number of ${unit} above 0, is ${describe(value)}`);
    return undefined;
  }
}

/** Names have limits, but a name that is over them is told as well. */
function cut(text: string): string {
  return text.length <= TEXT_SHOWN_MAX ? text : `${text.slice(0, TEXT_SHOWN_MAX)}…`;
}

/** The path of a field, in brackets where a dot would not do. */
export function at(path: string, key: string): string {
  const field = /^[A-Za-z_$][\w$]*$/.test(key) ? key : undefined;
  if (field === undefined) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? field : `${path}.${field}`;
}

/** A short rendering of any value for a message. */
export function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 32 || unit === 127) return true;
  }
  return false;
}

/** The tail of a message that offers names similar to one that is unknown; empty when there are none. */
export function didYouMeanOneOf(name: string, known: Iterable<string>): string {
  return didYouMean(nearNames(name, known));
}

const NEAR_MAX = 3;

/** Up to three known names that one could have meant: few edits away, nearest first, then in the given order. */
export function nearNames(name: string, known: Iterable<string>): string[] {
  if (name.length > NAME_LENGTH_MAX) return [];
  const allowed = Math.max(1, Math.floor(name.length / 3));
  const found: { name: string; edits: number }[] = [];
  for (const candidate of new Set(known)) {
    if (Math.abs(candidate.length - name.length) > allowed || candidate.length > NAME_LENGTH_MAX) continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits <= allowed) found.push({ name: candidate, edits });
  }
  return found
    .sort((a, b) => a.edits - b.edits)
    .slice(0, NEAR_MAX)
    .map((entry) => entry.name);
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one name into the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(replace, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
