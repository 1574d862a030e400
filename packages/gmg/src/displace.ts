/** Issued work that gives way to more urgent work: operators that are taken back for it, and requests that give up their place. */
import { obstacleTo } from "./feasible.ts";
import { IllegalMoveError } from "./graph-errors.ts";
import { type GraphState, illegalMove } from "./graph-state.ts";
import { isDisplaceable } from "./issued-by-class.ts";
import type { OperatorNode, RequestNode } from "./nodes.ts";
import { recallOperator } from "./recall.ts";
import { layNowhere, partitionsLeft } from "./relocate.ts";

/** Recalls it, counted as one preemption of its request. Throws ILLEGAL_MOVE for one that has started or was asked back. */
export function displaceOperator(state: GraphState, operator: OperatorNode): void {
  if (!isDisplaceable(operator)) illegalMove(operator, "displaced");
  operator.instance.request.preemptions += 1;
  recallOperator(state, operator, true);
}

/** As if none of it had ever been issued: its claim is free, and it waits to be placed anew. Throws ILLEGAL_MOVE, changing nothing. */
export function unplaceRequest(state: GraphState, request: RequestNode): void {
  requireNothingLeft(state, request);
  const { partition, instances } = request;
  const before = Array.from(instances, (instance) => ({ ...instance }));
  layNowhere(request);
  const live = [...instances].filter((instance) => instance.state === "live");
  // While it was placed, what was submitted was allowed on that partition alone.
  for (const instance of live) instance.allowedPartitions = partitionsLeft(state, instance);
  const isHomeless = live.some(({ allowedPartitions }) => allowedPartitions.length === 0);
  if (isHomeless || (live.length > 0 && obstacleTo(state, request) !== null)) {
    request.partition = partition;
    for (const [i, instance] of [...instances].entries()) {
      const { partition: its, need, allowedPartitions } = before[i] as (typeof before)[number];
      Object.assign(instance, { partition: its, need, allowedPartitions });
    }
    refuse(request, `no partition that it could be placed on is there besides ${partition}, or large enough`, {});
  }
  for (const instance of instances) state.claims.end(instance);
  state.claims.remove(request);
}

function requireNothingLeft(state: GraphState, request: RequestNode): void {
  if (request.partition === null) refuse(request, "it is not placed", {});
  if (request.relocating) refuse(request, "it is being laid elsewhere already", {});
  let issuedOperators = 0;
  let copies = 0;
  let transfers = 0;
  for (const { operators } of request.instances) {
    for (const { issueNumber, outputs } of operators) {
      if (state.issued.has(issueNumber)) issuedOperators += 1;
      for (const tensor of outputs) {
        copies += tensor.copies.length;
        transfers += tensor.transfers.length;
      }
    }
  }
  if (issuedOperators + copies + transfers === 0) return;
  refuse(
    request,
    `executors have ${issuedOperators} operators of it, ${copies} copies of its results and ${transfers} transfers; recall what has ` +
      "not started, and wait until it has come back and its results have gone",
    { issuedOperators, copies, transfers },
  );
}

function refuse({ id }: RequestNode, reason: string, found: Readonly<Record<string, number>>): never {
  throw new IllegalMoveError(`request ${id} cannot be unplaced: ${reason}`, { request: id, ...found });
}
