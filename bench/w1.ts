/**
 * W1, the workload that simulators are compared on: accelerators in pairs, requests round robin over the pairs, each a
 * chain of 16 forward passes (one prefill, 15 decodes) of four operators. The first two run on the first accelerator of
 * the pair, the others on the second, so that each pass needs one transfer there and, except for the last, one back.
 */
import { type SimTensor, Simulator } from "@slicescheduler/simulator";

export interface W1 {
  readonly accelerators: number;
  readonly requests: number;
  /** In an order in which inputs come before their consumers. */
  readonly operators: readonly W1Operator[];
}

interface W1Operator {
  readonly accelerator: number;
  readonly durationNs: number;
  readonly outputBytes: number;
  /** Of the KV cache that the same operator of the next pass reads; 0 without caches. */
  readonly cacheBytes: number;
  /** Index of the operator whose output it consumes, or −1. */
  readonly input: number;
  /** Index of the operator whose cache it reads, or −1. */
  readonly cache: number;
}

export interface W1Options {
  /** Each pass reads the caches of the one before. */
  readonly kv?: boolean;
  /** The four models differ in size. */
  readonly het?: boolean;
}

/** Every link: 0.05 ms and 12 GB/s. */
const W1_LINK = { latencyNs: 50_000, bytesPerNs: 12 };

const PASSES = 16;
const GROUPS = 4;
const MODELS = 4;
const HIDDEN_BYTES_PER_TOKEN = 8192;
const CACHE_BYTES_PER_TOKEN = 32_768;
const SIZES = [0.3, 1, 2.3, 4.1];
export const OPERATORS_PER_REQUEST: number = PASSES * GROUPS;

/** @param accelerators An even number. */
export function w1(accelerators: number, requests: number, seed: number, options: W1Options = {}): W1 {
  const random = congruential(seed);
  const operators: W1Operator[] = [];
  for (let request = 0; request < requests; request++) {
    const first = 2 * (request % (accelerators / 2));
    const model = random() % MODELS;
    const promptTokens = 128 + (random() % 1921);
    const size = options.het === true ? (SIZES[model] as number) : 1;
    let input = -1;
    for (let pass = 0; pass < PASSES; pass++) {
      const tokens = pass === 0 ? promptTokens : 1;
      const load = pass === 0 ? promptTokens : 1 + (promptTokens + pass) / 1024;
      for (let group = 0; group < GROUPS; group++) {
        const ms = (10 + 0.37 * model + 0.05 * group) * size + (0.11 + 0.004 * model + 0.001 * group) * load;
        operators.push({
          accelerator: group < 2 ? first : first + 1,
          durationNs: Math.round(1e6 * ms),
          outputBytes: (group === GROUPS - 1 ? 1 : tokens) * HIDDEN_BYTES_PER_TOKEN,
          cacheBytes: options.kv === true ? tokens * CACHE_BYTES_PER_TOKEN : 0,
          input,
          cache: options.kv === true && pass > 0 ? operators.length - GROUPS : -1,
        });
        input = operators.length - 1;
      }
    }
  }
  return { accelerators, requests, operators };
}

export function w1TransferNs(bytes: number): number {
  // Rounded up in whole numbers: a quotient in floating point can be a hair too large.
  const over = bytes % W1_LINK.bytesPerNs;
  return W1_LINK.latencyNs + (bytes - over) / W1_LINK.bytesPerNs + (over > 0 ? 1 : 0);
}

/**
 * A simulator of W1's accelerators. @param plain Transfers go first come, first served, as in the yardstick: an intent's rank
 * falls with every nanosecond that it waits.
 */
export function w1Simulator(accelerators: number, plain: boolean): Simulator {
  return new Simulator({
    topology: {
      accelerators,
      portCapacity: new Array<number>(accelerators).fill(1),
      // W1 has one link per pair and direction, which is what the ports of its two accelerators amount to.
      linkCapacity: [],
      route: () => [],
    },
    transferNs: (_source, _destination, bytes) => w1TransferNs(bytes),
    ...(plain ? { agingNs: 1, reserveNs: Number.MAX_SAFE_INTEGER } : {}),
  });
}

/** Declares all operators, handles and issue numbers in their order. Returns the tensors that are passed on. */
export function declareW1(simulator: Simulator, { accelerators, operators }: W1): readonly SimTensor[] {
  simulator.begin(0, new Array(accelerators).fill({ capacityBytes: 2 ** 52, fixedBytes: 0 }));
  const outputs: SimTensor[] = [];
  const caches: SimTensor[] = [];
  for (const [issueNumber, it] of operators.entries()) {
    const operator = simulator.addOperator(it.accelerator, it.durationNs, 0, issueNumber, 0);
    if (it.input >= 0) simulator.addInput(operator, outputs[it.input] as SimTensor);
    if (it.cache >= 0) simulator.addInput(operator, caches[it.cache] as SimTensor);
    outputs.push(simulator.addOutput(operator, it.outputBytes, false));
    if (it.cacheBytes > 0) caches.push(simulator.addOutput(operator, it.cacheBytes, false));
  }
  return outputs;
}

/** The high 24 bits of a linear congruential generator: the numbers of the yardstick, so that the workload is the same. */
function congruential(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}
