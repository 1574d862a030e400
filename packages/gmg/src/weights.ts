import { SubmissionError } from "./graph-errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { Template } from "./template.ts";
import type { AcceleratorIndex } from "./types.ts";

/**
 * Takes memory for the weights of a template on every partition, once per name and accelerator. Throws WEIGHTS_MISMATCH when
 * another template gave a name another size, and NEVER_FITS; nothing is loaded then.
 */
export function loadWeights(state: GraphState, template: Template): void {
  const more = new Map<AcceleratorIndex, number>();
  const loads = new Map<string, { accelerator: AcceleratorIndex; name: string; bytes: number }>();
  for (const partition of template.partitions) {
    for (const weight of partition.weights) {
      checkSize(state, template, weight.name, weight.bytes);
      const key = `${weight.accelerator}/${weight.name}`;
      if (loads.has(key) || state.ledger.hasWeights(weight.accelerator, weight.name)) continue;
      loads.set(key, weight);
      const roundedBytes = state.cluster.roundBytes(weight.accelerator, weight.bytes);
      more.set(weight.accelerator, (more.get(weight.accelerator) ?? 0) + roundedBytes);
    }
  }
  for (const [accelerator, bytes] of more) {
    const lack = state.claims.lackForWeights(accelerator, bytes);
    if (lack === null) continue;
    const { name } = state.cluster.accelerators[accelerator] ?? { name: "?" };
    throw new SubmissionError(
      "NEVER_FITS",
      `template ${JSON.stringify(template.name)} cannot be registered: its weights take ${lack.neededBytes} bytes more on accelerator ` +
        `${JSON.stringify(name)}, and ${lack.availableBytes} are available; use fewer partitions or a larger accelerator`,
      { template: template.name, ...lack },
    );
  }
  for (const { accelerator, name, bytes } of loads.values()) {
    state.ledger.loadWeights(accelerator, name, bytes);
    state.weightBytes.set(name, bytes);
  }
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
