import { addInto } from "./byte-vectors.ts";
import { obstacleTo } from "./feasible.ts";
import type { Shortage } from "./grants.ts";
import { SubmissionError } from "./graph-errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { CompiledPartition, Template } from "./template.ts";
import type { AcceleratorIndex } from "./types.ts";

type Weights = CompiledPartition["weights"][number];

/**
 * Takes memory for the weights of a template on every partition, once per name and accelerator; where an accelerator is down, only sees to
 * it that they will fit when it returns. Throws WEIGHTS_MISMATCH when another template gave a name another size, and NEVER_FITS when what
 * is granted or accepted already would not fit beside them, or all that is registered for one that is down; nothing is loaded then.
 */
export function loadWeights(state: GraphState, template: Template): void {
  const added = addedWeights(state, template);
  if (added.length === 0) return;
  const more = moreBytes(state, added);
  const lack =
    state.claims.lackForWeights(more) ??
    state.claims.lackWhenEmpty({ bytes: more, workspaceBytes: new Float64Array(more.length) });
  if (lack !== null) throw neverFits(state, template, lack, "beside what requests have claimed");
  keepFeasible(state, template, more);
  for (const { accelerator, name, bytes } of added) {
    if (state.availability[accelerator] !== "down") state.ledger.loadWeights(accelerator, name, bytes);
    state.weightBytes.set(name, bytes);
  }
}

/** What the registered templates have on an accelerator, loaded or not, by name. Linear in their partitions. */
export function weightsOn(state: GraphState, accelerator: AcceleratorIndex): Map<string, Weights> {
  const weights = new Map<string, Weights>();
  for (const { partitions } of state.templates.values()) {
    for (const partition of partitions) {
      for (const each of partition.weights) if (each.accelerator === accelerator) weights.set(each.name, each);
    }
  }
  return weights;
}

/** What no registered template has there, once per name and accelerator. */
function addedWeights(state: GraphState, template: Template): Weights[] {
  const there = new Map<AcceleratorIndex, Map<string, Weights>>();
  const added: Weights[] = [];
  for (const weights of template.partitions.flatMap((partition) => partition.weights)) {
    const { accelerator, name, bytes } = weights;
    checkSize(state, template, name, bytes);
    const known = there.get(accelerator) ?? weightsOn(state, accelerator);
    there.set(accelerator, known);
    if (known.has(name)) continue;
    known.set(name, weights);
    added.push(weights);
  }
  return added;
}

/** Per accelerator, rounded: what is added, and on one that is down, where nothing is loaded, also what it returns with anyway. */
function moreBytes(state: GraphState, added: readonly Weights[]): Float64Array {
  const more = new Float64Array(state.cluster.accelerators.length);
  const add = ({ accelerator, bytes }: Weights) => {
    more[accelerator] = (more[accelerator] as number) + state.cluster.roundBytes(accelerator, bytes);
  };
  for (const weights of added) add(weights);
  for (const accelerator of new Set(added.map((weights) => weights.accelerator))) {
    if (state.availability[accelerator] === "down") weightsOn(state, accelerator).forEach(add);
  }
  return more;
}

/** Throws NEVER_FITS when a request that waits could be laid on a partition that is there, and could no more. */
function keepFeasible(state: GraphState, template: Template, more: Float64Array): void {
  for (const request of state.requests.values()) {
    if (request.partition !== null || (request.limits === null && request.instances.size === 0)) continue;
    const others = request.usedBytes.slice();
    addInto(others, more);
    const obstacle = obstacleTo(state, request, others);
    if (obstacle === null || obstacle.kind === "noPartition" || obstacle.lack === null) continue;
    // It has been in the way of itself already.
    if (obstacleTo(state, request, request.usedBytes) !== null) continue;
    throw neverFits(state, template, obstacle.lack, `for request ${request.id}, which was accepted and waits`);
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
      `of that name that are registered have ${loadedBytes}; equal names mean equal weights, so give these another name`,
    { template: template.name, weights: name, bytes, loadedBytes },
  );
}
