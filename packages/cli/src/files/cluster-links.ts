/** Links of a cluster file: pairs as they are, or patterns over the accelerators' names. */
import type { LinkSpec } from "@slicescheduler/gmg";
import type { FileFault } from "../errors.ts";
import type { LoadedDocument } from "./document.ts";
import type { PathSegment } from "./path.ts";
import { parseQuantity } from "./quantity.ts";

/** More pairs than this are not written out; a default link says the same in one line. */
const pairsMax = 100_000;
/** Names held to patterns, in all links together. */
const comparisonsMax = 2_000_000;

export interface ReadLink {
  readonly link: LinkSpec;
  /** Where it stands in the file. */
  readonly path: readonly PathSegment[];
}

type Entry = Readonly<Record<string, unknown>>;

/** Turns link entries into links; collects what the patterns do not match. */
export class LinkReader {
  readonly faults: FileFault[] = [];
  readonly #document: LoadedDocument;
  readonly #names: readonly string[];
  #pairs = 0;
  #comparisons = 0;

  /** @param names of the accelerators, in their order. */
  constructor(document: LoadedDocument, names: readonly unknown[]) {
    this.#document = document;
    this.#names = names.filter((name) => typeof name === "string");
  }

  read(entry: Entry, path: readonly PathSegment[]): ReadLink[] {
    const { name } = entry;
    const latencyNs = parseQuantity(entry["latencyNs"] ?? entry["latency"], "nanoseconds") ?? Number.NaN;
    const rate = parseQuantity(entry["bytesPerSecond"] ?? entry["bandwidth"], "bytesPerSecond") ?? Number.NaN;
    const capacity = entry["capacity"] === undefined ? {} : { capacity: entry["capacity"] };
    const link = (linkName: unknown, connects: unknown): ReadLink => ({
      // Whatever it holds, `compileCluster` checks it.
      link: { name: linkName, latencyNs, bytesPerSecond: Math.round(rate), ...capacity, connects } as LinkSpec,
      path,
    });
    if (entry["between"] !== undefined) {
      const of = ([from, to]: [string, string]): unknown => (typeof name === "string" ? `${name} ${from}→${to}` : name);
      return this.#between(entry["between"], path).map((pair) => link(of(pair), [pair]));
    }
    if (entry["from"] !== undefined) return [link(name, this.#fromTo(entry, path))];
    return [link(name, entry["connects"])];
  }

  #between(value: unknown, path: readonly PathSegment[]): [string, string][] {
    const names = this.#matching(value, [...path, "between"]);
    return this.#pairsOf(names, names, path);
  }

  #fromTo(entry: Entry, path: readonly PathSegment[]): [string, string][] {
    return this.#pairsOf(
      this.#matching(entry["from"], [...path, "from"]),
      this.#matching(entry["to"], [...path, "to"]),
      path,
    );
  }

  #pairsOf(
    sources: readonly string[],
    destinations: readonly string[],
    path: readonly PathSegment[],
  ): [string, string][] {
    this.#pairs += sources.length * destinations.length;
    if (this.#pairs > pairsMax) {
      this.faults.push(
        this.#document.fault(path, `makes more than ${pairsMax} pairs; a defaultLink says the same in a line`),
      );
      this.#pairs -= sources.length * destinations.length;
      return [];
    }
    return sources.flatMap((source) =>
      destinations.flatMap((destination): [string, string][] =>
        source === destination ? [] : [[source, destination]],
      ),
    );
  }

  #tooManyPatterns(path: readonly PathSegment[]): void {
    if (this.#comparisons === Number.POSITIVE_INFINITY) return;
    this.#comparisons = Number.POSITIVE_INFINITY;
    const message = `so many patterns over ${this.#names.length} accelerators are not looked at; name them in fewer`;
    this.faults.push(this.#document.fault(path, message));
  }

  /** Names that the patterns match, in the accelerators' order. */
  #matching(value: unknown, path: readonly PathSegment[]): string[] {
    const found = new Set<string>();
    for (const [index, pattern] of (Array.isArray(value) ? value : []).entries()) {
      if (typeof pattern !== "string") continue;
      this.#comparisons += this.#names.length;
      if (this.#comparisons > comparisonsMax) {
        this.#tooManyPatterns(path);
        return [];
      }
      const matches = this.#names.filter((name) => isMatch(name, pattern));
      if (matches.length === 0) {
        const some = this.#names
          .slice(0, 4)
          .map((name) => JSON.stringify(name))
          .join(", ");
        const more = this.#names.length > 4 ? ", …" : "";
        const message = `matches none of the ${this.#names.length} accelerators ${some}${more}`;
        this.faults.push(this.#document.fault([...path, index], `${JSON.stringify(pattern.slice(0, 60))} ${message}`));
      }
      for (const name of matches) found.add(name);
    }
    return this.#names.filter((name) => found.has(name));
  }
}

/** Whether a name matches a pattern in which `*` stands for anything. Linear in the name times the pattern. */
export function isMatch(name: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() ?? "";
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
