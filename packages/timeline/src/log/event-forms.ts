/** The form of each event, so that what a log holds can be handed to a master. */
import type { MasterEvent } from "slicescheduler";

/** Says what a value is to be, or null when it is that. */
type Form = (value: unknown) => string | null;

/** The graph takes memory and time in proportion to classes and chains. */
const CLASSES_MAX = 65_535;

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isObject = (value: unknown): value is object =>
  !(typeof value !== "object" || value === null || Array.isArray(value));

const whole: Form = (value) => (isWhole(value) ? null : "a whole number from 0");
const class_: Form = (value) =>
  isWhole(value) && value <= CLASSES_MAX ? null : `a whole number from 0 to ${CLASSES_MAX}`;
const number: Form = (value) => (typeof value === "number" ? null : "a number");
const text: Form = (value) => (typeof value === "string" ? null : "a text");
const flag: Form = (value) => (typeof value === "boolean" ? null : "true or false");
const object: Form = (value) => (isObject(value) ? null : "an object");
const cause: Form = (value) =>
  ["outOfMemory", "inputLost", "fault"].some((known) => known === value) ? null : "outOfMemory, inputLost or fault";

function orNull(form: Form): Form {
  return (value) => {
    const wanted = value === null ? null : form(value);
    return wanted === null ? null : `${wanted}, or null`;
  };
}

function listOf(form: Form): Form {
  return (value) => {
    if (!Array.isArray(value)) return "a list";
    for (const entry of value) {
      const wanted = form(entry);
      if (wanted !== null) return `a list of which each entry is ${wanted}`;
    }
    return null;
  };
}

function recordOf(form: Form): Form {
  return (value) => {
    if (!isObject(value)) return "an object";
    for (const [name, entry] of Object.entries(value)) {
      const wanted = form(entry);
      if (wanted !== null) return `an object whose ${JSON.stringify(name.slice(0, 60))} is ${wanted}`;
    }
    return null;
  };
}

function fieldsOf(fields: Readonly<Record<string, Form>>): Form {
  return (value) => {
    if (!isObject(value)) return "an object";
    for (const [name, form] of Object.entries(fields)) {
      const wanted = form(Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined);
      if (wanted !== null) return `an object whose ${name} is ${wanted}`;
    }
    return null;
  };
}

type Fields<Event> = { readonly [Name in Exclude<keyof Event, "type">]: Form };

/** All events there are, each with all of its fields. */
export const EVENT_FORMS: { readonly [Type in MasterEvent["type"]]: Fields<Extract<MasterEvent, { type: Type }>> } = {
  templateRegistered: { template: object },
  requestOpened: {
    request: whole,
    label: text,
    rank: class_,
    tenant: text,
    deadlineNs: orNull(number),
    failAtDeadline: flag,
    queueTimeoutNs: orNull(whole),
    limits: orNull(listOf(fieldsOf({ template: text, symbols: recordOf(number) }))),
    concurrentInstances: class_,
    chains: class_,
    mayPause: flag,
    partitions: orNull(listOf(text)),
    endsWithInstances: flag,
  },
  requestClosed: { request: whole },
  instanceSubmitted: {
    instance: whole,
    request: whole,
    template: text,
    symbols: recordOf(number),
    inputs: recordOf(fieldsOf({ instance: whole, output: text })),
    retain: listOf(text),
    partitions: orNull(listOf(text)),
    label: text,
    rank: orNull(class_),
    deadlineNs: orNull(number),
  },
  outputReleased: { instance: whole, output: text },
  instanceCancelled: { instance: whole },
  acceleratorDrained: { accelerator: whole },
  acceleratorResumed: { accelerator: whole },
  operatorStarted: { issueNumber: whole },
  operatorDone: { issueNumber: whole, observedNs: number },
  operatorFailed: { issueNumber: whole, cause, reason: text },
  withdrawn: { issueNumber: whole },
  intentsRaised: { transfers: listOf(whole) },
  recvReady: { transfer: whole },
  recvFailed: { transfer: whole, reason: text },
  transferDone: { transfer: whole, observedNs: number },
  transferFailed: { transfer: whole, reason: text },
  transferCancelled: { transfer: whole },
  acceleratorLost: { accelerator: whole, reason: text },
  probed: { accelerator: whole, probe: whole, healthy: flag },
  acceleratorReturned: { accelerator: whole },
  timePassed: {},
};

/** What is wrong with what is to be an event: a path within it and words, or null for nothing. */
export function eventFault(value: unknown): { readonly path: string; readonly reason: string } | null {
  if (!isObject(value)) return { path: "event", reason: "is to be an object" };
  const fields = value as Readonly<Record<string, unknown>>;
  const type = Object.hasOwn(fields, "type") ? fields["type"] : undefined;
  if (typeof type !== "string" || !Object.hasOwn(EVENT_FORMS, type)) {
    const found = typeof type === "string" ? JSON.stringify(type.slice(0, 60)) : "none";
    return { path: "event.type", reason: `is to be one of the master's events, is ${found}` };
  }
  const { type: _, ...others } = fields;
  return fieldsFault("event", others, EVENT_FORMS[type as MasterEvent["type"]], type);
}

/** As `eventFault`, for what is to be a check. */
export function checkFault(value: unknown): ReturnType<typeof eventFault> {
  if (!isObject(value)) return { path: "check", reason: "is to be an object" };
  return fieldsFault("check", value, { round: whole, instance: whole, partition: text }, "a check");
}

function fieldsFault(path: string, value: object, forms: object, what: string): ReturnType<typeof eventFault> {
  const fields = value as Readonly<Record<string, unknown>>;
  for (const [name, form] of Object.entries(forms as Readonly<Record<string, Form>>)) {
    const wanted = form(Object.hasOwn(fields, name) ? fields[name] : undefined);
    if (wanted !== null) return { path: `${path}.${name}`, reason: `is to be ${wanted}` };
  }
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(forms, name));
  return unknown === undefined ? null : { path: `${path}.${unknown.slice(0, 60)}`, reason: `is no field of ${what}` };
}
