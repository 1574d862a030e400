import { addInto, type Shortage } from "@slicescheduler/memory";
import type { AcceleratorIndex, CompiledPartition, Template } from "@slicescheduler/templates";
import { obstacleTo } from "./feasible.ts";
import { SubmissionError } from "./graph-errors.ts";
import type { GraphState } from "./graph-state.ts";

type Weights = CompiledPartition["weights"][number];

/**
 * Takes memory for the weights of a template on every partition, once per name and accelerator; where an accelerator is down, only sees to
 * it that they will fit when it returns. Throws WEIGHTS_MISMATCH when another template gave a name another size, and NEVER_FITS when what
 * is granted or accepted already would not fit beside them; nothing is loaded then.
 */
export function loadWeights(state: GraphState, template: Template): void {
  const added = newWeights(state, template);
  if (added.length === 0) return;
  const more = bytesOfWeights(state, added);
  const lack =
    state.claims.lackForWeights(more) ??
    state.claims.lackWhenEmpty({ bytes: more, workspaceBytes: new Float64Array(more.length) });
  if (lack !== null) throw neverFits(state, template, lack, "beside what requests have claimed");
  keepFeasible(state, template, more);
  state.claims.addWeights(more);
  for (const { accelerator, name, bytes } of added) {
    if (state.availability[accelerator] !== "down") state.ledger.loadWeights(accelerator, name, bytes);
    state.weightBytes.set(name, bytes);
  }
}

/** What the registered templates have on accelerators, loaded or not, once per name and accelerator. Linear in their partitions. */
export function registeredWeights(
  state: GraphState,
  accelerators: ReadonlySet<AcceleratorIndex>,
): Map<string, Weights> {
  const registered = new Map<string, Weights>();
  if (accelerators.size === 0) return registered;
  for (const { partitions } of state.templates.values()) {
    for (const { weights } of partitions) {
      for (const each of weights) if (accelerators.has(each.accelerator)) registered.set(keyOf(each), each);
    }
  }
  return registered;
}

function keyOf({ accelerator, name }: Weights): string {
  return `${accelerator}/${name}`;
}

/** What no registered template has there; accelerators that are down have nothing loaded. */
function newWeights(state: GraphState, template: Template): Weights[] {
  const all = template.partitions.flatMap(({ weights }) => weights);
  const isDown = ({ accelerator }: Weights) => state.availability[accelerator] === "down";
  const known = registeredWeights(state, new Set(all.filter(isDown).map(({ accelerator }) => accelerator)));
  const added: Weights[] = [];
  for (const weights of all) {
    checkSize(state, template, weights);
    if (known.has(keyOf(weights)) || state.ledger.hasWeights(weights.accelerator, weights.name)) continue;
    known.set(keyOf(weights), weights);
    added.push(weights);
  }
  return added;
}

/** Per accelerator, rounded. */
export function bytesOfWeights(state: GraphState, weights: Iterable<Weights>): Float64Array {
  const total = new Float64Array(state.cluster.accelerators.length);
  for (const { accelerator, bytes } of weights) {
    total[accelerator] = (total[accelerator] as number) + state.cluster.roundBytes(accelerator, bytes);
  }
  return total;
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

function checkSize(state: GraphState, template: Template, { name, bytes }: Weights): void {
  const loadedBytes = state.weightBytes.get(name);
  if (loadedBytes === undefined || loadedBytes === bytes) return;
  throw new SubmissionError(
    "WEIGHTS_MISMATCH",
    `template ${JSON.stringify(template.name)} cannot be registered: its weights ${JSON.stringify(name)} have ${bytes} bytes, and those ` +
      `of that name that are registered have ${loadedBytes}; equal names mean equal weights, so give these another name`,
    { template: template.name, weights: name, bytes, loadedBytes },
  );
}
