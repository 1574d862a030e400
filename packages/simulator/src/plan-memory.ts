/** Which copies share a buffer, and what the accelerators hold at begin. */
import { BYTES, MORE, PLACE, PRESENT_AT_BEGIN, SHARED, TRANSFER, UNDERWAY, WORKSPACE } from "./nodes.ts";
import { localCopy } from "./plan-lists.ts";
import type { Planned } from "./planned.ts";

/** Buffers of the copies among the nodes from this on that continue others. */
export function resolveBuffers(planned: Planned, fromCopy: number): void {
  const { problem } = planned;
  const aliases: number[] = [];
  for (let copy = fromCopy; copy < planned.copies; copy++) {
    const continued = problem.copyAliases[copy] as number;
    if (continued === -1) continue;
    const node = planned.copyNode[copy] as number;
    planned.aliasOf[node] = localCopy(planned, continued, problem.copyAccelerator[copy] as number);
    aliases.push(node);
  }
  for (const node of aliases) resolveBuffer(planned, node);
}

/**
 * Follows aliases up to the copy that has a buffer of its own, or to one whose buffer is known. Operators that continue each
 * other's outputs in a circle never start; any of them may own the buffer then.
 */
function resolveBuffer(planned: Planned, node: number): void {
  const { aliasOf } = planned;
  const way: number[] = [];
  const onWay = new Set<number>();
  let root = node;
  while (!planned.isShared(root) && aliasOf[root] !== -1 && !onWay.has(root)) {
    onWay.add(root);
    way.push(root);
    root = aliasOf[root] as number;
  }
  if (!planned.isShared(root)) share(planned, root, newBuffer(planned, root));
  const buffer = planned.bufferOf[root] as number;
  for (const each of way) if (!planned.isShared(each)) share(planned, each, buffer);
}

function share(planned: Planned, node: number, buffer: number): void {
  const place = planned.nodes.i32[(node << 4) + PLACE] as number;
  planned.write(node, PLACE, place | SHARED);
  planned.bufferOf[node] = buffer;
}

/** Of a copy that had a buffer of its own until now; what the base holds at begin is allocated already. */
function newBuffer(planned: Planned, node: number): number {
  const buffer = planned.buffers++;
  const isAllocated = node < planned.baseNodes && isThereAtBegin(planned, node);
  planned.bufferBytes[buffer] = isAllocated ? (planned.nodes.f64[(node << 3) + BYTES] as number) : 0;
  planned.bufferCopies[buffer] = isAllocated ? 1 : 0;
  return buffer;
}

/** Present and needed, or written or received by what is under way. */
function isThereAtBegin(planned: Planned, node: number): boolean {
  const { i32 } = planned.nodes;
  const place = i32[(node << 4) + PLACE] as number;
  if ((place & PRESENT_AT_BEGIN) !== 0) return planned.isNeeded(node);
  const maker = planned.producer[node] === -1 ? node : (planned.producer[node] as number);
  return ((i32[(maker << 4) + PLACE] as number) & UNDERWAY) !== 0;
}

/** Bytes in use at begin by the nodes from this on: present and needed copies, and all that is under way. */
export function allocateInitial(planned: Planned, from: number): void {
  const { nodes, initialBytes } = planned;
  const { f64, i32 } = nodes;
  for (let node = from; node < nodes.count; node++) {
    const place = i32[(node << 4) + PLACE] as number;
    const accelerator = place & 0xffff;
    if ((place & UNDERWAY) !== 0) {
      (initialBytes[accelerator] as number) += f64[(node << 3) + WORKSPACE] as number;
      allocate(planned, node, true);
      if ((place & TRANSFER) !== 0) continue;
      for (let more = i32[(node << 4) + MORE] as number; more !== -1; more = i32[(more << 4) + MORE] as number)
        allocate(planned, more, true);
    } else if ((place & PRESENT_AT_BEGIN) !== 0) allocate(planned, node, planned.isNeeded(node));
  }
}

/** A copy that is there at begin; its bytes set its buffer's size even when nobody needs it. */
function allocate(planned: Planned, node: number, isNeeded: boolean): void {
  const { nodes, initialBytes } = planned;
  const bytes = nodes.f64[(node << 3) + BYTES] as number;
  const accelerator = planned.accelerator(node);
  if (!planned.isShared(node)) {
    if (isNeeded) (initialBytes[accelerator] as number) += bytes;
    return;
  }
  const buffer = planned.bufferOf[node] as number;
  const copies = planned.bufferCopies[buffer] as number;
  const beforeBytes = planned.bufferBytes[buffer] as number;
  const afterBytes = Math.max(beforeBytes, bytes);
  const copiesAfter = copies + (isNeeded ? 1 : 0);
  planned.bufferBytes[buffer] = afterBytes;
  planned.bufferCopies[buffer] = copiesAfter;
  (initialBytes[accelerator] as number) += (copiesAfter > 0 ? afterBytes : 0) - (copies > 0 ? beforeBytes : 0);
}
