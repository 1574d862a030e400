import { roundedUp } from "./bytes.ts";
import { requireWhole, SimulatorError } from "./errors.ts";
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
import { EXPECTED, PRESENT } from "./problem.ts";

/**
 * The transfer that brings a tensor to an accelerator; returns its node.
 * @param copy The EXPECTED copy declared there, −1 = none.
 * @param from Where the operator wants it from, −1 = its home; a transfer in flight knows better.
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
  const inFlight = copy === -1 ? -1 : (problem.copySource[copy] as number);
  const sent = sourceNode(planned, tensor, destination, inFlight === -1 ? from : inFlight, inFlight !== -1);
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
  requireWhole(rounded, 0, `tensor ${tensor} on accelerator ${destination}, rounded, in bytes,`, "INVALID_BYTES");
  const durationNs =
    inFlight === -1 ? predictedNs(planned, source, destination, bytes) : (problem.copyRemainingNs[copy] as number);
  const held = copy !== -1 && problem.copyHeld[copy] === 1;
  const node = planned.addNode(
    destination | TRANSFER | (held ? HELD : 0) | (inFlight === -1 ? 0 : UNDERWAY),
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
function sourceNode(planned: Planned, tensor: number, destination: number, wanted: number, inFlight: boolean): number {
  const { problem } = planned;
  const source = wanted === -1 ? (problem.tensorHome[tensor] as number) : problem.find(tensor, wanted);
  const kind = source === -1 ? EXPECTED : problem.copyKind[source];
  if (kind !== EXPECTED && !(inFlight && kind !== PRESENT)) return planned.copyNode[source] as number;
  const what = wanted === -1 ? "its home" : `accelerator ${wanted}`;
  throw new SimulatorError(
    "INVALID_SOURCE",
    `tensor ${tensor} should go from ${what} to accelerator ${destination}, but is not there and nothing produces it there`,
    { tensor, source: wanted, destination },
  );
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
