import type { Dag, DagAccelerator } from "../dag.ts";
import { assemble, type Declared, type OperatorDraft } from "./assemble.ts";
import { quoted } from "./errors.ts";
import { JsonCursor } from "./json-cursor.ts";
import { checkOptions, type LayoutOptions, type Link } from "./layout.ts";
import { Source } from "./source.ts";

/**
 * A list of operators in JSON: an array of them, or an object `{ accelerators?, link?, operators }`, with the fields and
 * defaults of `Dag`; `accelerator` may be left out or `null`, then `layout` decides. Throws `FormatError` with line and
 * column; a field that is not known, or given twice, is refused. Linear in the content, plus that of the layout.
 */
export function readOperatorsJson(content: string | Uint8Array, options: LayoutOptions = {}): Dag {
  checkOptions(options);
  const cursor = new JsonCursor(new Source(content));
  const file: JsonFile = { accelerators: null, link: null, operators: null };
  if (cursor.peek() === "[") file.operators = readOperators(cursor);
  else cursor.object("the graph", (name, at) => readFileField(cursor, file, name, at));
  cursor.end();
  const source: Source = cursor.source;
  if (file.operators === null) source.fail("MISSING_FIELD", 0, 'the graph has no field "operators"');
  return assemble(source, file.operators, file, options);
}

/** The same with one operator per line (JSON Lines); lines may be blank. */
export function readOperatorsJsonl(content: string | Uint8Array, options: LayoutOptions = {}): Dag {
  checkOptions(options);
  const cursor = new JsonCursor(new Source(content));
  const source: Source = cursor.source;
  const operators: OperatorDraft[] = [];
  let previousEnd = -1;
  while (cursor.peek() !== "") {
    const begin = cursor.at;
    if (previousEnd !== -1 && !source.text.slice(previousEnd, begin).includes("\n"))
      source.fail("SYNTAX", begin, "a second operator begins on this line; each stands on a line of its own");
    operators.push(readOperator(cursor));
    previousEnd = cursor.at;
    const newline = source.text.indexOf("\n", begin);
    if (newline !== -1 && newline < previousEnd)
      source.fail("SYNTAX", begin, "this operator goes on over the end of its line; each stands on a line of its own");
  }
  return assemble(source, operators, { accelerators: null, link: null }, options);
}

interface JsonFile extends Declared {
  accelerators: DagAccelerator[] | null;
  link: Link | null;
  operators: OperatorDraft[] | null;
}

function readFileField(cursor: JsonCursor, file: JsonFile, name: string, at: number): void {
  if (name === "operators") file.operators = readOperators(cursor);
  else if (name === "accelerators") file.accelerators = readAccelerators(cursor);
  else if (name === "link") file.link = readLink(cursor);
  else failUnknown(cursor, "the graph", name, at, ["accelerators", "link", "operators"]);
}

function readOperators(cursor: JsonCursor): OperatorDraft[] {
  const operators: OperatorDraft[] = [];
  cursor.array("operators", () => operators.push(readOperator(cursor)));
  return operators;
}

const OPERATOR_FIELDS = ["name", "durationNs", "accelerator", "inputs", "outputBytes", "workspaceBytes", "rank"];

function readOperator(cursor: JsonCursor): OperatorDraft {
  const source: Source = cursor.source;
  cursor.peek();
  const draft = {
    at: cursor.at,
    name: null as string | null,
    durationNs: null as number | null,
    accelerator: null as OperatorDraft["accelerator"],
    inputs: [] as OperatorDraft["inputs"],
    outputBytes: 0,
    workspaceBytes: 0,
    rank: 0,
  };
  cursor.object("an operator", (name, fieldAt) => {
    cursor.peek();
    const at = cursor.at;
    if (name === "name") draft.name = source.requireName(cursor.string("name"), at, "an operator");
    else if (name === "durationNs") draft.durationNs = source.requireDuration(cursor.number(name), at, name);
    else if (name === "accelerator") draft.accelerator = cursor.null() ? null : { name: nameOf(cursor, name), at };
    else if (name === "inputs") draft.inputs = readInputs(cursor);
    else if (name === "outputBytes") draft.outputBytes = source.requireBytes(cursor.number(name), at, name);
    else if (name === "workspaceBytes") draft.workspaceBytes = source.requireBytes(cursor.number(name), at, name);
    else if (name === "rank") draft.rank = source.requireWhole(cursor.number(name), 0, at, name);
    else failUnknown(cursor, "an operator", name, fieldAt, OPERATOR_FIELDS);
  });
  const { name, durationNs } = draft;
  if (name === null) source.fail("MISSING_FIELD", draft.at, 'an operator has no field "name"');
  if (durationNs === null)
    source.fail("MISSING_FIELD", draft.at, `operator ${quoted(name)} has no field "durationNs"`, { operator: name });
  return { ...draft, name, durationNs };
}

function readInputs(cursor: JsonCursor): OperatorDraft["inputs"] {
  const inputs: { name: string; at: number }[] = [];
  cursor.array("inputs", () => {
    cursor.peek();
    const { at } = cursor;
    inputs.push({ name: cursor.string("an input"), at });
  });
  return inputs;
}

function readAccelerators(cursor: JsonCursor): DagAccelerator[] {
  const accelerators: DagAccelerator[] = [];
  const names = new Set<string>();
  cursor.array("accelerators", () => {
    cursor.peek();
    const { at } = cursor;
    const accelerator = readAccelerator(cursor);
    if (names.has(accelerator.name))
      cursor.source.fail("DUPLICATE_NAME", at, `there are two accelerators ${quoted(accelerator.name)}`, {
        name: accelerator.name,
      });
    names.add(accelerator.name);
    accelerators.push(accelerator);
  });
  return accelerators;
}

function readAccelerator(cursor: JsonCursor): DagAccelerator {
  const source: Source = cursor.source;
  const begin = cursor.at;
  const read: { name?: string; hbmBytes?: number; fixedBytes?: number; copyEngines?: number } = {};
  cursor.object("an accelerator", (field, fieldAt) => {
    cursor.peek();
    const { at } = cursor;
    if (field === "name") read.name = nameOf(cursor, "an accelerator");
    else if (field === "hbmBytes" || field === "fixedBytes")
      read[field] = source.requireBytes(cursor.number(field), at, field);
    else if (field === "copyEngines") read.copyEngines = readCopyEngines(cursor);
    else failUnknown(cursor, "an accelerator", field, fieldAt, ["name", "hbmBytes", "fixedBytes", "copyEngines"]);
  });
  const { name } = read;
  if (name === undefined) source.fail("MISSING_FIELD", begin, 'an accelerator has no field "name"');
  return { ...read, name };
}

function readCopyEngines(cursor: JsonCursor): number {
  const { at } = cursor;
  const engines = cursor.source.requireWhole(cursor.number("copyEngines"), 1, at, "copyEngines");
  if (engines > COPY_ENGINES_MAX)
    cursor.source.fail("INVALID_NUMBER", at, `copyEngines is ${engines}; at most ${COPY_ENGINES_MAX} are read`);
  return engines;
}

const COPY_ENGINES_MAX = 2 ** 31 - 1;

function readLink(cursor: JsonCursor): Link {
  const source: Source = cursor.source;
  cursor.peek();
  const begin = cursor.at;
  const read: { latencyNs?: number; bytesPerSecond?: number } = {};
  cursor.object("the link", (field, fieldAt) => {
    cursor.peek();
    const { at } = cursor;
    if (field === "latencyNs") read.latencyNs = source.requireWhole(cursor.number(field), 0, at, field);
    else if (field === "bytesPerSecond") {
      read.bytesPerSecond = cursor.number(field);
      if (!(read.bytesPerSecond > 0 && Number.isFinite(read.bytesPerSecond)))
        source.fail("INVALID_NUMBER", at, `bytesPerSecond is ${read.bytesPerSecond}; it must be above 0 and finite`);
    } else failUnknown(cursor, "the link", field, fieldAt, ["latencyNs", "bytesPerSecond"]);
  });
  const { latencyNs, bytesPerSecond } = read;
  if (latencyNs === undefined || bytesPerSecond === undefined)
    source.fail("MISSING_FIELD", begin, 'the link needs both "latencyNs" and "bytesPerSecond"');
  return { latencyNs, bytesPerSecond };
}

function nameOf(cursor: JsonCursor, what: string): string {
  cursor.peek();
  const { at } = cursor;
  return cursor.source.requireName(cursor.string(what), at, what);
}

function failUnknown(cursor: JsonCursor, what: string, field: string, at: number, known: readonly string[]): never {
  cursor.source.fail("UNKNOWN_FIELD", at, `${what} has no field ${quoted(field)}; there are ${known.join(", ")}`, {
    field,
  });
}
