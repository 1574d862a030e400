import type { AcceleratorIndex, GlobalMappingGraph, RequestNode } from "@slicescheduler/gmg";
import type { HbmOwner } from "./inspection.ts";

/** Who has the bytes in use on an accelerator, the largest first. A buffer that several tensors share counts for the first of them. */
export function hbmOwners(
  graph: GlobalMappingGraph,
  index: AcceleratorIndex,
  requests: readonly RequestNode[],
): HbmOwner[] {
  const { baselineBytes = 0 } = graph.cluster.accelerators[index] ?? {};
  const owners: HbmOwner[] = [
    { owner: { kind: "baseline" }, bytes: baselineBytes },
    { owner: { kind: "workspace" }, bytes: graph.ledger.workspaceBytes(index) },
    ...weightsOn(graph, index),
  ];
  const bytesOf = new Map<number, number>();
  const requestOf = requestsOfTensors(requests);
  for (const { tensor, allocated, bufferBytes, sharedWith } of graph.ledger.copies(index)) {
    if (!allocated || sharedWith[0] !== tensor) continue;
    const request = requestOf.get(tensor) ?? NOBODY;
    bytesOf.set(request, (bytesOf.get(request) ?? 0) + bufferBytes);
  }
  for (const [request, bytes] of bytesOf)
    owners.push({ owner: request === NOBODY ? { kind: "nobody" } : { kind: "request", request }, bytes });
  return owners.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

const NOBODY = -1;

function weightsOn(graph: GlobalMappingGraph, index: AcceleratorIndex): HbmOwner[] {
  const weights = graph.ledger.save().accelerators[index]?.weights ?? [];
  return weights.map(({ name, bytes }) => ({
    owner: { kind: "weights", name },
    bytes: graph.cluster.roundBytes(index, bytes),
  }));
}

function requestsOfTensors(requests: readonly RequestNode[]): Map<number, number> {
  const requestOf = new Map<number, number>();
  for (const { id, instances } of requests)
    for (const { operators } of instances)
      for (const { outputs } of operators) for (const tensor of outputs) requestOf.set(tensor.id, id);
  return requestOf;
}
