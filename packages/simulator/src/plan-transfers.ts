import { roundedUp } from "./bytes.ts";
import { failWhole, SimulatorError } from "./errors.ts";
import {
  BYTES,
  DURATION,
  HELD,
  INPUTS,
  MISSING,
  MISSING_ALL,
  PLACE,
  PRESENT_AT_BEGIN,
  SUCCESSORS,
  TRANSFER,
  UNDERWAY,
} from "./nodes.ts";
import { addNeed, append } from "./plan-lists.ts";
import type { Planned } from "./planned.ts";
import { EXPECTED } from "./problem.ts";

/**
 * The transfer that brings a tensor to an accelerator; returns its node.
 * @param copy The EXPECTED copy declared there, −1 = none.
 * @param from Where it comes from, −1 = the tensor's home.
 */
export function planTransfer(
  planned: Planned,
  tensor: number,
  copy: number,
  destination: number,
  rank: number,
  from: number,
): number {
  const { problem, nodes } = planned;
  const remainingNs = copy === -1 ? 0 : (problem.copyRemainingNs[copy] as number);
  const sent = sourceNode(planned, tensor, destination, from);
  const source = planned.accelerator(sent);
  if (!planned.intents.ports.hasRoute(source, destination)) {
    throw new SimulatorError(
      "NO_ROUTE",
      `tensor ${tensor} is needed on accelerator ${destination}, and there is no way there from accelerator ${source}`,
      { tensor, source, destination },
    );
  }
  const bytes = problem.tensorBytes[tensor] as number;
  const rounded = roundedUp(bytes, planned.granularityBytes[destination] as number);
  if (rounded > Number.MAX_SAFE_INTEGER) failRounded(tensor, destination, rounded);
  const durationNs = remainingNs === 0 ? predictedNs(planned, source, destination, bytes) : remainingNs;
  const held = copy !== -1 && problem.copyHeld[copy] === 1;
  const node = planned.addNode(
    destination | TRANSFER | (held ? HELD : 0) | (remainingNs === 0 ? 0 : UNDERWAY),
    -1,
    tensor,
  );
  nodes.f64[(node << 3) + DURATION] = durationNs;
  nodes.f64[(node << 3) + BYTES] = rounded;
  planned.rank[node] = rank;
  planned.transferNode[planned.transfers++] = node;
  if (copy !== -1) planned.copyNode[copy] = node;
  else {
    planned.olderPlanned[node] = planned.newestPlanned[tensor] as number;
    planned.writeNewestPlanned(tensor, node);
  }
  append(planned, node, INPUTS, sent);
  addNeed(planned, sent);
  if (((nodes.i32[(sent << 4) + PLACE] as number) & PRESENT_AT_BEGIN) === 0) {
    append(planned, sent, SUCCESSORS, node);
    nodes.i32[(node << 4) + MISSING] = nodes.i32[(node << 4) + MISSING_ALL] = 1;
  }
  return node;
}

/** The node whose own copy is sent. */
function sourceNode(planned: Planned, tensor: number, destination: number, wanted: number): number {
  const { problem } = planned;
  const source = wanted === -1 ? (problem.tensorHome[tensor] as number) : planned.find(tensor, wanted);
  if (source !== -1 && problem.copyKind[source] !== EXPECTED) return planned.copyNode[source] as number;
  const what = wanted === -1 ? "its home" : `accelerator ${wanted}`;
  throw new SimulatorError(
    "INVALID_SOURCE",
    `tensor ${tensor} should go from ${what} to accelerator ${destination}, but is not there and nothing produces it there`,
    { tensor, source: wanted, destination },
  );
}

function failRounded(tensor: number, destination: number, rounded: number): never {
  failWhole(rounded, 0, `tensor ${tensor} on accelerator ${destination}, rounded, in bytes,`, "INVALID_BYTES");
}

function predictedNs(planned: Planned, source: number, destination: number, bytes: number): number {
  const durationNs = planned.options.transferNs(source, destination, bytes);
  if (Number.isSafeInteger(durationNs) && durationNs >= 1) return durationNs;
  throw new SimulatorError(
    "INVALID_DURATION",
    `transferNs(${source}, ${destination}, ${bytes}) gave ${durationNs}; it must be whole nanoseconds, at least 1`,
    { source, destination, bytes, durationNs },
  );
}
