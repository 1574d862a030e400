import type { DirectStep } from "../direct.ts";
import { LibtorchError } from "../programs/errors.ts";
import type { LlamaModel } from "./model.ts";

/**
 * Greedy generation of one prompt as steps for `runDirect`, operator by operator without a scheduler: what a scheduled run is compared with. Fetches `token`, `count` times.
 * Several prompts may follow one another in one run.
 */
export function llamaDirectSteps(model: LlamaModel, prompt: readonly number[], count: number): DirectStep[] {
  const last = model.prefill.template.operators.length - 1;
  // Slot 0 and so on have the cache of each operator, the next one hidden states, the last one the token.
  const [hidden, token] = [last + 1, last + 2];
  const tokens = prompt.length;
  const capacity = tokens + count;
  const ids = { dtype: "int64", shape: [tokens], data: BigInt64Array.from(prompt, BigInt) } as const;
  return Array.from({ length: count }, (_, step): DirectStep[] => {
    const isPrefill = step === 0;
    const { template, programs } = isPrefill ? model.prefill : model.decode;
    const symbols = isPrefill ? { tokens, capacity } : { past: tokens + step - 1, capacity };
    return template.operators.map(({ name: operator }, index) => {
      const program = programs[operator];
      if (program === undefined) {
        throw new LibtorchError("PROGRAM_MISSING", `${template.name}/${operator}: the model has no program for it`);
      }
      // In the order in which templates.ts declares them.
      const inputs = [
        ...(index === 0 ? [] : [hidden]),
        ...(isPrefill ? [] : [index]),
        ...(index === 0 && !isPrefill ? [token] : []),
      ];
      const outputs = [index === last ? token : hidden, index];
      const feeds = index === 0 && isPrefill ? { prompt: ids } : {};
      return { template, operator, program, symbols, inputs, outputs, feeds };
    });
  }).flat();
}
