/** The shape of what is read back: results of `--json`, and the header of a saved replay. */
import { Ajv, type ValidateFunction } from "ajv";

const number = { type: "number" } as const;
const numbers = { type: "array", items: number } as const;
const numberOrNull = { type: ["number", "null"] } as const;
const string = { type: "string" } as const;

function object(properties: Readonly<Record<string, object>>): object {
  return { type: "object", required: Object.keys(properties), properties };
}

function dictionary(of: object): object {
  return { type: "object", additionalProperties: of };
}

function orNull(schema: object): object {
  return { anyOf: [{ type: "null" }, schema] };
}

const percentiles = orNull(object({ p50: number, p90: number, p99: number }));

const policyResult = object({
  requestsPerSecond: number,
  tokensPerSecond: number,
  sloAttainment: numberOrNull,
  utilization: number,
  utilizationPerAccelerator: numbers,
  ttftMs: percentiles,
  tpotMs: percentiles,
  onlineOffered: number,
  onlineCompleted: number,
  offlineOffered: number,
  offlineCompleted: number,
  drain: object({ seconds: number }),
  peakHbmBytes: numbers,
  operators: number,
  rounds: number,
});

/** What `replay --json` prints, as far as it is read again. */
const report = object({
  workload: object({
    recipe: string,
    minutes: number,
    files: orNull(object({ arrivals: string, lengths: string })),
    profile: orNull(object({ name: string, attribution: string })),
    cluster: object({
      name: { type: ["string", "null"] },
      accelerators: number,
      kinds: dictionary(number),
      hbmBytes: number,
      instanceAccelerators: number,
      durations: { enum: ["colocation", "roofline"] },
    }),
    online: object({ requests: number, perInstance: numbers, inputTokensMean: number, outputTokensMean: number }),
    offline: object({ requests: number, requestsPerSecond: number, inputTokens: number, outputTokens: number }),
  }),
  seeds: { type: "array", minItems: 1, items: number },
  slo: orNull(object({ ttftMs: number, source: string })),
  policies: dictionary(policyResult),
});

const requestRecord = object({
  id: number,
  class: { enum: ["online", "offline"] },
  request: object({ tenant: number, arrivalNs: number, inputTokens: number, outputTokens: number }),
  outcome: { enum: ["waiting", "running", "completed", "failed", "dropped"] },
  startedNs: numberOrNull,
  firstTokenNs: numberOrNull,
  lastTokenNs: numberOrNull,
  tokens: number,
  tokensInWindow: number,
});

const outcome = object({
  policy: string,
  windowNs: { type: "number", exclusiveMinimum: 0 },
  endNs: number,
  records: { type: "array", items: requestRecord },
  offlineOffered: number,
  accelerators: {
    type: "array",
    items: object({
      name: string,
      capacityBytes: number,
      fixedBytes: number,
      usedBytesAtEnd: number,
      peakHbmBytes: number,
      utilization: number,
    }),
  },
  busy: object({ online: numbers, offline: numbers }),
  operatorsDone: number,
  rounds: number,
  simulatedOperators: number,
  hostNsPerRound: numberOrNull,
  leftInGraph: number,
  standstills: number,
  audit: { type: "array", items: object({ check: string, detail: string }) },
});

const header = object({
  command: string,
  report,
  replays: {
    type: "array",
    minItems: 1,
    maxItems: 100,
    items: object({ policy: string, summary: string, outcome, recordBytes: { type: "integer", minimum: 0 } }),
  },
});

let compiled: { readonly header: ValidateFunction; readonly report: ValidateFunction } | null = null;

function validators(): { readonly header: ValidateFunction; readonly report: ValidateFunction } {
  if (compiled === null) {
    // `ownProperties`: a field that only the prototype has is none.
    const ajv = new Ajv({ strict: false, ownProperties: true });
    compiled = { header: ajv.compile(header), report: ajv.compile(report) };
  }
  return compiled;
}

/** The first thing wrong with the header of a saved replay, in words, or null. */
export function headerFault(value: unknown): string | null {
  return firstFault(validators().header, value);
}

/** The first thing wrong with a result of `--json`, in words, or null. */
export function reportFault(value: unknown): string | null {
  return firstFault(validators().report, value);
}

function firstFault(validate: ValidateFunction, value: unknown): string | null {
  if (validate(value)) return null;
  const [fault] = validate.errors ?? [];
  const path = fault?.instancePath ?? "";
  return `${path === "" ? "" : `at ${JSON.stringify(path)} `}${fault?.message ?? "is wrong"}`;
}
