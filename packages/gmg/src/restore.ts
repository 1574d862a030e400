/** A snapshot → the state of a new graph. Everything is checked: one that would not behave like the saved graph is never handed over. */
import { type LedgerOptions, type MemorySafety, ResidencyLedger } from "@slicescheduler/memory";
import type { Cluster, Template } from "@slicescheduler/templates";
import { at, describe } from "@slicescheduler/templates/validation";
import type { GraphState } from "./graph-state.ts";
import { checkRestored } from "./restore-check.ts";
import { restoreInstances } from "./restore-instances.ts";
import { restoreOperators, restoreUrgency } from "./restore-operators.ts";
import { attempt, contradicts, readSnapshot } from "./restore-read.ts";
import { restoreOrigins, restoreRequests } from "./restore-requests.ts";
import { restoreTensors } from "./restore-tensors.ts";
import type { GraphSnapshot, SnapshotCounters } from "./snapshot.ts";
import { ByteVectorReader, unpackLedger } from "./snapshot-tables.ts";
import { validateGraph } from "./validate-graph.ts";
import { bytesOfWeights, registeredWeights } from "./weights.ts";

/** A value that has the form of a snapshot; what it says is checked as it is restored. Every method throws GRAPH_STATE_INVALID. */
export class SavedGraph {
  readonly cluster: Cluster;
  readonly #snapshot: GraphSnapshot;
  readonly #templates: readonly Template[];

  constructor(value: unknown) {
    const { snapshot, cluster, templates } = readSnapshot(value);
    this.cluster = cluster;
    this.#snapshot = snapshot;
    this.#templates = templates;
  }

  get memorySafety(): MemorySafety {
    return this.#snapshot.memorySafety;
  }

  get counters(): SnapshotCounters {
    return this.#snapshot.counters;
  }

  openLedger(onFreed: NonNullable<LedgerOptions["onFreed"]>): ResidencyLedger {
    return attempt("ledger", () =>
      ResidencyLedger.load(unpackLedger(this.#snapshot.ledger, this.cluster), { onFreed }),
    );
  }

  /** Fills the state of a new graph over the cluster and the ledger. After an error the state is of no use. */
  restoreTo(state: GraphState): void {
    const snapshot = this.#snapshot;
    for (const [i, template] of this.#templates.entries()) {
      const { name } = template;
      if (state.templates.has(name)) contradicts(`templates[${i}].name`, `${describe(name)} stands twice`);
      state.templates.set(name, template);
    }
    for (const [name, bytes] of snapshot.weights) state.weightBytes.set(name, bytes);
    for (const [accelerator, there] of snapshot.availability.entries()) state.availability[accelerator] = there;
    const all = new Set(state.availability.keys());
    state.claims.addWeights(bytesOfWeights(state, registeredWeights(state, all).values()));
    state.nextTensor = snapshot.counters.nextTensor;
    state.nextIssue = snapshot.counters.nextIssue;
    state.nextTransfer = snapshot.counters.nextTransfer;
    const vectors = new ByteVectorReader(snapshot.byteVectors, state.cluster.accelerators.length);
    const requests = restoreRequests(state, snapshot, this.#templates, vectors);
    const origins = restoreOrigins(snapshot, this.#templates);
    const { instances, tensors } = restoreInstances(state, snapshot, { requests, origins, vectors });
    const operators = restoreOperators(state, snapshot, instances);
    restoreTensors(state, snapshot, { instances, operators, tensors });
    restoreUrgency(state, instances);
    attempt("snapshot", () => {
      validateGraph(state);
      checkRestored(state, instances);
    });
  }

  /** What a snapshot has twice, or could not be otherwise, must agree: saved again, the restored graph is the same. */
  requireSame(again: GraphSnapshot): void {
    const path = firstDifference(this.#snapshot, again, "");
    if (path !== null)
      contradicts(path, "contradicts the rest: saved again, the restored graph has something else there");
  }
}

/** As deep as a snapshot is. The order of keys does not count. */
function firstDifference(a: unknown, b: unknown, path: string): string | null {
  if (a === b) return null;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return path;
  if (Array.isArray(a) !== Array.isArray(b)) return path;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return path;
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return at(path, key);
    const inner = Array.isArray(a) ? `${path}[${key}]` : at(path, key);
    const difference = firstDifference(Reflect.get(a, key), Reflect.get(b, key), inner);
    if (difference !== null) return difference;
  }
  return null;
}
