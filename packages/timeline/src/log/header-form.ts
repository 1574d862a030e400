import type { EventLogHeader } from "./header.ts";
import { LOG_FORMAT, LOG_VERSION } from "./header.ts";

type Fail = (path: string, reason: string) => never;
type Fields = Readonly<Record<string, unknown>>;

const FIELDS: { readonly [Name in keyof EventLogHeader]-?: (value: unknown) => string | null } = {
  format: (value) => (value === LOG_FORMAT ? null : JSON.stringify(LOG_FORMAT)),
  version: (value) => (value === LOG_VERSION ? null : String(LOG_VERSION)),
  label: (value) => (typeof value === "string" ? null : "a text"),
  cluster: object,
  priorities: (value) => (isTexts(value) ? null : "a list of texts"),
  memorySafety: (value) => (value === "guaranteed" || value === "predicted" ? null : '"guaranteed" or "predicted"'),
  scheduling: object,
  policy: (value) => (value === null || typeof value === "string" ? null : "a text, or null"),
  estimators: (value) => (value === null ? null : object(value)),
  arbitration: object,
  health: (value) => (value === false ? null : object(value)),
  manifest: (value) => (value === null ? null : object(value)),
};

/** Objects that would be handed on with functions or banks in the place of data. */
const NOT_PLAIN = ["policy", "estimators"];

/** Checks the form of a header; what its cluster and its options say is checked when they are used. */
export function headerOf(value: unknown, fail: Fail): EventLogHeader {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    fail("", "the first line is to be a header, an object");
  const fields = value as Fields;
  const own = (name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined);
  if (own("format") !== LOG_FORMAT) fail("format", `is to be ${JSON.stringify(LOG_FORMAT)}; this is no event log`);
  const version = own("version");
  if (typeof version === "number" && version > LOG_VERSION)
    fail("version", `is ${version}; a newer release wrote it, this one reads ${LOG_VERSION}`);
  for (const [name, form] of Object.entries(FIELDS)) {
    const wanted = form(own(name));
    if (wanted !== null) fail(name, `is to be ${wanted}`);
  }
  for (const name of Object.keys(fields))
    if (!Object.hasOwn(FIELDS, name)) fail(name.slice(0, 60), "is no field of a header");
  const header = value as EventLogHeader;
  for (const name of NOT_PLAIN)
    if (Object.hasOwn(header.scheduling, name)) fail(`scheduling.${name}`, `is to be told as ${name} of the header`);
  return header;
}

function object(value: unknown): string | null {
  return typeof value !== "object" || value === null || Array.isArray(value) ? "an object" : null;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string");
}
