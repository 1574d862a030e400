/** Steps of a play that change how urgent work is, or let it give way. */
import { expect } from "vitest";
import { at } from "./graph-compare.ts";
import type { Play } from "./graph-play.ts";
import type { TwinRequest } from "./graph-twin.ts";

/** For work of a class: the least urgent that has not started gives way, if it is of a lower one. */
export function displace(play: Play, pick: number): boolean {
  const { graph, twin } = play;
  const rank = pick % 3;
  const [node] = graph.displaceable(rank);
  const [operator] = twin.displaceable();
  if (operator === undefined || twin.urgencyOf(operator)[0] <= rank) {
    expect(node).toBe(undefined);
    return false;
  }
  expect(node).toBe(play.nodeOf(operator));
  if (node === undefined) return false;
  const { request } = node.instance;
  const before = request.preemptions;
  graph.displace(node);
  twin.recall(operator);
  expect(request.preemptions).toBe(before + 1);
  expect(() => graph.displace(node)).toThrow(expect.objectContaining({ code: "ILLEGAL_MOVE" }));
  return true;
}

export function promote({ graph, twin }: Play, pick: number, rank: number): boolean {
  const live = twin.operators().filter(({ state }) => state === "unscheduled" || state === "issued");
  const operator = at(live, pick);
  const node = graph.instance(operator?.instance.id ?? -1)?.operators[operator?.index ?? -1];
  if (operator === undefined || node === undefined) return false;
  const isMore = rank % 3 < Math.min(operator.instance.rank, operator.promoted);
  expect(graph.promote(node, rank % 3)).toBe(isMore);
  if (isMore) operator.promoted = rank % 3;
  return isMore;
}

/** Tells whether it gave its place up. */
export function unplace(play: Play, request: TwinRequest | undefined): boolean {
  if (request === undefined) return false;
  const { partition } = play.graph.request(request.id);
  const code = play.attempt(() => play.graph.unplace(request.id));
  if (code !== null) expect(code).toBe("ILLEGAL_MOVE");
  const node = play.graph.request(request.id);
  if (partition === null || !play.twin.isNowhere(request)) expect(code).toBe("ILLEGAL_MOVE");
  // Without limits, more may have been submitted bit by bit than an empty partition holds at once.
  else if (node.limits !== null) expect(code).toBe(null);
  expect(node.partition).toBe(code === null ? null : partition);
  if (code !== null) return false;
  expect([...node.usedBytes, ...node.reservedBytes].every((bytes) => bytes === 0)).toBe(true);
  return true;
}

/** More often than not that of the request. */
export function someUrgency(pick: number, other: number): { rank?: number; deadlineNs?: number; order?: number } {
  return {
    ...(other % 4 === 2 ? { order: (other >> 1) % 3 } : {}),
    ...(pick % 3 === 1 ? { rank: (pick >> 2) % 4 } : {}),
    ...(other % 5 === 1 ? { deadlineNs: (other >> 2) % 4 } : {}),
  };
}
