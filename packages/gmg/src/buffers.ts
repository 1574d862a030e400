/**
 * Who answers for the bytes of a buffer. Each copy adds what it takes under the instance that caused it: until that instance has
 * ended its need covers them, and from then on they are counted by themselves, until the last copy in the buffer has gone. A
 * buffer neither shrinks nor goes while any copy is in it, whichever of them that is.
 */
import type { AcceleratorIndex } from "@slicescheduler/templates";
import type { GraphState } from "./graph-state.ts";
import type { BufferNode, InstanceNode, TensorNode } from "./nodes.ts";

/** Notes a held copy of so many rounded bytes, in the buffer that it continues, which may have to grow, or in one of its own. */
export function addCopy(
  tensor: TensorNode,
  accelerator: AcceleratorIndex,
  cause: InstanceNode,
  roundedBytes: number,
  continued: BufferNode | null,
): void {
  const buffer = continued ?? { accelerator, bytes: 0, copies: 0, shares: new Map(), endedBytes: 0 };
  const addedBytes = Math.max(0, roundedBytes - buffer.bytes);
  buffer.bytes += addedBytes;
  buffer.copies += 1;
  if (addedBytes > 0) {
    buffer.shares.set(cause, (buffer.shares.get(cause) ?? 0) + addedBytes);
    cause.buffers.add(buffer);
  }
  tensor.copies.push({ accelerator, buffer, held: true });
}

/** The ledger freed or dropped a copy; with the last one of its buffer the bytes go back to the claim. */
export function forgetCopy(state: GraphState, tensor: TensorNode, accelerator: AcceleratorIndex): void {
  const at = tensor.copies.findIndex((copy) => copy.accelerator === accelerator);
  const [copy] = at < 0 ? [] : tensor.copies.splice(at, 1);
  if (copy === undefined) return;
  const { buffer } = copy;
  buffer.copies -= 1;
  if (buffer.copies > 0) return;
  for (const cause of buffer.shares.keys()) cause.buffers.delete(buffer);
  if (buffer.endedBytes > 0) state.claims.giveBack(tensor.producer.instance.request, accelerator, buffer.endedBytes);
}
