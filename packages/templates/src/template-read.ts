import { isDtype } from "./dtype.ts";
import { EXPRESSION_FUNCTIONS } from "./expression.ts";
import type { Dimension, OperatorSpec, OutputSpec, PartitionSpec, TemplateSpec, TensorSpec } from "./types.ts";
import { at, describe, type Faults } from "./validation.ts";

const OPERATORS_MAX = 1_000_000;
const SYMBOLS_MAX = 256;
const RANK_MAX = 16;
const BUNDLE_MAX = 65_536;

/** Large templates are read field by field: building the copies from spread parts takes several times as long. */
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** What expressions can name. */
const SYMBOL = /^[A-Za-z_]\w*$/;
/** Names of operators, inputs and outputs: no dot and no bracket, which references need, and no digit first. */
const IDENTIFIER = /^[A-Za-z_][\w:/-]*$/;

const TEMPLATE_FIELDS: readonly (keyof TemplateSpec)[] = [
  "name",
  "symbols",
  "bounds",
  "inputs",
  "external",
  "operators",
  "outputs",
  "partitions",
];

/**
 * Copies a template specification that may come from anywhere, checking the type and form of every field but no
 * reference. The copy is safe to walk even after a fault. Copies of records keep a name like `__proto__` as a plain key.
 */
export function readTemplate(faults: Faults, value: unknown): TemplateSpec {
  const root = faults.record(value, "template", TEMPLATE_FIELDS);
  const name = faults.name(root["name"], "name");
  const symbols = readSymbols(faults, root["symbols"]);
  const bounds = root["bounds"] === undefined ? undefined : readBounds(faults, root["bounds"], symbols);
  const inputs = root["inputs"] === undefined ? undefined : readTensors(faults, root["inputs"], "inputs");
  const external = root["external"] === undefined ? undefined : readTensors(faults, root["external"], "external");
  const operators = faults.array(root["operators"], "operators");
  if (Array.isArray(root["operators"]) && operators.length === 0) faults.add("operators", "must not be empty");
  if (operators.length > OPERATORS_MAX) {
    faults.add("operators", `has ${operators.length} operators, at most ${OPERATORS_MAX}`);
  }
  return {
    name,
    symbols,
    ...(bounds === undefined ? {} : { bounds }),
    ...(inputs === undefined ? {} : { inputs }),
    ...(external === undefined ? {} : { external }),
    operators: operators.slice(0, OPERATORS_MAX).map((entry, i) => readOperator(faults, entry, `operators[${i}]`)),
    outputs: readOutputs(faults, root["outputs"]),
    partitions: readPartitions(faults, root["partitions"]),
  };
}

function readSymbols(faults: Faults, value: unknown): readonly string[] {
  const seen = new Set<string>();
  const symbols = faults.array(value, "symbols");
  if (symbols.length > SYMBOLS_MAX) faults.add("symbols", `has ${symbols.length} symbols, at most ${SYMBOLS_MAX}`);
  return symbols.slice(0, SYMBOLS_MAX).map((entry, i) => {
    const path = `symbols[${i}]`;
    const symbol = faults.name(entry, path);
    if (symbol !== "" && !SYMBOL.test(symbol)) {
      faults.add(path, `${describe(symbol)} is not a symbol: letters, digits and _, no digit first`);
    }
    if (EXPRESSION_FUNCTIONS.includes(symbol)) faults.add(path, `${describe(symbol)} is a function of expressions`);
    if (seen.has(symbol)) faults.add(path, `${describe(symbol)} is declared twice`);
    seen.add(symbol);
    return symbol;
  });
}

function readBounds(faults: Faults, value: unknown, symbols: readonly string[]): Readonly<Record<string, number>> {
  const bounds: Record<string, number> = {};
  const record = faults.record(value, "bounds");
  for (const name of Object.keys(record)) {
    const path = at("bounds", name);
    if (!symbols.includes(name)) {
      faults.add(path, `no symbol ${describe(name)} is declared${faults.suggest(name, symbols)}`);
    }
    setOwn(bounds, name, faults.whole(record[name], path, 0));
  }
  return bounds;
}

function readTensors(
  faults: Faults,
  value: unknown,
  field: "inputs" | "external",
): Readonly<Record<string, TensorSpec | readonly TensorSpec[]>> {
  return entriesOf(faults, value, field, (entry, path) => {
    if (!Array.isArray(entry)) return readTensor(faults, entry, path);
    if (entry.length === 0) faults.add(path, "is a bundle of no tensors; leave it out");
    if (entry.length > BUNDLE_MAX) faults.add(path, `is a bundle of ${entry.length} tensors, at most ${BUNDLE_MAX}`);
    return faults
      .array(entry, path)
      .slice(0, BUNDLE_MAX)
      .map((tensor, i) => readTensor(faults, tensor, `${path}[${i}]`));
  });
}

const TENSOR_FIELDS: readonly (keyof OutputSpec)[] = ["shape", "dtype"];
const OUTPUT_FIELDS: readonly (keyof OutputSpec)[] = [...TENSOR_FIELDS, "aliases"];

function readTensor(faults: Faults, value: unknown, path: string, fields = TENSOR_FIELDS): OutputSpec {
  const entry = faults.record(value, path, fields);
  const shape = faults.array(entry["shape"], `${path}.shape`);
  if (shape.length > RANK_MAX) faults.add(`${path}.shape`, `has ${shape.length} dimensions, at most ${RANK_MAX}`);
  const dimensions = shape
    .slice(0, RANK_MAX)
    .map((dimension, i) => readDimension(faults, dimension, `${path}.shape[${i}]`));
  const dtype = entry["dtype"];
  if (!isDtype(dtype)) faults.add(`${path}.dtype`, `is not an element type: ${describe(dtype)}`);
  const spec: Mutable<OutputSpec> = { shape: dimensions, dtype: isDtype(dtype) ? dtype : "float32" };
  if (entry["aliases"] !== undefined) spec.aliases = readReference(faults, entry["aliases"], `${path}.aliases`);
  return spec;
}

/** Expressions are compiled where they are used; here only the type is checked. */
function readDimension(faults: Faults, value: unknown, path: string): Dimension {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  faults.add(path, `must be a whole number from 0 to 2^53 − 1 or an expression, is ${describe(value)}`);
  return 0;
}

function readReference(faults: Faults, value: unknown, path: string): string {
  if (typeof value === "string") return value;
  faults.add(path, `must be a reference such as "operator.output", is ${describe(value)}`);
  return "";
}

const OPERATOR_FIELDS: readonly (keyof OperatorSpec)[] = [
  "name",
  "inputs",
  "outputs",
  "workspaceBytes",
  "weights",
  "flops",
  "movedBytes",
  "durationModel",
];

const COST_FIELDS = ["workspaceBytes", "flops", "movedBytes"] as const;

function readOperator(faults: Faults, value: unknown, path: string): OperatorSpec {
  const entry = faults.record(value, path, OPERATOR_FIELDS);
  const spec: Mutable<OperatorSpec> = {
    name: readIdentifier(faults, entry["name"], `${path}.name`),
    outputs: entriesOf(faults, entry["outputs"], `${path}.outputs`, (output, outputPath) =>
      readTensor(faults, output, outputPath, OUTPUT_FIELDS),
    ),
  };
  const { inputs, weights, durationModel } = entry;
  if (inputs !== undefined) {
    spec.inputs = faults
      .array(inputs, `${path}.inputs`)
      .map((reference, i) => readReference(faults, reference, `${path}.inputs[${i}]`));
  }
  for (const field of COST_FIELDS) {
    if (entry[field] !== undefined) spec[field] = readDimension(faults, entry[field], `${path}.${field}`);
  }
  if (weights !== undefined) spec.weights = readWeights(faults, weights, `${path}.weights`);
  if (durationModel !== undefined) spec.durationModel = faults.name(durationModel, `${path}.durationModel`);
  return spec;
}

function readWeights(faults: Faults, value: unknown, path: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(faults.record(value, path)).map(([name, bytes]) => [
      faults.name(name, at(path, name)),
      faults.whole(bytes, at(path, name), 0, "bytes"),
    ]),
  );
}

function readOutputs(faults: Faults, value: unknown): Readonly<Record<string, string | readonly string[]>> {
  return entriesOf(faults, value, "outputs", (entry, path) => {
    if (!Array.isArray(entry)) return readReference(faults, entry, path);
    if (entry.length === 0) faults.add(path, "is a bundle of no tensors; leave it out");
    return entry.map((reference, i) => readReference(faults, reference, `${path}[${i}]`));
  });
}

function readPartitions(faults: Faults, value: unknown): readonly PartitionSpec[] {
  const partitions = faults.array(value, "partitions");
  if (Array.isArray(value) && partitions.length === 0) faults.add("partitions", "must not be empty");
  return partitions.map((item, i) => {
    const path = `partitions[${i}]`;
    const entry = faults.record(item, path, ["name", "accelerators", "layout"]);
    const accelerators = faults.array(entry["accelerators"], `${path}.accelerators`);
    if (Array.isArray(entry["accelerators"]) && accelerators.length === 0) {
      faults.add(`${path}.accelerators`, "must not be empty");
    }
    return {
      name: faults.name(entry["name"], `${path}.name`),
      accelerators: accelerators.map((name, j) => faults.name(name, `${path}.accelerators[${j}]`)),
      layout: faults
        .array(entry["layout"], `${path}.layout`)
        .map((position, j) => faults.whole(position, `${path}.layout[${j}]`, 0, "positions")),
    };
  });
}

function readIdentifier(faults: Faults, value: unknown, path: string): string {
  const name = faults.name(value, path);
  if (name !== "" && !IDENTIFIER.test(name)) {
    faults.add(path, `${describe(name)} is not an identifier: letters, digits, _ - : and /, a letter or _ first`);
  }
  return name;
}

/** A copy of a record whose keys are identifiers. */
function entriesOf<Value>(
  faults: Faults,
  value: unknown,
  path: string,
  read: (entry: unknown, path: string) => Value,
): Readonly<Record<string, Value>> {
  const copy: Record<string, Value> = {};
  const record = faults.record(value, path);
  for (const key of Object.keys(record)) {
    const entryPath = at(path, key);
    setOwn(copy, readIdentifier(faults, key, entryPath), read(record[key], entryPath));
  }
  return copy;
}

/** Plain assignment would call the setter of `__proto__`. */
function setOwn<Value>(record: Record<string, Value>, key: string, value: Value): void {
  if (key !== "__proto__") record[key] = value;
  else Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
}
