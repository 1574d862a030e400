/**
 * The form of a saved graph, version 1. Where there are many of a kind they are columns: one array per field, one entry per item.
 * Items refer to each other by position; tensors by their number. What follows from the rest is left out: frontier, counts, sums of claims.
 */
import type { MemorySafety, Moment, TensorId } from "@slicescheduler/memory";
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/templates";
import type { Availability } from "./graph-state.ts";

export const SNAPSHOT_FORMAT = "slicescheduler.graph";
export const SNAPSHOT_VERSION = 1;

/** Rows turned into one array per field, all of the same length. */
export type Columns<Row> = { readonly [Field in keyof Row]: readonly Row[Field][] };

/** Whole numbers in order: of each stretch of consecutive ones the first, and how many there are. */
export type Runs = readonly number[];

/** A graph as a plain value that JSON and structured clone carry unchanged. It shares the specifications with its graph: read only. */
export interface GraphSnapshot {
  readonly format: typeof SNAPSHOT_FORMAT;
  readonly version: typeof SNAPSHOT_VERSION;
  readonly memorySafety: MemorySafety;
  /** Numbers that were last given, −1 for none, or are next. */
  readonly counters: SnapshotCounters;
  readonly cluster: ClusterSpec;
  /** Per accelerator. */
  readonly availability: readonly Availability[];
  /** In the order of their registration. */
  readonly templates: readonly TemplateSpec[];
  /** Declared bytes of all weights of a name. */
  readonly weights: readonly (readonly [name: string, bytes: number])[];
  /** Distinct lists of names of partitions. */
  readonly partitionLists: readonly (readonly string[])[];
  /** Distinct bytes per accelerator: accelerators where they are not 0, each followed by the bytes there. */
  readonly byteVectors: readonly (readonly number[])[];
  readonly requests: Columns<RequestRow>;
  /** Numbers of the requests that were granted memory, in the order in which they are kept. */
  readonly grants: { readonly growing: readonly number[]; readonly setAside: readonly number[] };
  /** Numbers of the requests that wait to be laid elsewhere, in order. */
  readonly relocating: readonly number[];
  /** By rising number of their instance; of instances that have left the graph too, where results made from them have not. */
  readonly origins: Columns<OriginRow>;
  /** In the order in which they joined the graph, then those that have left it and that an instance in it still names as an input. */
  readonly instances: Columns<InstanceRow>;
  /** How many at the end of `instances` have left the graph. */
  readonly departed: number;
  /**
   * Instances that are not as urgent as their request, or not in the order of age, by rising position: each with its class, its deadline,
   * null for none, and its order.
   */
  readonly urgencies: readonly (readonly [instance: number, rank: number, deadlineNs: number | null, order: number])[];
  readonly operators: OperatorsSnapshot;
  readonly tensors: TensorsSnapshot;
  readonly buffers: Columns<BufferRow>;
  /** By rising number. */
  readonly transfers: Columns<TransferRow>;
  /** Per accelerator. */
  readonly ledger: readonly LedgerRow[];
}

export interface SnapshotCounters {
  readonly lastRequest: number;
  readonly lastInstance: number;
  readonly nextTensor: number;
  readonly nextIssue: number;
  readonly nextTransfer: number;
  readonly claimsEpoch: number;
}

/** Values of a template's symbols in declared order, null for one that was left out. */
export type SymbolRow = readonly (number | null)[];

export interface RequestRow {
  readonly id: number;
  readonly label: string;
  readonly rank: number;
  /** Null for none. */
  readonly deadlineNs: number | null;
  readonly openedNs: number;
  /** Each the position of a template, followed by the values of its symbols. */
  readonly limits: readonly (readonly (number | null)[])[] | null;
  readonly concurrentInstances: number;
  readonly chains: number;
  /** In `partitionLists`, or −1. */
  readonly allowedPartitions: number;
  readonly partition: string | null;
  readonly endsWithInstances: 0 | 1;
  readonly growing: 0 | 1;
  readonly moment: Moment;
  readonly closed: 0 | 1;
  readonly preemptions: number;
  /** In `byteVectors`: claimed, used, and the largest workspace. */
  readonly reserved: number;
  readonly used: number;
  readonly workspace: number;
}

export interface OriginRow {
  readonly id: number;
  /** Position. */
  readonly template: number;
  readonly label: string;
  readonly symbols: SymbolRow;
  /** In `partitionLists`, or −1. */
  readonly restriction: number;
  /** Per input slot position of an earlier origin, operator and output, −1 three times where it was not bound; null when forgotten. */
  readonly inputs: readonly number[] | null;
}

export interface InstanceRow {
  /** Position. */
  readonly origin: number;
  /** Position. */
  readonly request: number;
  /** A letter: see `INSTANCE_LETTERS`. */
  readonly state: string;
  readonly failure: string | null;
  /** Position in its template, or −1. */
  readonly partition: number;
  /** In `partitionLists`. */
  readonly allowedPartitions: number;
  readonly insertedNs: number;
  readonly doneNs: number;
  /** Its tensors are numbered from here on. */
  readonly firstTensor: TensorId;
  /** In `byteVectors`, or −1: what it needs, with workspace, what it was granted, and what was claimed for it. */
  readonly need: number;
  readonly needWorkspace: number;
  readonly granted: number;
  readonly claimed: number;
  /** Per slot a tensor, −1 for none; empty once it has ended. */
  readonly inputs: readonly TensorId[];
  /** Positions of buffers that it caused, each followed by its share of the bytes. */
  readonly shares: readonly number[];
}

/** Operators are numbered through all instances, in the order of `instances`. */
export interface OperatorsSnapshot {
  /** A letter for each: see `OPERATOR_LETTERS`. */
  readonly states: string;
  /** Those that were ever issued and have not become unscheduled since. */
  readonly issued: Runs;
  /** One row for each of them. */
  readonly history: Columns<HistoryRow>;
  /** One entry for each that an executor has. */
  readonly missingInputs: readonly number[];
  /** Operators that an executor has and that read copies which were lost: each with the positions of those inputs. */
  readonly lostReads: readonly (readonly number[])[];
  /** Operators that were promoted, by rising number: each with its class. */
  readonly promoted: readonly (readonly [operator: number, rank: number])[];
}

export interface HistoryRow {
  readonly accelerator: number;
  readonly issueNumber: number;
  readonly issuedNs: number;
  readonly readyNs: number;
  readonly startedNs: number;
  readonly doneNs: number;
}

export interface TensorsSnapshot {
  /** In the graph, in the order in which they joined it. */
  readonly known: Runs;
  readonly retained: Runs;
  readonly continued: Runs;
  /** Tensors whose consumers are not in the order of the instances: each with its consumers. */
  readonly reordered: readonly (readonly number[])[];
  /** By tensor as the instances have them, and in its order. */
  readonly copies: Columns<CopyRow>;
}

export interface CopyRow {
  readonly tensor: TensorId;
  readonly accelerator: number;
  /** Position. */
  readonly buffer: number;
}

/** As the graph counts them: from the issue of what causes them. */
export interface BufferRow {
  readonly bytes: number;
  readonly endedBytes: number;
}

export interface TransferRow {
  readonly number: number;
  readonly tensor: TensorId;
  readonly source: number;
  readonly destination: number;
  readonly rank: number;
  /** A letter: see `TRANSFER_LETTERS`. */
  readonly state: string;
  readonly intendedNs: number;
  readonly sendingNs: number;
  /** Operators, in order. */
  readonly waiting: readonly number[];
}

/** What `LedgerState` holds of an accelerator beside its sizes, which the cluster has. */
export interface LedgerRow {
  readonly peakBytes: number;
  readonly workspaceBytes: number;
  readonly weights: readonly (readonly [name: string, bytes: number])[];
  /** Rounded bytes, followed by the tensors in it. */
  readonly buffers: readonly (readonly number[])[];
  readonly copies: Columns<LedgerCopyRow>;
}

export interface LedgerCopyRow {
  readonly tensor: TensorId;
  readonly bytes: number;
  readonly present: 0 | 1;
  readonly held: 0 | 1;
  readonly uses: number;
  readonly sends: number;
}
