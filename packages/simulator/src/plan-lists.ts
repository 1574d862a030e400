/** Who uses, sends and waits for what: the lists in the records, and the copies that they name. */
import { NEED, NEED_ALL } from "./nodes.ts";
import type { Planned } from "./planned.ts";

/** The node that is, makes or brings a tensor's copy on an accelerator, or −1. */
export function localCopy(planned: Planned, tensor: number, accelerator: number): number {
  const declared = planned.find(tensor, accelerator);
  if (declared !== -1) return planned.copyNode[declared] as number;
  let node = planned.newestPlanned[tensor] as number;
  while (node !== -1 && planned.accelerator(node) !== accelerator) node = planned.olderPlanned[node] as number;
  return node;
}

export function addNeed(planned: Planned, copy: number): void {
  const need = (planned.nodes.i32[(copy << 4) + NEED_ALL] as number) + 1;
  planned.write(copy, NEED, need);
  planned.write(copy, NEED_ALL, need);
}

/** Appends to a node's list. */
export function append(planned: Planned, node: number, field: number, other: number): void {
  const { nodes } = planned;
  const list = nodes.i32[(node << 4) + field] as number;
  if (list === -1) {
    planned.write(node, field, other);
    return;
  }
  let last = -2 - list;
  if (list >= 0) {
    last = nodes.edgeCount++;
    nodes.edges[2 * last] = list;
    nodes.edges[2 * last + 1] = last;
  }
  const edge = nodes.edgeCount++;
  nodes.edges[2 * edge] = other;
  nodes.edges[2 * edge + 1] = nodes.edges[2 * last + 1] as number;
  planned.writeEdge(last, edge);
  planned.write(node, field, -2 - edge);
}
