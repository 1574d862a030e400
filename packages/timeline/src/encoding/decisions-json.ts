import type { CandidateReport, Decision, NamedShortage } from "@slicescheduler/scheduler";

type Fail = (reason: string) => never;
type Fields = Readonly<Record<string, unknown>>;
type PredictedOutOfMemory = NonNullable<CandidateReport["outOfMemory"]>;

const CAUSES: Readonly<Record<NamedShortage["cause"], true>> = {
  claim: true,
  room: true,
  order: true,
  predicted: true,
};

/** Decisions from their JSON text; every field is looked at, and no key of the text is ever assigned to an object. */
export function decisionsOfJson(text: string, fail: Fail): Decision[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    fail("the decisions are not JSON");
  }
  if (!Array.isArray(value)) fail("the decisions are no list");
  return value.map((entry: unknown) => decision(entry, fail));
}

function decision(value: unknown, fail: Fail): Decision {
  const fields = record(value, "a decision", fail);
  const { operators, candidates } = fields;
  if (!Array.isArray(operators) || !Array.isArray(candidates)) fail("a decision lacks its operators or its candidates");
  return {
    round: number(fields, "round", fail),
    atNs: number(fields, "atNs", fail),
    instance: number(fields, "instance", fail),
    operators: operators.map((index: unknown) =>
      typeof index === "number" ? index : fail("an operator of a decision is no number"),
    ),
    partition: text(fields, "partition", fail),
    candidates: candidates.map((candidate: unknown) => candidateOf(candidate, fail)),
  };
}

function candidateOf(value: unknown, fail: Fail): CandidateReport {
  const fields = record(value, "a candidate", fail);
  return {
    partition: text(fields, "partition", fail),
    scoreNs: orNull(fields, "scoreNs", number, fail),
    leastNs: orNull(fields, "leastNs", number, fail),
    movedBytes: number(fields, "movedBytes", fail),
    shortage: fields["shortage"] === null ? null : shortageOf(fields["shortage"], fail),
    outOfMemory: fields["outOfMemory"] === null ? null : outOfMemoryOf(fields["outOfMemory"], fail),
  };
}

function shortageOf(value: unknown, fail: Fail): NamedShortage {
  const fields = record(value, "a shortage", fail);
  const cause = text(fields, "cause", fail);
  if (!Object.hasOwn(CAUSES, cause)) fail(`a shortage has the unknown cause ${JSON.stringify(cause.slice(0, 40))}`);
  return {
    accelerator: text(fields, "accelerator", fail),
    neededBytes: number(fields, "neededBytes", fail),
    availableBytes: number(fields, "availableBytes", fail),
    cause: cause as NamedShortage["cause"],
  };
}

function outOfMemoryOf(value: unknown, fail: Fail): PredictedOutOfMemory {
  const fields = record(value, "a predicted lack of memory", fail);
  return {
    accelerator: text(fields, "accelerator", fail),
    atNs: number(fields, "atNs", fail),
    operator: orNull(fields, "operator", text, fail),
    bytesOver: number(fields, "bytesOver", fail),
  };
}

function record(value: unknown, what: string, fail: Fail): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) fail(`${what} is no object`);
  return value as Fields;
}

function number(fields: Fields, name: string, fail: Fail): number {
  const value = fields[name];
  return typeof value === "number" ? value : fail(`${name} of a decision is no number`);
}

function text(fields: Fields, name: string, fail: Fail): string {
  const value = fields[name];
  return typeof value === "string" ? value : fail(`${name} of a decision is no text`);
}

function orNull<Value>(
  fields: Fields,
  name: string,
  read: (fields: Fields, name: string, fail: Fail) => Value,
  fail: Fail,
): Value | null {
  return fields[name] === null ? null : read(fields, name, fail);
}
