/** A value that came from anywhere → a snapshot of the right form, with its cluster and templates compiled. Meaning is checked later. */
import {
  type Cluster,
  type ClusterSpec,
  compileCluster,
  compileTemplate,
  GmgError,
  type Template,
  type TemplateSpec,
  ValidationError,
} from "@slicescheduler/templates";
import { describe, Faults } from "@slicescheduler/templates/validation";
import { RANK_MAX } from "./opening.ts";
import {
  checkColumns,
  checkList,
  FLAG,
  isTuple,
  listOf,
  NUMBER_FROM_ZERO,
  oneOf,
  orNull,
  TEXT,
  TIME,
  whole,
} from "./restore-cells.ts";
import {
  type BufferRow,
  type CopyRow,
  type GraphSnapshot,
  type HistoryRow,
  type InstanceRow,
  type LedgerCopyRow,
  type OriginRow,
  type RequestRow,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type TransferRow,
} from "./snapshot.ts";
import { GraphStateInvalidError } from "./snapshot-errors.ts";
import { INSTANCE_LETTERS, TRANSFER_LETTERS } from "./snapshot-letters.ts";

export interface ReadSnapshot {
  readonly snapshot: GraphSnapshot;
  readonly cluster: Cluster;
  readonly templates: readonly Template[];
}

const FIELDS: readonly (keyof GraphSnapshot)[] = [
  "format",
  "version",
  "memorySafety",
  "counters",
  "cluster",
  "availability",
  "templates",
  "weights",
  "partitionLists",
  "byteVectors",
  "requests",
  "grants",
  "relocating",
  "origins",
  "instances",
  "departed",
  "urgencies",
  "operators",
  "tensors",
  "buffers",
  "transfers",
  "ledger",
];

/** Throws GRAPH_STATE_INVALID. */
export function readSnapshot(value: unknown): ReadSnapshot {
  const faults = new Faults();
  const root = faults.record(value, "snapshot");
  if (root["format"] !== SNAPSHOT_FORMAT) {
    faults.add("format", `must be ${describe(SNAPSHOT_FORMAT)}, is ${describe(root["format"])}`);
  } else if (root["version"] !== SNAPSHOT_VERSION) faults.add("version", versionFault(root["version"]));
  stopAt(faults);
  faults.record(value, "snapshot", FIELDS);
  const cluster = attempt("cluster", () => compileCluster(root["cluster"] as ClusterSpec));
  const templates = faults
    .array(root["templates"], "templates")
    .map((spec, i) => attempt(`templates[${i}]`, () => compileTemplate(spec as TemplateSpec, cluster)));
  const accelerators = cluster.accelerators.length;
  checkHead(faults, root, accelerators);
  checkTables(faults, root, accelerators, templates.length);
  checkOperatorsAndTensors(faults, root, accelerators);
  checkLedger(faults, root, accelerators);
  stopAt(faults);
  // Every part of it has been checked to be of this form.
  return { snapshot: root as unknown as GraphSnapshot, cluster, templates };
}

/** Of contradictions, which are found one at a time. */
export function contradicts(path: string, message: string): never {
  throw new GraphStateInvalidError([{ path, message }]);
}

/** What this package throws on purpose is a fault of the snapshot at this place. */
export function attempt<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof GraphStateInvalidError || !(error instanceof GmgError)) throw error;
    if (!(error instanceof ValidationError)) contradicts(path, error.message);
    throw new GraphStateInvalidError(error.faults.map((fault) => ({ ...fault, path: `${path}: ${fault.path}` })));
  }
}

function stopAt(faults: Faults): void {
  if (!faults.none) throw new GraphStateInvalidError(faults.list);
}

function versionFault(version: unknown): string {
  if (typeof version === "number" && version > SNAPSHOT_VERSION) {
    return `version ${version} is newer than this package reads, ${SNAPSHOT_VERSION}; use the release that saved it, or a later one`;
  }
  return `this package reads version ${SNAPSHOT_VERSION}, found ${describe(version)}`;
}

type Root = Readonly<Record<string, unknown>>;

const NAMED_BYTES = {
  is: (value: unknown): value is readonly [string, number] =>
    Array.isArray(value) && value.length === 2 && TEXT.is(value[0]) && whole(0).is(value[1]),
  what: "a name and a whole number of bytes from 0",
};

function checkHead(faults: Faults, root: Root, accelerators: number): void {
  const numbers = ["lastRequest", "lastInstance", "nextTensor", "nextIssue", "nextTransfer", "claimsEpoch"];
  const counters = faults.record(root["counters"], "counters", numbers);
  for (const field of numbers) faults.whole(counters[field], `counters.${field}`, field.startsWith("last") ? -1 : 0);
  if (!oneOf(["guaranteed", "predicted"]).is(root["memorySafety"])) {
    faults.add("memorySafety", `must be "guaranteed" or "predicted", is ${describe(root["memorySafety"])}`);
  }
  if (checkList(faults, root["availability"], "availability", oneOf(["up", "draining", "down"]))) {
    const { length } = root["availability"];
    if (length !== accelerators) faults.add("availability", `has ${length} entries for ${accelerators} accelerators`);
  }
  checkList(faults, root["weights"], "weights", NAMED_BYTES);
  checkList(faults, root["partitionLists"], "partitionLists", listOf(TEXT));
  checkList(faults, root["byteVectors"], "byteVectors", {
    is: (value): value is readonly number[] => isByteVector(value, accelerators),
    what: `rising accelerators below ${accelerators}, each followed by a whole number of bytes from 1`,
  });
  const grants = faults.record(root["grants"], "grants", ["growing", "setAside"]);
  checkList(faults, grants["growing"], "grants.growing", whole(0));
  checkList(faults, grants["setAside"], "grants.setAside", whole(0));
  checkList(faults, root["relocating"], "relocating", whole(0));
}

function isByteVector(value: unknown, accelerators: number): boolean {
  if (!Array.isArray(value) || value.length % 2 === 1) return false;
  let before = -1;
  for (let i = 0; i < value.length; i += 2) {
    if (!whole(before + 1, accelerators - 1).is(value[i]) || !whole(1).is(value[i + 1])) return false;
    before = value[i];
  }
  return true;
}

/** Claims are added up chain by chain: more than anybody means would only take memory and time. */
const CHAINS_MAX = 65_535;

function checkTables(faults: Faults, root: Root, accelerators: number, templates: number): void {
  const lists = faults.array(root["partitionLists"], "partitionLists").length;
  const vectors = faults.array(root["byteVectors"], "byteVectors").length;
  const vector = whole(-1, vectors - 1);
  const requests = checkColumns<RequestRow>(faults, root["requests"], "requests", {
    id: whole(0),
    label: TEXT,
    rank: whole(0, RANK_MAX),
    deadlineNs: orNull(TIME),
    openedNs: TIME,
    limits: orNull(listOf(listOf(orNull(whole(0))))),
    concurrentInstances: whole(1),
    chains: whole(1, CHAINS_MAX),
    allowedPartitions: whole(-1, lists - 1),
    partition: orNull(TEXT),
    endsWithInstances: FLAG,
    growing: FLAG,
    moment: oneOf(["rest", "any"]),
    closed: FLAG,
    preemptions: whole(0),
    reserved: whole(0, vectors - 1),
    used: whole(0, vectors - 1),
    workspace: whole(0, vectors - 1),
  });
  const origins = checkColumns<OriginRow>(faults, root["origins"], "origins", {
    id: whole(0),
    template: whole(0, templates - 1),
    label: TEXT,
    symbols: listOf(orNull(whole(0))),
    restriction: whole(-1, lists - 1),
    inputs: orNull(listOf(whole(-1))),
  });
  const buffers = checkColumns<BufferRow>(faults, root["buffers"], "buffers", {
    bytes: whole(0),
    endedBytes: whole(0),
  });
  const instances = checkColumns<InstanceRow>(faults, root["instances"], "instances", {
    origin: whole(0, origins - 1),
    request: whole(0, requests - 1),
    state: oneOf(Object.keys(INSTANCE_LETTERS)),
    failure: orNull(TEXT),
    partition: whole(-1),
    allowedPartitions: whole(0, lists - 1),
    insertedNs: TIME,
    doneNs: TIME,
    firstTensor: whole(0),
    need: vector,
    needWorkspace: vector,
    granted: vector,
    claimed: vector,
    inputs: listOf(whole(-1)),
    shares: listOf(whole(0)),
  });
  faults.whole(root["departed"], "departed", 0);
  if (typeof root["departed"] === "number" && root["departed"] > instances) {
    faults.add("departed", `is ${root["departed"]} of ${instances} instances`);
  }
  checkList(faults, root["urgencies"], "urgencies", {
    is: (value): value is readonly unknown[] =>
      isTuple(value, [whole(0, instances - 1), whole(0, RANK_MAX), orNull(TIME), NUMBER_FROM_ZERO]),
    what: `an instance below ${instances}, a class up to ${RANK_MAX}, a deadline or null, and an order from 0`,
  });
  const copies = faults.record(root["tensors"], "tensors", ["known", "retained", "continued", "reordered", "copies"]);
  checkColumns<CopyRow>(faults, copies["copies"], "tensors.copies", {
    tensor: whole(0),
    accelerator: whole(0, accelerators - 1),
    buffer: whole(0, buffers - 1),
  });
}

function checkOperatorsAndTensors(faults: Faults, root: Root, accelerators: number): void {
  const operators = faults.record(root["operators"], "operators", [
    "states",
    "issued",
    "history",
    "missingInputs",
    "lostReads",
    "promoted",
  ]);
  if (!TEXT.is(operators["states"]))
    faults.add("operators.states", `must be a text, is ${describe(operators["states"])}`);
  checkList(faults, operators["issued"], "operators.issued", whole(0));
  checkColumns<HistoryRow>(faults, operators["history"], "operators.history", {
    accelerator: whole(0, accelerators - 1),
    issueNumber: whole(0),
    issuedNs: TIME,
    readyNs: TIME,
    startedNs: TIME,
    doneNs: TIME,
  });
  checkList(faults, operators["missingInputs"], "operators.missingInputs", whole(0));
  checkList(faults, operators["lostReads"], "operators.lostReads", listOf(whole(0)));
  checkList(faults, operators["promoted"], "operators.promoted", {
    is: (value): value is readonly unknown[] => isTuple(value, [whole(0), whole(0, RANK_MAX)]),
    what: `an operator and a class up to ${RANK_MAX}`,
  });
  const tensors = faults.record(root["tensors"], "tensors");
  for (const field of ["known", "retained", "continued"]) {
    checkList(faults, tensors[field], `tensors.${field}`, whole(0));
  }
  checkList(faults, tensors["reordered"], "tensors.reordered", listOf(whole(0)));
  checkColumns<TransferRow>(faults, root["transfers"], "transfers", {
    number: whole(0),
    tensor: whole(0),
    source: whole(0, accelerators - 1),
    destination: whole(0, accelerators - 1),
    rank: whole(0, RANK_MAX),
    state: oneOf(Object.values(TRANSFER_LETTERS)),
    intendedNs: TIME,
    sendingNs: TIME,
    waiting: listOf(whole(0)),
  });
}

function checkLedger(faults: Faults, root: Root, accelerators: number): void {
  const rows = faults.array(root["ledger"], "ledger");
  if (rows.length !== accelerators) faults.add("ledger", `has ${rows.length} entries for ${accelerators} accelerators`);
  rows.forEach((value, i) => {
    const path = `ledger[${i}]`;
    const row = faults.record(value, path, ["peakBytes", "workspaceBytes", "weights", "buffers", "copies"]);
    faults.whole(row["peakBytes"], `${path}.peakBytes`, 0, "bytes");
    faults.whole(row["workspaceBytes"], `${path}.workspaceBytes`, 0, "bytes");
    checkList(faults, row["weights"], `${path}.weights`, NAMED_BYTES);
    checkList(faults, row["buffers"], `${path}.buffers`, listOf(whole(0)));
    checkColumns<LedgerCopyRow>(faults, row["copies"], `${path}.copies`, {
      tensor: whole(0),
      bytes: whole(0),
      present: FLAG,
      held: FLAG,
      uses: whole(0),
      sends: whole(0),
    });
  });
}
