import type { Dag } from "../dag.ts";
import { assemble, type OperatorDraft } from "./assemble.ts";
import { quoted } from "./errors.ts";
import { checkOptions, type LayoutOptions, type Link, refuse } from "./layout.ts";
import { Source } from "./source.ts";

export interface StgOptions extends LayoutOptions {
  /** Of one unit of processing time, and of one unit of communication cost; above 0. */
  readonly timeUnitNs: number;
  readonly accelerators: NonNullable<LayoutOptions["accelerators"]>;
  readonly layout: NonNullable<LayoutOptions["layout"]>;
  /**
   * Whether a cost follows each predecessor. An operator has one output, so its edges cost the same (`"uniform"`, anything
   * else is refused) or as much as the dearest of them (`"largest"`). Default `"none"`: the file has no costs.
   */
  readonly communication?: "none" | "uniform" | "largest";
}

/**
 * A graph of the Standard Task Graph Set (Tobita and Kasahara 2002; also the prototype set, whose first line has two numbers):
 * the number of operators, then for each its number, processing time, number of predecessors and these; `#` begins the
 * information part, which is not read. Operators are named by their numbers. The dummies at both ends, which take no time,
 * are left out where they communicate nothing; anything else that takes no time takes 1 ns. A communication cost becomes
 * one byte per nanosecond, over a link of one byte per nanosecond unless `link` says otherwise. Throws `FormatError` with
 * line and column. Linear in the content, plus the layout.
 */
export function readStg(content: string | Uint8Array, options: StgOptions): Dag {
  const { timeUnitNs, communication = "none" } = options;
  checkOptions(options);
  if (!(timeUnitNs > 0 && Number.isFinite(timeUnitNs)))
    refuse(`timeUnitNs is ${timeUnitNs}; it must be above 0 and finite`);
  if (!["none", "uniform", "largest"].includes(communication))
    refuse(`communication is ${quoted(String(communication))}; it must be "none", "uniform" or "largest"`);
  const source: Source = new Source(content);
  const entries = readEntries(source, communication !== "none", timeUnitNs);
  const drafts = draftsOf(entries, communicationOf(source, entries, communication));
  return assemble(
    source,
    drafts,
    { accelerators: null, link: communication === "none" ? null : ONE_BYTE_PER_NS },
    options,
  );
}

const ONE_BYTE_PER_NS: Link = { latencyNs: 0, bytesPerSecond: 1e9 };

interface StgEntry {
  readonly at: number;
  readonly name: string;
  /** 0 for what takes no time. */
  readonly durationNs: number;
  readonly inputs: readonly StgInput[];
}

interface StgInput {
  readonly name: string;
  readonly at: number;
  /** 0 without costs. */
  readonly costNs: number;
}

/** Entries until the information part; as many as the first line says, with both dummies, with the last only, or with none. */
function readEntries(source: Source, hasCosts: boolean, timeUnitNs: number): StgEntry[] {
  const tokens = new StgTokens(source);
  const count = tokens.whole("the number of operators");
  if (tokens.isSameLine()) tokens.whole("the number of processors");
  const entries: StgEntry[] = [];
  while (!tokens.isEnd()) entries.push(readEntry(tokens, source, hasCosts, timeUnitNs));
  const first = entries[0]?.name === "0" ? 2 : 0;
  const isComplete =
    entries.length === count + first ||
    (first === 0 && entries.length === count + 1 && entries.at(-1)?.durationNs === 0);
  if (!isComplete) {
    const dummies = first === 2 ? " and two dummies" : "";
    source.fail(
      entries.length < count + first ? "TRUNCATED" : "SYNTAX",
      entries.length < count + first ? tokens.at : (entries[count + first]?.at ?? 0),
      `the first line promises ${count} operators${dummies}, here are ${entries.length}`,
      { promised: count + first, found: entries.length },
    );
  }
  requireKnown(source, entries);
  return entries;
}

function readEntry(tokens: StgTokens, source: Source, hasCosts: boolean, timeUnitNs: number): StgEntry {
  const at = tokens.next();
  const name = String(tokens.whole("the number of an operator"));
  const timeAt = tokens.next();
  const time = tokens.decimal(`the processing time of operator ${name}`);
  const durationNs = time === 0 ? 0 : source.requireDuration(Math.round(time * timeUnitNs), timeAt, `operator ${name}`);
  const predecessors = tokens.whole(`the number of predecessors of operator ${name}`);
  const inputs: StgInput[] = [];
  while (inputs.length < predecessors) {
    const inputAt = tokens.next();
    const input = String(tokens.whole(`predecessor ${inputs.length + 1} of ${predecessors} of operator ${name}`));
    const costAt = tokens.next();
    const cost = hasCosts ? tokens.decimal(`the communication cost from ${input} to ${name}`) : 0;
    const costNs = source.requireBytes(
      Math.round(cost * timeUnitNs),
      costAt,
      `the communication from ${input} to ${name}`,
    );
    inputs.push({ name: input, at: inputAt, costNs });
  }
  return { at, name, durationNs, inputs };
}

/** Before dummies are left out, so that a reference to one that is not there is not taken for one that is left out. */
function requireKnown(source: Source, entries: readonly StgEntry[]): void {
  const names = new Set<string>();
  for (const { name, at } of entries) {
    if (names.has(name)) source.fail("DUPLICATE_NAME", at, `there are two operators ${name}`, { name });
    names.add(name);
  }
  for (const { name, inputs } of entries) {
    for (const input of inputs) {
      if (!names.has(input.name))
        source.fail("UNKNOWN_OPERATOR", input.at, `operator ${name} follows ${input.name}, which is no operator`, {
          operator: name,
          input: input.name,
        });
    }
  }
}

/** All but the dummies: those that take no time, have nothing before them or nothing after, and communicate nothing. */
function draftsOf(entries: readonly StgEntry[], costs: ReadonlyMap<string, number>): OperatorDraft[] {
  const read = new Set<string>();
  for (const { inputs } of entries) for (const input of inputs) read.add(input.name);
  const dummies = new Set<string>();
  for (const { name, durationNs, inputs } of entries) {
    const isEnd = inputs.length === 0 || !read.has(name);
    const isSilent = (costs.get(name) ?? 0) === 0 && inputs.every(({ costNs }) => costNs === 0);
    if (durationNs === 0 && isEnd && isSilent) dummies.add(name);
  }
  const drafts: OperatorDraft[] = [];
  for (const { at, name, durationNs, inputs } of entries) {
    if (dummies.has(name)) continue;
    drafts.push({
      at,
      name,
      durationNs: Math.max(1, durationNs),
      accelerator: null,
      inputs: inputs.filter((input) => !dummies.has(input.name)),
      outputBytes: costs.get(name) ?? 0,
      workspaceBytes: 0,
      rank: 0,
    });
  }
  return drafts;
}

/** The cost of each operator's output, by its edges. */
function communicationOf(
  source: Source,
  entries: readonly StgEntry[],
  communication: "none" | "uniform" | "largest",
): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  if (communication === "none") return costs;
  for (const { name, inputs } of entries) {
    for (const input of inputs) {
      const before = costs.get(input.name);
      if (before !== undefined && before !== input.costNs && communication === "uniform")
        source.fail(
          "NOT_EXPRESSIBLE",
          input.at,
          `the communication from ${input.name} to ${name} costs ${input.costNs} ns, that to an operator before it ${before} ns; ` +
            'an operator has one output: read with communication "largest" to take the dearest',
          { operator: input.name, reader: name },
        );
      if (before === undefined || input.costNs > before) costs.set(input.name, input.costNs);
    }
  }
  return costs;
}

/** Numbers between blanks, up to the end or to a line that begins with `#`. */
class StgTokens {
  readonly #source: Source;
  /** Offset of the next character. */
  at = 0;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Past blanks, to the offset of the next number. */
  next(): number {
    BLANKS.lastIndex = this.at;
    BLANKS.test(this.#source.text);
    this.at = BLANKS.lastIndex;
    return this.at;
  }

  isEnd(): boolean {
    const { text } = this.#source;
    const at = this.next();
    return at === text.length || (text[at] === "#" && (at === 0 || text[at - 1] === "\n"));
  }

  /** Whether another number stands on the line that was begun. */
  isSameLine(): boolean {
    const before = this.at;
    return !this.isEnd() && !this.#source.text.slice(before, this.at).includes("\n");
  }

  whole(what: string): number {
    const at = this.next();
    return this.#source.requireWhole(this.decimal(what), 0, at, what);
  }

  decimal(what: string): number {
    if (this.isEnd()) this.#source.fail("TRUNCATED", this.at, `the graph ends before ${what}`);
    WORD.lastIndex = this.at;
    const [word = ""] = WORD.exec(this.#source.text) ?? [];
    if (!/^\d+(?:\.\d+)?$/.test(word)) {
      const isNumber = /^[+-]?\d/.test(word) || /^[+-]?(?:nan|inf)/i.test(word);
      this.#source.fail(
        isNumber ? "INVALID_NUMBER" : "SYNTAX",
        this.at,
        `${what} is ${quoted(word)}; it must be a number, 0 or more, in decimal digits`,
      );
    }
    this.at += word.length;
    return Number(word);
  }
}

const BLANKS = /\s*/y;
const WORD = /[^\s]+/y;
