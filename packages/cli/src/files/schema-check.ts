/** Holds a document to one of the published schemas, and words what is wrong: what was found, what is allowed, what was meant. */
import { nearest } from "@slicescheduler/workloads";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { readSchema, type SchemaName } from "../assets.ts";
import type { FileFault } from "../errors.ts";
import type { LoadedDocument } from "./document.ts";
import { type PathSegment, segments } from "./path.ts";

const faultsMax = 100;

/** A fault, and the path it stands at. */
export interface SchemaFault {
  readonly path: readonly PathSegment[];
  readonly fault: FileFault;
}

const validators = new Map<SchemaName, ValidateFunction>();

/** Every fault of the document by the schema, in the text's order; at most a hundred. Linear in the document. */
export function schemaFaults(document: LoadedDocument, name: SchemaName): SchemaFault[] {
  const validate = validatorOf(name);
  if (validate(document.value)) return [];
  const own = (validate.errors ?? []).filter(isOwnFault);
  // Of a value that is of another type altogether nothing else is worth telling.
  const mistyped = new Set(own.flatMap(({ keyword, instancePath }) => (keyword === "type" ? [instancePath] : [])));
  const errors = own.filter(({ keyword, instancePath }) => keyword === "type" || !mistyped.has(instancePath));
  const found = new Map<string, SchemaFault>();
  for (const error of errors) {
    if (found.size >= faultsMax) break;
    const one = worded(document, error);
    const key = `${one.fault.line}:${one.fault.column}:${one.fault.path}:${one.fault.message}`;
    if (!found.has(key)) found.set(key, one);
  }
  return [...found.values()].sort((a, b) => a.fault.line - b.fault.line || a.fault.column - b.fault.column);
}

function validatorOf(name: SchemaName): ValidateFunction {
  const known = validators.get(name);
  if (known !== undefined) return known;
  const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, validateFormats: false, addUsedSchema: false });
  ajv.addKeyword("x-allowed");
  const validate = ajv.compile(readSchema(name));
  validators.set(name, validate);
  return validate;
}

/** Not a part of a choice, which is told as a whole. */
function isOwnFault({ schemaPath, keyword }: ErrorObject): boolean {
  return !/\/(?:oneOf|anyOf|not)\/./.test(schemaPath) && keyword !== "if";
}

function worded(document: LoadedDocument, error: ErrorObject): SchemaFault {
  const path = segments(error.instancePath);
  const { keyword, params, data } = error;
  const parent = (error.parentSchema ?? {}) as Readonly<Record<string, unknown>>;
  const allowed = typeof parent["x-allowed"] === "string" ? parent["x-allowed"] : error.message;
  const extra = params["additionalProperty"] ?? params["propertyName"];
  if (keyword === "additionalProperties" || keyword === "propertyNames") {
    const key = String(extra);
    const fields = Object.keys((parent["properties"] ?? {}) as object);
    const near = nearest(key, fields);
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    const at = [...path, key];
    return { path: at, fault: document.fault(at, `is no field here${hint} (known: ${fields.join(", ")})`, "key") };
  }
  let message = `is ${shownValue(data)}; allowed: ${allowed}`;
  if (keyword === "required") message = `lacks "${params["missingProperty"]}"`;
  else if (keyword === "dependencies")
    message = `"${params["property"]}" needs "${params["missingProperty"]}" beside it`;
  else if (keyword === "oneOf" && params["passingSchemas"] !== null) message = `must have only ${allowed}`;
  else if (keyword === "oneOf") message = `lacks ${allowed}`;
  else if (keyword === "not" && typeof data === "object") message = `must have ${allowed}`;
  return { path, fault: document.fault(path, message) };
}

/** A value as a message shows it: on one line, cut where it is long. */
function shownValue(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "empty";
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" ? "an object" : String(value);
}

/** Whether one of two paths leads to the other. */
export function overlaps(a: readonly PathSegment[], b: readonly PathSegment[]): boolean {
  const length = Math.min(a.length, b.length);
  return a.slice(0, length).join("\0") === b.slice(0, length).join("\0");
}
