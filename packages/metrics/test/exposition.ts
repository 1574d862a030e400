/** Reads Prometheus text by the rules of the exposition format 0.0.4, and refuses whatever breaks one. */

export interface Family {
  readonly help: string;
  readonly type: string;
  /** By the sample's name and its labels, in the order of the text. */
  readonly samples: Map<string, number>;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)/;
const TYPES = ["counter", "gauge", "histogram", "summary", "untyped"];

export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const families = new Map<string, { help: string; type: string; samples: Map<string, number> }>();
  let current = "";
  const familyOf = (name: string) => {
    const family = families.get(name) ?? { help: "", type: "", samples: new Map<string, number>() };
    if (!families.has(name)) families.set(name, family);
    else if (name !== current) throw new Error(`the lines of ${name} are not together`);
    current = name;
    return family;
  };
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const [, keyword, name = "", rest = ""] = new RegExp(`^# (HELP|TYPE) (${NAME}) ?(.*)$`, "s").exec(line) ?? [];
    if (keyword !== undefined) {
      const family = familyOf(name);
      if (keyword === "TYPE" && (family.type !== "" || family.samples.size > 0 || !TYPES.includes(rest)))
        throw new Error(`a second, late or unknown type: ${line}`);
      if (keyword === "HELP" && family.help !== "") throw new Error(`a second help: ${line}`);
      family[keyword === "TYPE" ? "type" : "help"] = rest;
    } else if (!line.startsWith("#")) readSample(line, familyOf(familyNameOf(line, families, current)));
  }
  for (const [name, family] of families) checkFamily(name, family);
  return families;
}

/** Samples of a histogram have names of their own. */
function familyNameOf(line: string, families: ReadonlyMap<string, Family>, current: string): string {
  const name = new RegExp(`^${NAME}`).exec(line)?.[0] ?? "";
  const base = name.replace(/_(bucket|sum|count)$/, "");
  if (families.get(base)?.type === "histogram") return base;
  if (!families.has(name)) throw new Error(`${line}: no type is declared; the last was of ${current}`);
  return name;
}

function readSample(line: string, { samples }: Family) {
  const [, name = "", braced, labels = "", value = ""] =
    new RegExp(`^(${NAME})(\\{(.*)\\})? (\\S+)( -?[0-9]+)?$`, "s").exec(line) ?? [];
  if (name === "") throw new Error(`no sample: ${line}`);
  if (braced !== undefined) checkLabels(labels, line);
  const number = value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value);
  if (Number.isNaN(number) && value !== "NaN") throw new Error(`no number: ${line}`);
  const key = `${name}{${labels}}`;
  if (samples.has(key)) throw new Error(`a second sample: ${line}`);
  samples.set(key, number);
}

function checkLabels(labels: string, line: string) {
  const seen = new Set<string>();
  for (let rest = labels; rest !== ""; ) {
    const [found, name = ""] = LABEL.exec(rest) ?? [];
    if (found === undefined || seen.has(name)) throw new Error(`wrong labels: ${line}`);
    seen.add(name);
    rest = rest.slice(found.length);
  }
}

function checkFamily(name: string, { help, type, samples }: Family) {
  if (help === "" || type === "") throw new Error(`${name}: no help or no type`);
  if (type === "counter") for (const [key, value] of samples) if (!(value >= 0)) throw new Error(`${key} is ${value}`);
  if (type === "histogram")
    for (const key of samples.keys()) if (key.includes("_count")) checkHistogram(name, key, samples);
}

function checkHistogram(name: string, countKey: string, samples: ReadonlyMap<string, number>) {
  const labels = countKey.slice(`${name}_count{`.length, -1);
  // The bound may stand before or after the other labels.
  const buckets = [...samples].flatMap(([key, count]) => {
    if (!key.startsWith(`${name}_bucket{`)) return [];
    const inside = key.slice(`${name}_bucket{`.length, -1);
    const le = /(?:^|,)le="([^"]+)"/.exec(inside)?.[1] ?? "";
    const others = inside.replace(/(^|,)le="[^"]+"/, "").replace(/^,/, "");
    return others === labels ? [{ bound: le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), count }] : [];
  });
  for (const [at, { bound, count }] of buckets.entries()) {
    const before = buckets[at - 1];
    if (before !== undefined && (before.bound >= bound || before.count > count))
      throw new Error(`${countKey}: the buckets do not rise`);
  }
  const last = buckets.at(-1);
  if (last?.bound !== Number.POSITIVE_INFINITY || last.count !== samples.get(countKey))
    throw new Error(`${countKey}: the last bucket is not the count`);
  if (!samples.has(countKey.replace("_count", "_sum"))) throw new Error(`${countKey}: no sum`);
}
