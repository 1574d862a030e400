import type { Dag } from "./dag.ts";
import { quoted, SimulatorError } from "./errors.ts";

/** What an arbiter can keep apart. */
const ACCELERATORS_MAX = 8192;

/** Refuses with DAG_INVALID what is missing or no list, object or name, for callers without types. */
export function checkDag(dag: Dag): void {
  requireObject(dag, "the graph");
  requireList(dag.accelerators, "accelerators");
  requireList(dag.operators, "operators");
  const count = dag.accelerators.length;
  if (count < 1 || count > ACCELERATORS_MAX) {
    const message = `accelerators has ${count} items; it must have from 1 to ${ACCELERATORS_MAX}`;
    throw new SimulatorError("DAG_INVALID", message, { accelerators: count });
  }
  if (dag.link !== undefined) requireObject(dag.link, "link");
  for (const [index, accelerator] of dag.accelerators.entries()) requireNamed(accelerator, `accelerators[${index}]`);
  for (const [index, operator] of dag.operators.entries()) {
    const { name, accelerator, inputs = [] } = requireNamed(operator, `operators[${index}]`);
    const of = `of operator ${quoted(name)}`;
    if (typeof accelerator !== "string") fail(`accelerator ${of}`, "a string", accelerator);
    requireList(inputs, `inputs ${of}`);
    for (const input of inputs) if (typeof input !== "string") fail(`an input ${of}`, "a string", input);
  }
}

function requireNamed<T extends { readonly name: string }>(item: T, what: string): T {
  requireObject(item, what);
  if (typeof item.name !== "string") fail(`${what}.name`, "a string", item.name);
  return item;
}

function requireObject(value: unknown, what: string): void {
  if (typeof value !== "object" || value === null) fail(what, "an object", value);
}

function requireList(value: unknown, what: string): void {
  if (!Array.isArray(value)) fail(what, "an array", value);
}

function fail(what: string, expected: string, found: unknown): never {
  const kind = found === null ? "null" : typeof found;
  throw new SimulatorError("DAG_INVALID", `${what} must be ${expected}, found ${kind}`, {
    what,
    expected,
    found: kind,
  });
}
