/** Requests with what they were granted, and the origins of instances. */
import type { Binding, Template } from "@slicescheduler/templates";
import type { GraphState } from "./graph-state.ts";
import type { Origin, OutputOrigin } from "./lineage.ts";
import type { RequestNode } from "./nodes.ts";
import { attempt, contradicts } from "./restore-read.ts";
import type { GraphSnapshot, SymbolRow } from "./snapshot.ts";
import { type ByteVectorReader, symbolsOf } from "./snapshot-tables.ts";

/** By position; all of them in the graph, without their instances. */
export function restoreRequests(
  state: GraphState,
  snapshot: GraphSnapshot,
  templates: readonly Template[],
  vectors: ByteVectorReader,
): RequestNode[] {
  const { requests, grants, counters } = snapshot;
  const nodes = requests.id.map((id, i) => newRequest(state, snapshot, templates, i, id));
  let before = -1;
  for (const [i, request] of nodes.entries()) {
    if (request.id <= before || request.id > counters.lastRequest) {
      contradicts(`requests.id[${i}]`, `${request.id} must be above ${before} and at most ${counters.lastRequest}`);
    }
    before = request.id;
    state.requests.set(request.id, request);
  }
  const positions = new Map(requests.id.map((id, i) => [id, i]));
  const named = (id: number, path: string) => {
    const position = positions.get(id);
    return position === undefined ? contradicts(path, `there is no request ${id}`) : position;
  };
  const order = [...grants.growing, ...grants.setAside].map((id) => named(id, "grants"));
  state.claims.restore(
    snapshot.counters.claimsEpoch,
    order.map((i) => ({
      request: nodes[i] as RequestNode,
      claim: vectors.at(requests.reserved[i] as number),
      take: vectors.at(requests.used[i] as number),
      workspaceBytes: vectors.at(requests.workspace[i] as number),
    })),
  );
  for (const id of snapshot.relocating) {
    const request = nodes[named(id, "relocating")] as RequestNode;
    request.relocating = true;
    state.relocating.add(request);
  }
  return nodes;
}

function newRequest(
  { cluster }: GraphState,
  { requests, partitionLists }: GraphSnapshot,
  templates: readonly Template[],
  i: number,
  id: number,
): RequestNode {
  const count = cluster.accelerators.length;
  const allowed = requests.allowedPartitions[i] as number;
  const limits = requests.limits[i]?.map((row) => bindRow(templates, row, `requests.limits[${i}]`)) ?? null;
  return {
    id,
    label: requests.label[i] as string,
    rank: requests.rank[i] as number,
    deadlineNs: requests.deadlineNs[i] ?? Number.POSITIVE_INFINITY,
    openedNs: requests.openedNs[i] as number,
    limits,
    concurrentInstances: requests.concurrentInstances[i] as number,
    chains: requests.chains[i] as number,
    allowedPartitions: allowed < 0 ? null : [...(partitionLists[allowed] ?? [])],
    endsWithInstances: requests.endsWithInstances[i] === 1,
    partition: requests.partition[i] ?? null,
    growing: requests.growing[i] === 1,
    moment: requests.moment[i] ?? "rest",
    accelerators: [],
    reservedBytes: new Float64Array(count),
    usedBytes: new Float64Array(count),
    workspaceBytes: new Float64Array(count),
    begunInstances: 0,
    instances: new Set(),
    closed: requests.closed[i] === 1,
    relocating: false,
    preemptions: requests.preemptions[i] as number,
  };
}

/** A row of a template's position and the values of its symbols. */
function bindRow(templates: readonly Template[], row: SymbolRow, path: string): Binding {
  const [position, ...values] = row;
  const template = templates[position ?? -1];
  if (template === undefined) contradicts(path, `there is no template ${position}`);
  return bind(template, values, path);
}

function bind(template: Template, row: SymbolRow, path: string): Binding {
  const { symbols } = template;
  if (row.length !== symbols.length) contradicts(path, `has ${row.length} values for ${symbols.length} symbols`);
  return attempt(path, () => template.bind(symbolsOf(template, row)));
}

/** An origin with the sizes it stands for. */
export interface RestoredOrigin {
  readonly origin: Origin;
  readonly binding: Binding;
}

/** By position. Each refers to earlier ones only. */
export function restoreOrigins(snapshot: GraphSnapshot, templates: readonly Template[]): RestoredOrigin[] {
  const { origins, partitionLists, counters } = snapshot;
  const made: RestoredOrigin[] = [];
  let before = -1;
  for (const [i, id] of origins.id.entries()) {
    if (id <= before || id > counters.lastInstance) {
      contradicts(`origins.id[${i}]`, `${id} must be above ${before} and at most ${counters.lastInstance}`);
    }
    before = id;
    const template = templates[origins.template[i] as number] as Template;
    const row = origins.symbols[i] as SymbolRow;
    const binding = bind(template, row, `origins.symbols[${i}]`);
    const restriction = origins.restriction[i] as number;
    const inputs = readInputs(made, template, origins.inputs[i] ?? null, `origins.inputs[${i}]`);
    const depth = inputs?.reduce((most, input) => Math.max(most, input?.origin.depth ?? 0), 0);
    const origin: Origin = {
      id,
      template,
      symbols: symbolsOf(template, row),
      label: origins.label[i] as string,
      restriction: restriction < 0 ? null : [...(partitionLists[restriction] ?? [])],
      inputs,
      depth: depth === undefined ? 0 : depth + 1,
      node: null,
    };
    made.push({ origin, binding });
  }
  return made;
}

function readInputs(
  made: readonly RestoredOrigin[],
  template: Template,
  row: readonly number[] | null,
  path: string,
): (OutputOrigin | null)[] | null {
  if (row === null) return null;
  if (row.length !== 3 * template.inputSlots) {
    contradicts(path, `has ${row.length} numbers, three for each of ${template.inputSlots} input slots are needed`);
  }
  return template.slots.map((_, slot) => {
    const [at, operator, output] = row.slice(3 * slot, 3 * slot + 3) as [number, number, number];
    if (at < 0) return null;
    const source = made[at];
    const outputs = source?.origin.template.operators[operator]?.outputs;
    if (source === undefined || outputs?.[output] === undefined) {
      contradicts(
        path,
        `input slot ${slot} names output ${output} of operator ${operator} of origin ${at}, which is not there`,
      );
    }
    return { origin: source.origin, operator, output };
  });
}
