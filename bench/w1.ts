/**
 * W1, the workload that simulators are compared on: accelerators in pairs, requests round robin over the pairs, each a
 * chain of 16 forward passes (one prefill, 15 decodes) of four operators. The first two run on the first accelerator of
 * the pair, the others on the second, so that each pass needs one transfer there and, except for the last, one back.
 */
export interface W1 {
  readonly accelerators: number;
  /** In an order in which inputs come before their consumers. */
  readonly operators: readonly W1Operator[];
}

interface W1Operator {
  readonly accelerator: number;
  readonly durationNs: number;
  readonly outputBytes: number;
  /** Index of the operator whose output it consumes, or −1. */
  readonly input: number;
}

/** Every link: 0.05 ms and 12 GB/s. */
export const W1_LINK = { latencyNs: 50_000, bytesPerSecond: 12e9 };

const PASSES = 16;
const OPERATORS_PER_PASS = 4;
const MODELS = 4;
const HIDDEN_BYTES_PER_TOKEN = 8192;

/** @param accelerators An even number. */
export function w1(accelerators: number, requests: number, seed: number): W1 {
  const random = congruential(seed);
  const operators: W1Operator[] = [];
  for (let request = 0; request < requests; request++) {
    const first = 2 * (request % (accelerators / 2));
    const model = random() % MODELS;
    const promptTokens = 128 + (random() % 1921);
    let input = -1;
    for (let pass = 0; pass < PASSES; pass++) {
      const tokens = pass === 0 ? promptTokens : 1;
      const load = pass === 0 ? promptTokens : 1 + (promptTokens + pass) / 1024;
      for (let group = 0; group < OPERATORS_PER_PASS; group++) {
        const last = group === OPERATORS_PER_PASS - 1;
        operators.push({
          accelerator: group < 2 ? first : first + 1,
          durationNs: Math.round(
            1e6 * (10 + 0.37 * model + 0.05 * group + (0.11 + 0.004 * model + 0.001 * group) * load),
          ),
          outputBytes: (last ? 1 : tokens) * HIDDEN_BYTES_PER_TOKEN,
          input,
        });
        input = operators.length - 1;
      }
    }
  }
  return { accelerators, operators };
}

/** The high 24 bits of a linear congruential generator: the numbers of the yardstick, so that the workload is the same. */
function congruential(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}
