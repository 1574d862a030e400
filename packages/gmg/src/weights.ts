import { obstacleTo } from "./feasible.ts";
import type { Shortage } from "./grants.ts";
import { SubmissionError } from "./graph-errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { Template } from "./template.ts";
import type { AcceleratorIndex } from "./types.ts";

/**
 * Takes memory for the weights of a template on every partition, once per name and accelerator. Throws WEIGHTS_MISMATCH when
 * another template gave a name another size, and NEVER_FITS when what is granted or accepted already would not fit beside them;
 * nothing is loaded then.
 */
export function loadWeights(state: GraphState, template: Template): void {
  const more = new Float64Array(state.cluster.accelerators.length);
  const loads = new Map<string, { accelerator: AcceleratorIndex; name: string; bytes: number }>();
  for (const partition of template.partitions) {
    for (const weight of partition.weights) {
      checkSize(state, template, weight.name, weight.bytes);
      if (state.availability[weight.accelerator] === "down") continue;
      const key = `${weight.accelerator}/${weight.name}`;
      if (loads.has(key) || state.ledger.hasWeights(weight.accelerator, weight.name)) continue;
      loads.set(key, weight);
      const roundedBytes = state.cluster.roundBytes(weight.accelerator, weight.bytes);
      more[weight.accelerator] = (more[weight.accelerator] as number) + roundedBytes;
    }
  }
  if (loads.size === 0) return;
  const lack = state.claims.lackForWeights(more);
  if (lack !== null) throw neverFits(state, template, lack, "beside what requests have claimed");
  for (const request of state.requests.values()) {
    if (request.partition !== null || (request.limits === null && request.instances.size === 0)) continue;
    const obstacle = obstacleTo(state, request, more);
    if (obstacle?.kind !== "memory") continue;
    throw neverFits(state, template, obstacle.lack, `for request ${request.id}, which was accepted and waits`);
  }
  for (const { accelerator, name, bytes } of loads.values()) {
    state.ledger.loadWeights(accelerator, name, bytes);
    state.weightBytes.set(name, bytes);
  }
}

function neverFits(state: GraphState, template: Template, lack: Shortage, where: string): SubmissionError {
  const { name } = state.cluster.accelerators[lack.accelerator] ?? { name: "?" };
  return new SubmissionError(
    "NEVER_FITS",
    `template ${JSON.stringify(template.name)} cannot be registered: with its weights, accelerator ${JSON.stringify(name)} has ` +
      `${lack.availableBytes} bytes ${where}, and ${lack.neededBytes} are needed; use fewer partitions or a larger accelerator`,
    { template: template.name, ...lack },
  );
}

function checkSize(state: GraphState, template: Template, name: string, bytes: number): void {
  const loadedBytes = state.weightBytes.get(name);
  if (loadedBytes === undefined || loadedBytes === bytes) return;
  throw new SubmissionError(
    "WEIGHTS_MISMATCH",
    `template ${JSON.stringify(template.name)} cannot be registered: its weights ${JSON.stringify(name)} have ${bytes} bytes, and those ` +
      `of that name that are loaded have ${loadedBytes}; equal names mean equal weights, so give these another name`,
    { template: template.name, weights: name, bytes, loadedBytes },
  );
}
