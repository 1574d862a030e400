/** An event whose fields have the form that its phase asks for. */
export interface CheckedEvent {
  readonly ph: string;
  readonly name?: string;
  readonly cat?: string;
  readonly id?: string | number;
  readonly pid: number;
  readonly tid?: number;
  /** Microseconds; 0 for metadata. */
  readonly ts: number;
  readonly dur?: number;
  readonly bp?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Phases that are checked: slices, asynchronous slices, flows, instants, counters, metadata. */
const PHASES = "BEXbnestfiCM";
const METADATA: Readonly<Record<string, readonly [field: string, type: string]>> = {
  process_name: ["name", "string"],
  process_labels: ["labels", "string"],
  process_sort_index: ["sort_index", "number"],
  thread_name: ["name", "string"],
  thread_sort_index: ["sort_index", "number"],
};

/** What is wrong with one event by itself. */
export function eventFaults(event: unknown): string[] {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return ["is no object"];
  const fields = event as Fields;
  const { ph } = fields;
  if (typeof ph !== "string" || ph.length !== 1 || !PHASES.includes(ph)) {
    return [
      `ph is ${ph === undefined ? "missing" : JSON.stringify(ph)}; phases that are checked are ${[...PHASES].join(" ")}`,
    ];
  }
  const faults: string[] = [];
  const want = (holds: boolean, what: string) => {
    if (!holds) faults.push(what);
  };
  want(Number.isInteger(fields["pid"]), "pid is no whole number");
  const isOfProcess = ph === "C" || "bne".includes(ph) || (ph === "M" && String(fields["name"]).startsWith("process_"));
  want(Number.isInteger(fields["tid"]) || (isOfProcess && fields["tid"] === undefined), "tid is no whole number");
  if (ph !== "M") want(isTime(fields["ts"]), "ts is no finite number from 0");
  if (ph !== "E") want(typeof fields["name"] === "string" && fields["name"] !== "", "name is no text");
  if (fields["cat"] !== undefined) want(typeof fields["cat"] === "string", "cat is no text");
  if (ph === "X") want(isTime(fields["dur"]), "dur is no finite number from 0");
  if ("stfbne".includes(ph)) {
    want(typeof fields["id"] === "string" || Number.isInteger(fields["id"]), "id is neither a text nor a whole number");
    want(typeof fields["cat"] === "string", "cat is missing");
  }
  if (fields["bp"] !== undefined) want(ph === "f" && fields["bp"] === "e", 'bp is for f, and "e"');
  if (ph === "i")
    want(["g", "p", "t", undefined].includes(fields["s"] as string | undefined), "s is none of g, p and t");
  if (ph === "C") want(areNumbers(fields["args"]), "args of a counter are to be numbers, at least one");
  if (ph === "M") want(isMetadata(fields), "the metadata are of no known name, or their args do not suit it");
  return faults;
}

function isTime(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;
}

function areNumbers(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const values: unknown[] = Object.values(value);
  return values.length > 0 && values.every((it) => Number.isFinite(it));
}

function isMetadata({ name, args }: Fields): boolean {
  if (typeof name !== "string" || !Object.hasOwn(METADATA, name)) return false;
  const [field, type] = METADATA[name] as readonly [string, string];
  return typeof args === "object" && args !== null && typeof (args as Fields)[field] === type;
}
