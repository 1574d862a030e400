import type { GlobalMappingGraph, GraphEffects, OperatorNode } from "@slicescheduler/gmg";
import { expect } from "vitest";
import type { Twin, TwinOperator, TwinRequest, TwinTensor } from "./graph-twin.ts";
import { PARTITIONS, type PlannedTemplate } from "./graph-world.ts";

/** How much of everything happened over all runs: the test is only worth its time if all of it did. */
export const seen: Record<string, number> = {};

export function tally(what: string): void {
  seen[what] = (seen[what] ?? 0) + 1;
}

/** The graph against everything the twin counts again. */
export function compareGraph(graph: GlobalMappingGraph, twin: Twin): void {
  graph.validate();
  const effects = graph.takeEffects();
  const expected = twin.takeEffects();
  expect({
    releases: effects.releases.map(({ tensor, accelerator }) => `${tensor}@${accelerator}`).sort(),
    holds: effects.holds.map(({ tensor, accelerator }) => `${tensor}@${accelerator}`).sort(),
    withdrawals: effects.withdrawals.toSorted((a, b) => a - b),
    settled: effects.settled.map(({ instance, outcome }) => `${instance.id} ${outcome}`).sort(),
  }).toEqual({
    releases: expected.releases.sort(),
    holds: expected.holds.sort(),
    withdrawals: expected.withdrawals.sort((a, b) => a - b),
    settled: expected.settled.sort(),
  });
  compareUrgency(graph, twin, effects.reranks);
  const operators = twin.operators();
  expect(graph.counts()).toEqual({
    requests: twin.requests.length,
    instances: twin.instances.length,
    tensors: operators.flatMap(({ outputs }) => outputs).filter((tensor) => twin.isKnown(tensor)).length,
    issuedOperators: twin.issued().length,
    transfers: twin.pendingTransfers().length,
  });
  expect(Array.from(graph.unscheduledFrontier, nameOfNode)).toEqual(twin.frontier().map(nameOf));
  for (const operator of operators) {
    const node = graph.instance(operator.instance.id)?.operators[operator.index];
    expect([nameOf(operator), node?.state]).toEqual([nameOf(operator), operator.state]);
    if (operator.issueNumber < 0 || operator.ended || operator.started) continue;
    expect([nameOf(operator), node?.missingInputs]).toEqual([nameOf(operator), twin.missing(operator)]);
  }
  compareMemory(graph, twin);
}

/** Classes of all that is pending, what executors were told of them, and counts by class. */
function compareUrgency(graph: GlobalMappingGraph, twin: Twin, reranks: GraphEffects["reranks"]): void {
  const issued = twin.issued();
  for (const { issueNumber, rank } of reranks) {
    const operator = issued.find((each) => each.issueNumber === issueNumber);
    // One that ended or was asked back by the same change may have been told of before.
    if (operator === undefined) continue;
    expect([nameOf(operator), rank]).not.toEqual([nameOf(operator), operator.toldRank]);
    operator.toldRank = rank;
    tally("rerank");
  }
  const counts = [0, 0, 0, 0];
  for (const operator of twin.operators()) {
    if (operator.ended) continue;
    const [rank, deadlineNs] = twin.urgencyOf(operator);
    const node = graph.instance(operator.instance.id)?.operators[operator.index];
    expect([nameOf(operator), node?.rank, node?.deadlineNs]).toEqual([nameOf(operator), rank, deadlineNs]);
    if (rank < Math.min(operator.instance.rank, operator.promoted)) tally("inherits");
    if (operator.issueNumber < 0) continue;
    counts[rank] = (counts[rank] ?? 0) + 1;
    const isWaiting = operator.state === "issued" && !operator.started && !operator.recalled;
    if (isWaiting) expect([nameOf(operator), operator.toldRank]).toEqual([nameOf(operator), rank]);
  }
  expect(counts.map((_, rank) => graph.issuedOfRank(rank))).toEqual(counts);
  expect(Array.from(graph.displaceable(0), nameOfNode)).toEqual(
    twin
      .displaceable()
      .filter((operator) => twin.urgencyOf(operator)[0] > 0)
      .map(nameOf),
  );
}

function compareMemory(graph: GlobalMappingGraph, twin: Twin): void {
  for (const { index, capacityBytes } of graph.cluster.accelerators) {
    expect(graph.ledger.usedBytes(index)).toBe(twin.usedBytes(index));
    expect(graph.ledger.peakBytes(index)).toBeLessThanOrEqual(capacityBytes);
    const there = twin.copies.filter((copy) => copy.accelerator === index && twin.isThere(copy));
    expect(
      graph.ledger
        .copies(index)
        .map(({ tensor, held, producing, allocated }) => ({ tensor, held, producing, allocated })),
    ).toEqual(
      there.map((copy) => ({
        tensor: copy.tensor.id,
        held: twin.isHeld(copy.tensor),
        producing: !copy.present,
        allocated: copy.buffer >= 0,
      })),
    );
    for (const request of twin.requests) {
      const { partition, usedBytes, reservedBytes, workspaceBytes } = graph.request(request.id);
      if (partition === null) continue;
      // What an operator frees when it ends counts with its workspace.
      const runs = twin
        .issued()
        .some(({ started, accelerator, instance }) => started && accelerator === index && instance.request === request);
      const running = runs ? (workspaceBytes[index] ?? 0) : 0;
      expect((usedBytes[index] ?? 0) + running).toBeGreaterThanOrEqual(twin.bufferBytes(index, request));
      expect(reservedBytes[index]).toBeGreaterThanOrEqual(usedBytes[index] ?? Number.NaN);
    }
  }
}

/** All that an accelerator has beside weights and baseline. */
export function wholeOf(graph: GlobalMappingGraph, accelerator: number): Float64Array {
  const bytes = new Float64Array(graph.cluster.accelerators.length);
  bytes[accelerator] = graph.claims.roomBytes(accelerator);
  return bytes;
}

export function at<T>(list: readonly T[], pick: number): T | undefined {
  return list[pick % list.length];
}

export function somePartitions(pick: number): string[] | null {
  return pick % 4 < 2 ? null : [PARTITIONS[pick % 2] ?? ""];
}

export function outputName(tensor: TwinTensor): string {
  return `o${tensor.producer.index}_${tensor.producer.outputs.indexOf(tensor)}`;
}

export function nameOf({ instance, index }: TwinOperator): string {
  return `${instance.id}/${index}`;
}

export function nameOfNode({ instance, index }: OperatorNode): string {
  return `${instance.id}/${index}`;
}

/** What the twin knows against a submission; partitions and memory are beyond it. */
export function whyRefused(
  twin: Twin,
  request: TwinRequest,
  { operators }: PlannedTemplate,
  external: readonly (TwinTensor | null)[],
): string | null {
  if (request.closed) return "REQUEST_CLOSED";
  for (const tensor of external) {
    const reason = tensor === null ? null : twin.whyUnattachable(tensor);
    if (reason !== null) return reason;
  }
  if (external.some((tensor) => tensor !== null && tensor.producer.instance.request !== request)) {
    return "INPUTS_SPAN_REQUESTS";
  }
  const continued = operators.flatMap(({ inputs, outputs }) =>
    outputs.flatMap(({ alias }) => {
      const input = alias < 0 ? undefined : inputs[alias];
      return input === undefined || input.operator >= 0 ? [] : [external[input.output] ?? null];
    }),
  );
  const tensors = continued.filter((tensor) => tensor !== null);
  if (tensors.some(({ continued: already }) => already) || new Set(tensors).size < tensors.length) {
    return "ALREADY_CONTINUED";
  }
  return null;
}
